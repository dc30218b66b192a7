"""Terms of a run's energy: `E_total = E_CPU + E_GPU + E_transfer`, measured and predicted.

Equation 6.1 of Piispanen, Timing and energy of accelerated processing (2014). The measured value of a
term without a sensor is `None`, and so is the predicted value of a term without a model: never 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.events.workloads import DIRECTION_OF, HostMemory
from cltrace.power.activity_shares import SensorResponse, active_between
from cltrace.power.energy import EnergySource, TraceEnergy
from cltrace.power.load_classes import LoadKind, shared_seconds
from cltrace.power.model.fitting import IDLE, IDLE_WITHOUT_CONTEXT, MODEL, transfer_parameter_name
from cltrace.profile import DeviceProfile, Parameter
from cltrace.trace.reader import Trace

CPU: Final = "E_CPU"
GPU: Final = "E_GPU"
TRANSFER: Final = "E_transfer"
TOTAL: Final = "E_total"
_COMPONENTS: Final = {CPU: "CPU", GPU: "GPU"}
_NO_SENSOR: Final = "no sensor"
_BYTES: Final = """
    SELECT c.kind, sum(c.size_bytes) FROM v_command c JOIN v_device d ON d.device_id = c.device_id
    WHERE d.name = :name AND c.kind != 'kernel' AND c.duration_ns > 0 GROUP BY c.kind
"""


@dataclass(frozen=True, slots=True)
class Term:
    """Term of a run's energy in J, over the time with readings.

    `within_j` is the 95 % half-width of `measured_j`, `None` where it is unknown. `why` is the reason for
    a missing value. The term of transfers is the energy of their device during transfers, its idle energy
    included; the device's own term is all other energy of the device.
    """

    name: str
    measured_j: float | None
    predicted_j: float | None
    why: str = ""
    within_j: float | None = None

    @property
    def quotient(self) -> float | None:
        """Predicted / measured energy."""
        if not self.measured_j or self.predicted_j is None:
            return None
        return self.predicted_j / self.measured_j


def compute_terms(
    trace: Trace, energy: TraceEnergy, profile: DeviceProfile, kernels_j: float | None
) -> tuple[Term, ...]:
    """Return the terms of a trace, and their sum last.

    `kernels_j` is the predicted energy above idle of the kernels on the profile's device in the time with
    readings, `None` if it is unknown for some kernel.
    """
    own, other = (CPU, GPU) if "CPU" in profile.device.kind.upper() else (GPU, CPU)
    measured = _DeviceEnergy.of(energy, own, profile.device.name)
    energies = profile.parameters[MODEL]
    terms = {
        own: _device_term(own, measured, energies, kernels_j),
        other: _other_term(energy, other),
        TRANSFER: _transfer_term(trace, measured, profile.device.name, energies),
    }
    ordered = [terms[name] for name in (CPU, GPU, TRANSFER)]
    return (*ordered, _total(ordered))


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeviceEnergy:
    """Measured energy of a device and of its transfers, and times in s.

    `energy_j` is `None` without a sensor, and `transfers_j` where some transfers cannot be distinguished
    from other work; `within_j` and `transfers_within_j` are their 95 % half-widths. `transfer_s` is the
    time of transfers with readings, and `transfer_share` its share of the time of all transfers.
    `context_s` and `empty_s` are the times with readings in which the program had an OpenCL context, and
    in which it had none.
    """

    energy_j: float | None = None
    within_j: float = 0.0
    transfers_j: float | None = None
    transfers_within_j: float = 0.0
    transfer_s: float = 0.0
    transfer_share: float = 0.0
    context_s: float = 0.0
    empty_s: float = 0.0

    @classmethod
    def of(cls, energy: TraceEnergy, term: str, name: str) -> "_DeviceEnergy":
        """Return the energy of the devices of a name, from the sensors of a term's component."""
        sources = [
            source
            for source in energy.all_sources
            if source.component == _COMPONENTS[term]
            and any(device.name == name for device in source.devices)
        ]
        if not any(source.covered_s for source in sources):
            return cls()
        # The sensors of a device are read at the same time: the longest time counts, once per device.
        longest: dict[tuple[int, ...], EnergySource] = {}
        for source in sorted(sources, key=lambda source: source.covered_s):
            longest[tuple(number for device in source.devices for number in device.ids)] = source
        context_s = sum(map(_context_s, longest.values()))
        attributions = [source.attribution for source in sources if source.attribution is not None]
        balances = [attribution.balance for attribution in attributions]
        transfers = [
            line
            for attribution in attributions
            for line in attribution.lines
            if line.load.kind is LoadKind.TRANSFER
        ]
        transfer_s = [_transfer_seconds(source) for source in longest.values()]
        covered_s = sum(covered for covered, _ in transfer_s)
        return cls(
            energy_j=sum(source.energy_j for source in sources),
            within_j=math.hypot(*(balance.measured_within_j for balance in balances)),
            transfers_j=sum(balance.transfers_j for balance in balances)
            if all(line.energy_j is not None for line in transfers)
            else None,
            transfers_within_j=math.hypot(*(balance.transfers_within_j for balance in balances)),
            transfer_s=covered_s,
            transfer_share=covered_s / max(sum(whole for _, whole in transfer_s), 1e-12),
            context_s=context_s,
            empty_s=sum(source.covered_s for source in longest.values()) - context_s,
        )


def _context_s(source: EnergySource) -> float:
    """Return the time with readings in which the program had an OpenCL context."""
    observations = source.observations
    if source.context_span_s is None:
        return source.covered_s
    share = active_between(*source.context_span_s).mean(
        observations.begin_s, observations.end_s, SensorResponse()
    )
    return float((share * observations.span_s).sum())


def _transfer_seconds(source: EnergySource) -> tuple[float, float]:
    """Return the shared time of transfers with readings, and of all transfers."""
    lines = source.attribution.lines if source.attribution else ()
    shared_s = shared_seconds([line.load for line in lines])
    transfers = [
        (line, seconds)
        for line, seconds in zip(lines, shared_s, strict=True)
        if line.load.kind is LoadKind.TRANSFER
    ]
    covered_s = sum(seconds * line.coverage for line, seconds in transfers)
    return covered_s, sum(seconds for _, seconds in transfers)


def _device_term(
    name: str,
    measured: _DeviceEnergy,
    energies: Mapping[str, Parameter],
    kernels_j: float | None,
) -> Term:
    """Return the term of the device that the model describes, without its transfers."""
    if measured.energy_j is None:
        return Term(name, None, None, _NO_SENSOR)
    own_j = measured.energy_j - (measured.transfers_j or 0.0)
    within_j = math.hypot(measured.within_j, measured.transfers_within_j)
    if measured.transfers_j is None:
        why = f"includes {TRANSFER}, which is not distinguishable"
        return Term(name, own_j, None, why, within_j)
    if kernels_j is None:
        return Term(name, own_j, None, "some of its kernels are not predicted", within_j)
    idle_w = energies[IDLE].value
    empty_w = energies[IDLE_WITHOUT_CONTEXT].value if IDLE_WITHOUT_CONTEXT in energies else idle_w
    idle_s = measured.context_s - measured.transfer_s
    idle_j = idle_w * idle_s + empty_w * measured.empty_s
    return Term(name, own_j, idle_j + kernels_j, within_j=within_j)


def _other_term(energy: TraceEnergy, name: str) -> Term:
    """Return the term of the component that the model does not describe."""
    component = _COMPONENTS[name]
    energies_j = [source.energy_j for source in energy.all_sources if source.component == component]
    if not any(energies_j):
        return Term(name, None, None, _NO_SENSOR)
    return Term(name, sum(energies_j), None, "no model of it")


def _transfer_term(
    trace: Trace, measured: _DeviceEnergy, name: str, energies: Mapping[str, Parameter]
) -> Term:
    """Return the term of transfers, by bytes and direction. Host memory is assumed to be pageable."""
    measured_j, within_j, why = measured.transfers_j, measured.transfers_within_j, ""
    if measured.energy_j is None:
        why = _NO_SENSOR
    elif measured_j is None:
        why = "not distinguishable from other work"
    dynamic_j = 0.0
    for kind, size_bytes in trace.rows(_BYTES, {"name": name}):
        route = f"{HostMemory.PAGEABLE} {DIRECTION_OF.get(str(kind))}"
        per_byte = energies.get(transfer_parameter_name(route))
        if per_byte is None:
            why = why or f"no model of commands of the kind {kind}"
            return Term(TRANSFER, measured_j, None, why, within_j)
        dynamic_j += per_byte.value * (size_bytes or 0) * measured.transfer_share
    if why:
        return Term(TRANSFER, None, None, why)
    idle_j = energies[IDLE].value * measured.transfer_s
    return Term(TRANSFER, measured_j, dynamic_j + idle_j, within_j=within_j)


def _total(terms: Sequence[Term]) -> Term:
    """Return the sum of the measured terms. It has a prediction only if all of these have one."""
    measured = [term for term in terms if term.measured_j is not None]
    both = [term for term in measured if term.predicted_j is not None]
    within = [term.within_j for term in measured if term.within_j is not None]
    without = ", ".join(term.name for term in terms if term not in measured)
    return Term(
        TOTAL,
        sum(term.measured_j or 0.0 for term in measured) if measured else None,
        sum(term.predicted_j or 0.0 for term in both) if both and both == measured else None,
        f"without {without}" if without else "",
        math.hypot(*within) if measured and len(within) == len(measured) else None,
    )
