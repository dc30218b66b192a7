"""Comparison of an energy model with the measured energy of a trace's kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.traced_launches import (
    TracedLaunch,
    traced_launches,
)
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.power.energy import TraceEnergy
from cltrace.power.load_classes import Load, LoadKind
from cltrace.power.model.classes import Caches, work_of
from cltrace.power.model.fitting import EnergyModel, model_of
from cltrace.power.model.terms import Term, compute_terms
from cltrace.power.results import EnergyLine
from cltrace.profile import DeviceProfile
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class ModelledLine:
    """Class of launches with the prediction of a model, in J for all of its launches.

    `line` is the measured energy, or unresolved. `parts_j` are by rows of the model's table. `why` is the
    reason for a missing prediction, "" if there is one.
    """

    line: EnergyLine
    energy_j: float | None
    dynamic_j: float | None
    parts_j: Mapping[str, float]
    why: str = ""

    @property
    def quotient(self) -> float | None:
        """Predicted / measured energy."""
        return _ratio(self.energy_j, self.line.energy_j)

    @property
    def dynamic_quotient(self) -> float | None:
        """Predicted / measured energy above idle."""
        return _ratio(self.dynamic_j, self.line.dynamic_j)


@dataclass(frozen=True, slots=True)
class ModelledTrace:
    """Prediction of a trace: its classes of launches, and the terms of its energy, the sum last."""

    model: EnergyModel
    lines: tuple[ModelledLine, ...]
    terms: tuple[Term, ...]


def model_trace(
    trace: Trace,
    energy: TraceEnergy,
    profile: DeviceProfile,
    progress: Progress = no_progress,
) -> ModelledTrace:
    """Return the predictions of a profile's model for the measured durations of a trace.

    `progress` is called while launches are counted. Raises: `ProfileError` for a profile without
    energies.
    """
    model, caches = model_of(profile), Caches.of(profile)
    counter = TracedLaunchCounter(machine_of(profile.device), forms=frozenset({CodeForm.OPTIMISED}))
    launches = list(traced_launches(trace))
    counter.count_all(
        [
            launch
            for launch in launches
            if any(
                line.load.kind is LoadKind.KERNEL and _is_of(launch, line.load)
                for line in energy.lines
            )
        ],
        progress,
    )
    lines = []
    for line in energy.lines:
        name = energy.device_names.get(line.load.device, profile.device.name)
        if line.load.kind is LoadKind.KERNEL and name == profile.device.name:
            of_load = [launch for launch in launches if _is_of(launch, line.load)]
            lines.append(_model_line(line, of_load, counter, model, caches))
    # The measured energy is of the time with readings, so the prediction is scaled to it.
    covered_j = [
        line.dynamic_j * line.line.coverage for line in lines if line.dynamic_j is not None
    ]
    kernels_j = sum(covered_j) if len(covered_j) == len(lines) else None
    return ModelledTrace(model, tuple(lines), compute_terms(trace, energy, profile, kernels_j))


def _model_line(
    line: EnergyLine,
    launches: Sequence[TracedLaunch],
    counter: TracedLaunchCounter,
    model: EnergyModel,
    caches: Caches,
) -> ModelledLine:
    calls = sum(launch.calls for launch in launches)
    if not calls:
        return ModelledLine(
            line, None, None, {}, "its arguments or its source are not in the trace"
        )
    run_s = line.load.seconds / max(len(line.load), 1)
    parts_j: dict[str, float] = {}
    try:
        for launch in launches:
            counts = counter.count(launch)
            runs = launch.calls / calls * len(line.load)
            for name, energy_j in model.parts_j(work_of(counts, caches), run_s).items():
                parts_j[name] = parts_j.get(name, 0.0) + runs * energy_j
    except (KernelError, MemoryError) as error:
        return ModelledLine(line, None, None, {}, str(error))
    dynamic_j = sum(parts_j.values())
    return ModelledLine(line, dynamic_j + model.idle_w * line.load.seconds, dynamic_j, parts_j)


def _is_of(launch: TracedLaunch, load: Load) -> bool:
    size = f"[{', '.join(map(str, launch.global_size))}]"
    is_size = not load.size or load.size == size
    return launch.kernel in load.names and is_size


def _ratio(predicted: float | None, measured: float | None) -> float | None:
    return predicted / measured if predicted is not None and measured else None
