"""Sets of work by name, so that points measured on one machine can be counted on another."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from cltrace.errors import UsageError
from cltrace.events.workloads import BufferInput, Workload
from cltrace.profile import DeviceFacts
from cltrace.suite.calibration.probes import Effort, ProbeLimits
from cltrace.suite.energy import EnergyProbe, energy_probes
from cltrace.suite.energy.probes import Group
from cltrace.suite.evaluation import APPLICATION, EVALUATION, Scale
from cltrace.suite.evaluation.cases import CasesOf

_GROUP: Final = 256
_EXPONENTS: Final = (22, 24)
_ON_CPU: Final = (16, 18)


class PowerSet(StrEnum):
    """Set of work whose power is measured."""

    CALIBRATION = "calibration"
    """Probes with a single kind of work each, to fit the energy model."""
    SUITE = "suite"
    """Real kernels of the evaluation suite."""
    APPLICATION = "application"
    """Launches of the image-processing program."""


_MAKERS: Final[Mapping[PowerSet, Mapping[str, CasesOf]]] = {
    PowerSet.SUITE: EVALUATION,
    PowerSet.APPLICATION: APPLICATION,
}


def set_probes(power_set: PowerSet, device: DeviceFacts) -> tuple[EnergyProbe, ...]:
    """Return the work of a set that fits a device, in a fixed order."""
    if power_set is PowerSet.CALIBRATION:
        return tuple(energy_probes(ProbeLimits.of(device, Effort.FULL)))
    return tuple(_cases(power_set, device))


def find_set(names: Sequence[str], device: DeviceFacts) -> PowerSet:
    """Return the set that contains work of these names. Raises: `UsageError` if there is none."""
    try:
        for power_set in PowerSet:
            if set(names) & {probe.name for probe in set_probes(power_set, device)}:
                return power_set
    except (ValueError, ArithmeticError) as error:  # sizes that no device has, in a file
        raise UsageError(f"no work fits a device such as {device.name!r:.60}: {error}") from error
    raise UsageError(f"no set of this cltrace has {names[0] if names else 'nothing'!r}")


def _cases(power_set: PowerSet, device: DeviceFacts) -> Iterator[EnergyProbe]:
    is_cpu = device.kind == "cpu"
    for exponent in _ON_CPU if is_cpu else _EXPONENTS:
        scale = Scale(exponent, min(64 if is_cpu else _GROUP, device.max_group_items))
        for subject, make in _MAKERS[power_set].items():
            for case in make(scale):
                if _fits(case.work, device):
                    yield EnergyProbe(
                        f"{subject}: {case.name} 2^{exponent}",
                        Group.OPERATIONS,
                        lambda _, work=case.work: work,  # type: ignore[misc]
                        is_long=False,
                    )


def _fits(work: Workload, device: DeviceFacts) -> bool:
    largest = max(value.size_bytes for value in work.inputs if isinstance(value, BufferInput))
    return largest <= device.max_buffer_bytes and all(
        size % part == 0 for size, part in zip(work.global_size, work.local_size, strict=True)
    )


def reference_load(device: DeviceFacts) -> Workload:
    """Return the load for characterising sensors: short launches of multiply-adds on all units."""
    limits = ProbeLimits.of(device, Effort.FULL)
    probes = energy_probes(limits)
    probe = next(probe for probe in probes if probe.name == "float multiply-add")
    work = probe.make(256 if not limits.is_cpu else 16)
    assert isinstance(work, Workload)
    return work
