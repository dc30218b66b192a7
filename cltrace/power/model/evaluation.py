"""Evaluation of an energy model on kernels that it was not fitted to, in total and above idle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError, ProfileError
from cltrace.events.workloads import Workload
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.power.model.classes import Caches, work_of
from cltrace.power.model.fitting import (
    EnergyModel,
    Example,
    fit_energies,
    transfer_parameter_name,
)
from cltrace.power.points import PowerMeasurement, PowerMeasurements
from cltrace.power.workloads import PowerSet, set_probes
from cltrace.profile import DeviceProfile
from cltrace.suite.energy import TRANSFER_BYTES, Group
from cltrace.trace.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class EvaluatedExample:
    """Example with the prediction of a model. `parts_j` are by rows of the table."""

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
        """Relative error of the power above idle."""
        dynamic_w = self.example.power_w - self.idle_w
        return (self.predicted_w - self.idle_w) / dynamic_w - 1 if dynamic_w > 0 else float("nan")


def count_examples(
    points: PowerMeasurements,
    power_set: PowerSet,
    profile: DeviceProfile,
    progress: Progress = no_progress,
) -> tuple[list[Example], list[str]]:
    """Return the measured points with their work, and messages about those that cannot be counted.

    Transfers and operands of zeros are left out. `progress` is called before each point. Raises:
    `ProfileError` for points of another device than the profile's.
    """
    if points.device.name != profile.device.name:
        raise ProfileError(f"the points are of {points.device.name}, not of {profile.device.name}")
    caches, counter = Caches.of(profile), WorkloadCounter(profile.device)
    probes = {probe.name: probe for probe in set_probes(power_set, points.device)}
    examples, refused = [], []
    for number, point in enumerate(points.points):
        progress(f"{number:,} of {len(points.points):,} points")
        probe = probes.get(point.name)
        workload = probe.make(point.trips) if probe is not None else None
        if not isinstance(workload, Workload) or point.group == Group.OPERANDS:
            continue
        try:
            counts = counter.count(workload)
        except KernelError as error:
            refused.append(f"{point.name}: {error}")
            continue
        examples.append(
            Example(
                name=point.name,
                program=point.name.partition(":")[0],
                work=work_of(counts, caches),
                run_s=point.run_s,
                power_w=point.power_w,
                is_real=power_set is not PowerSet.CALIBRATION,
            )
        )
    return examples, refused


def transfer_energies(points: PowerMeasurements) -> dict[str, float]:
    """Return the energy of transfers above idle in J per byte, by host memory and direction."""
    return {
        transfer_parameter_name(point.name): _joules_per_byte(point, points.idle_w)
        for point in points.points
        if point.group == Group.TRANSFERS
    }


def evaluate(model: EnergyModel, examples: Sequence[Example]) -> list[EvaluatedExample]:
    """Return the predictions of a model for examples."""
    return [
        EvaluatedExample(
            example,
            model.energy_j(example.work, example.run_s) / example.run_s,
            model.idle_w,
            model.parts_j(example.work, example.run_s),
        )
        for example in examples
    ]


def cross_validate(
    probes: Sequence[Example], real: Sequence[Example], idle_w: float
) -> list[EvaluatedExample]:
    """Return the predictions for each real program of a model fitted without this program."""
    evaluated = []
    for program in dict.fromkeys(example.program for example in real):
        others = [example for example in real if example.program != program]
        model = fit_energies([*probes, *others], idle_w)
        evaluated += evaluate(model, [example for example in real if example.program == program])
    return evaluated


def _joules_per_byte(point: PowerMeasurement, idle_w: float) -> float:
    return max(point.power_w - idle_w, 0.0) * point.run_s / TRANSFER_BYTES
