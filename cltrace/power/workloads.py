"""Works of sets by name: what was measured on one machine is counted on another."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from cltrace.errors import UsageError
from cltrace.events.workloads import BufferInput, Workload
from cltrace.profile import DeviceFacts
from cltrace.suite.calibration.probes import Effort, Room
from cltrace.suite.energy import EnergyProbe, energy_probes
from cltrace.suite.energy.probes import Group
from cltrace.suite.evaluation import APPLICATION, EVALUATION, Scale
from cltrace.suite.evaluation.cases import CasesOf

_GROUP: Final = 256
_EXPONENTS: Final = (22, 24)
_ON_CPU: Final = (16, 18)


class PowerSet(StrEnum):
    """What power is measured of."""

    CALIBRATION = "calibration"
    """One kind of work at a time: what the energy model is fitted to."""
    SUITE = "suite"
    """The real kernels of the evaluation suite."""
    APPLICATION = "application"
    """The launches of the image-processing program."""


_MAKERS: Final[Mapping[PowerSet, Mapping[str, CasesOf]]] = {
    PowerSet.SUITE: EVALUATION, PowerSet.APPLICATION: APPLICATION,
}  # fmt: skip


def probes_of(wanted: PowerSet, device: DeviceFacts) -> tuple[EnergyProbe, ...]:
    """The works of a set that fit a device, in a fixed order."""
    if wanted is PowerSet.CALIBRATION:
        return tuple(energy_probes(Room.of(device, Effort.FULL)))
    return tuple(_cases(wanted, device))


def set_of(names: Sequence[str], device: DeviceFacts) -> PowerSet:
    """The set that works of these names are of. Raises: `UsageError` where no set has them."""
    for wanted in PowerSet:
        if set(names) & {one.name for one in probes_of(wanted, device)}:
            return wanted
    raise UsageError(f"no set of this cltrace has {names[0] if names else 'nothing'!r}")


def _cases(wanted: PowerSet, device: DeviceFacts) -> Iterator[EnergyProbe]:
    is_cpu = device.kind == "cpu"
    for exponent in _ON_CPU if is_cpu else _EXPONENTS:
        scale = Scale(exponent, min(64 if is_cpu else _GROUP, device.most_group_items))
        for subject, make in _MAKERS[wanted].items():
            for case in make(scale):
                if _fits(case.work, device):
                    yield EnergyProbe(
                        f"{subject}: {case.name} 2^{exponent}",
                        Group.OPERATIONS,
                        lambda _, work=case.work: work,  # type: ignore[misc]
                        is_long=False,
                    )


def _fits(work: Workload, device: DeviceFacts) -> bool:
    largest = max(one.size_bytes for one in work.inputs if isinstance(one, BufferInput))
    return largest <= device.most_buffer_bytes and all(
        size % part == 0 for size, part in zip(work.global_size, work.local_size, strict=True)
    )


def known_load(device: DeviceFacts) -> Workload:
    """Multiply-adds on the whole device, short launches of them: what sensors are characterised with."""
    room = Room.of(device, Effort.FULL)
    probe = next(one for one in energy_probes(room) if one.name == "float multiply-add")
    work = probe.make(256 if not room.is_cpu else 16)
    assert isinstance(work, Workload)
    return work
