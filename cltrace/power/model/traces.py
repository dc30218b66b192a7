"""The energy model held against what was measured of a trace's kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError
from cltrace.kernels.compiler import Compiler
from cltrace.kernels.counts.traced_launches import TracedCounts, TracedLaunch, traced_launches
from cltrace.kernels.counts.workloads import machine_of
from cltrace.power.energy import TraceEnergy
from cltrace.power.load_classes import Load, LoadKind
from cltrace.power.model.classes import Caches, work_of
from cltrace.power.model.fitting import EnergyModel, model_of
from cltrace.power.model.terms import Term, terms_of
from cltrace.power.results import EnergyLine
from cltrace.profile import DeviceProfile
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class ModelledLine:
    """A class of launches with what the model says of it, in J for all of its launches.

    `line` is what was measured, unresolved where nothing was. `parts_j` are by the rows of the model's
    table. `why` says why there is no prediction, "" if there is one.
    """

    line: EnergyLine
    energy_j: float | None
    dynamic_j: float | None
    parts_j: Mapping[str, float]
    why: str = ""

    @property
    def quotient(self) -> float | None:
        """Predicted by measured energy."""
        return _ratio(self.energy_j, self.line.energy_j)

    @property
    def dynamic_quotient(self) -> float | None:
        """The same of what is above rest."""
        return _ratio(self.dynamic_j, self.line.dynamic_j)


@dataclass(frozen=True, slots=True)
class ModelledTrace:
    """A trace by an energy model: its classes of launches, and the terms of its energy, the sum last."""

    model: EnergyModel
    lines: tuple[ModelledLine, ...]
    terms: tuple[Term, ...]


def modelled(trace: Trace, found: TraceEnergy, profile: DeviceProfile) -> ModelledTrace:
    """What the model of a profile says of a trace.

    How long they took is as it was measured. Raises: `ProfileError` for a profile without energies.
    """
    model, caches = model_of(profile), Caches.of(profile)
    counting = TracedCounts(machine_of(profile.device), Compiler())
    launches = list(traced_launches(trace))
    lines = []
    for line in found.lines:
        name = found.device_names.get(line.load.device, profile.device.name)
        if line.load.kind is LoadKind.KERNEL and name == profile.device.name:
            mine = [one for one in launches if _is_of(one, line.load)]
            lines.append(_line(line, mine, counting, model, caches))
    # Of what readings cover, as what is measured.
    known = [one.dynamic_j * one.line.coverage for one in lines if one.dynamic_j is not None]
    kernels_j = sum(known) if len(known) == len(lines) else None
    return ModelledTrace(model, tuple(lines), terms_of(trace, found, profile, kernels_j))


def _line(
    line: EnergyLine,
    launches: Sequence[TracedLaunch],
    counting: TracedCounts,
    model: EnergyModel,
    caches: Caches,
) -> ModelledLine:
    calls = sum(one.calls for one in launches)
    if not calls:
        return ModelledLine(
            line, None, None, {}, "its arguments or its source are not in the trace"
        )
    run_s = line.load.seconds / max(len(line.load), 1)
    parts: dict[str, float] = {}
    try:
        for launch in launches:
            _, counts = counting.count(launch)
            share = launch.calls / calls * len(line.load)
            for name, energy in model.parts_j(work_of(counts, caches), run_s).items():
                parts[name] = parts.get(name, 0.0) + share * energy
    except (KernelError, MemoryError) as error:
        return ModelledLine(line, None, None, {}, str(error))
    dynamic = sum(parts.values())
    return ModelledLine(line, dynamic + model.idle_w * line.load.seconds, dynamic, parts)


def _is_of(launch: TracedLaunch, load: Load) -> bool:
    size = f"[{', '.join(map(str, launch.global_size))}]"
    is_size = not load.size or load.size == size
    return launch.kernel in load.names and is_size


def _ratio(predicted: float | None, measured: float | None) -> float | None:
    return predicted / measured if predicted is not None and measured else None
