"""Advice about kernels: rules that examine counts, and the time that a device would then take."""

from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.kernel_advice.accesses import uncoalesced_accesses
from cltrace.predict.kernel_advice.aliasing import possible_aliasing
from cltrace.predict.kernel_advice.bank_conflicts import bank_conflicts
from cltrace.predict.kernel_advice.counting import Counting
from cltrace.predict.kernel_advice.divergence import divergent_branches
from cltrace.predict.kernel_advice.double_constants import double_constants
from cltrace.predict.kernel_advice.global_atomics import global_atomics
from cltrace.predict.kernel_advice.group_sizes import slow_group_sizes
from cltrace.predict.kernel_advice.model import KernelRules
from cltrace.predict.kernel_advice.occupancy import low_occupancy
from cltrace.predict.kernel_advice.private_arrays import private_arrays
from cltrace.predict.kernel_advice.proposals import propose_for_kernels
from cltrace.predict.kernel_advice.register_pressure import register_pressure
from cltrace.predict.kernel_advice.register_spills import register_spills
from cltrace.predict.trace_profile import ProfileChoice, devices_of_trace, predict_devices
from cltrace.predict.traces import PredictedTrace
from cltrace.timeline.advice.model import NO_KERNEL_ADVICE, KernelAdvice
from cltrace.timeline.analysis import Analysis

__all__ = ["MAX_COUNTING_S", "RULES", "Counting", "advise_on_kernels", "propose_for_kernels"]

MAX_COUNTING_S: Final = 10.0
"""Time limit of counting for advice: of the launches as they are, and again of changed ones."""


RULES: Final = KernelRules(
    on_counts=(
        uncoalesced_accesses,
        bank_conflicts,
        divergent_branches,
        private_arrays,
        global_atomics,
    ),
    on_registers=(register_spills, register_pressure, low_occupancy),
    on_variants=(possible_aliasing, double_constants, slow_group_sizes),
    causes=(frozenset({"uncoalesced-access", "group-size"}),),
)
"""All rules about kernels."""


def advise_on_kernels(analysis: Analysis, counting: Counting) -> KernelAdvice:
    """Return advice about the kernels of a trace that ran on GPUs with profiles of their own.

    Launches that are not counted in time are left out. Raises: `TraceError`.
    """
    try:
        predictions = _predict_gpus(analysis, counting)
    except ProfileError:  # one that is not fitted predicts nothing
        return NO_KERNEL_ADVICE
    return propose_for_kernels(predictions, analysis, RULES, counting)


def _predict_gpus(analysis: Analysis, counting: Counting) -> tuple[PredictedTrace, ...]:
    gpus = tuple(
        (device, device.profile)
        for device in devices_of_trace(analysis.trace)
        if device.profile is not None and not machine_of(device.profile.device).has_item_loops
    )
    if not gpus:
        return ()
    return predict_devices(
        analysis.trace,
        ProfileChoice(gpus, ()),
        max_s=counting.max_s,
        settings=counting.settings,
        progress=counting.progress,
    )
