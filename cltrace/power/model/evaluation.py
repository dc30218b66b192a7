"""How good an energy model is: on kernels that it has not seen, in total and above rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError, ProfileError
from cltrace.events.workloads import Workload
from cltrace.kernels.counts.workloads import WorkloadCounts
from cltrace.power.model.classes import Caches, work_of
from cltrace.power.model.fitting import EnergyModel, Example, byte_name, fitted
from cltrace.power.points import PowerPoint, PowerPoints
from cltrace.power.workloads import PowerSet, probes_of
from cltrace.profile import DeviceProfile
from cltrace.suite.energy import TRANSFER_BYTES, Group


@dataclass(frozen=True, slots=True)
class Judged:
    """An example with what was predicted of it. `parts_j` are by the rows of the table."""

    example: Example
    predicted_w: float
    idle_w: float
    parts_j: Mapping[str, float]

    @property
    def error(self) -> float:
        """Relative error of the power, and so of the energy."""
        return self.predicted_w / self.example.power_w - 1

    @property
    def dynamic_error(self) -> float:
        """Of the part above rest."""
        above = self.example.power_w - self.idle_w
        return (self.predicted_w - self.idle_w) / above - 1 if above > 0 else float("nan")


def examples_of(
    points: PowerPoints, wanted: PowerSet, profile: DeviceProfile
) -> tuple[list[Example], list[str]]:
    """The works of measured points with what they do, and which could not be counted and why.

    Transfers and operands of zeros are no examples. Raises: `ProfileError` for
    points of another device than the profile's.
    """
    if points.device.name != profile.device.name:
        raise ProfileError(f"the points are of {points.device.name}, not of {profile.device.name}")
    caches, counting = Caches.of(profile), WorkloadCounts(profile.device)
    probes = {one.name: one for one in probes_of(wanted, points.device)}
    found, refused = [], []
    for point in points.points:
        probe = probes.get(point.name)
        work = probe.make(point.trips) if probe is not None else None
        if not isinstance(work, Workload) or point.group == Group.OPERANDS:
            continue
        try:
            counts = counting.count(work)
        except KernelError as error:
            refused.append(f"{point.name}: {error}")
            continue
        is_real = wanted is not PowerSet.CALIBRATION
        found.append(
            Example(
                name=point.name,
                program=point.name.partition(":")[0],
                work=work_of(counts, caches),
                run_s=point.run_s,
                power_w=point.power_w,
                is_real=is_real,
            )
        )
    return found, refused


def transfers_of(points: PowerPoints) -> dict[str, float]:
    """What transfers add to rest, in J a byte, by host memory and direction."""
    found = {}
    for point in points.points:
        if point.group == Group.TRANSFERS:
            found[byte_name(point.name)] = _per_byte(point, points.idle_w)
    return found


def judged(model: EnergyModel, examples: Sequence[Example]) -> list[Judged]:
    """What a model says of examples."""
    return [
        Judged(
            one,
            model.energy_j(one.work, one.run_s) / one.run_s,
            model.idle_w,
            model.parts_j(one.work, one.run_s),
        )
        for one in examples
    ]


def left_out(probes: Sequence[Example], real: Sequence[Example], idle_w: float) -> list[Judged]:
    """Each real program by a model that was fitted to the probes and to all other programs."""
    found = []
    for program in dict.fromkeys(one.program for one in real):
        others = [one for one in real if one.program != program]
        model = fitted([*probes, *others], idle_w)
        found += judged(model, [one for one in real if one.program == program])
    return found


def _per_byte(point: PowerPoint, idle_w: float) -> float:
    return max(point.power_w - idle_w, 0.0) * point.run_s / TRANSFER_BYTES
