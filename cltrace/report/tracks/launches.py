"""Launch configurations as viewers show them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cltrace.power.energy import energy_of, has_power
from cltrace.power.load_classes import LoadKind
from cltrace.predict.trace_profile import own_predictions
from cltrace.report.document import Unit
from cltrace.report.quantities import shown, time_text
from cltrace.timeline.advice.evidence import sizes_of
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Shape:
    """The NDRange of a launch: work-items in all and in a work-group, in each dimension.

    `local_size` is `None` when the driver chose; `known` are words for what it should take and what it
    drew, by name.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    known: tuple[tuple[str, str], ...] = ()

    @property
    def groups(self) -> tuple[int, ...] | None:
        """Work-groups in each dimension."""
        if self.local_size is None or len(self.local_size) != len(self.global_size):
            return None
        pairs = zip(self.global_size, self.local_size, strict=True)
        return tuple(-(-whole // max(part, 1)) for whole, part in pairs)

    def as_args(self) -> dict[str, str]:
        """The sizes as arguments of a slice."""
        args = {"global_size": _times(self.global_size)}
        if self.local_size is not None:
            args["local_size"] = _times(self.local_size)
        args.update(self.known)
        return args


Launches = Mapping[int, Shape]
"""The shapes of launch configurations, by number."""


def read_launches(trace: Trace) -> Launches:
    """The launch configurations of a trace."""
    found = {}
    for launch, whole, local in trace.rows(
        "SELECT launch_id, global_size, local_size FROM v_launch"
    ):
        sizes = sizes_of(whole)
        if sizes is not None:
            found[int(launch)] = Shape(sizes, sizes_of(local))
    return found


def described_launches(trace: Trace) -> Launches:
    """The launch configurations of a trace, with what they should take and drew where that is known."""
    predictions, energies = _predictions(trace), _energies(trace)
    return {
        launch: replace(shape, known=(*predictions.get(launch, ()), *energies.get(launch, ())))
        for launch, shape in read_launches(trace).items()
    }


def _energies(trace: Trace) -> Mapping[int, tuple[tuple[str, str], ...]]:
    """The energy of a launch in the mean, of those kernels and sizes of which it is known."""
    if not has_power(trace):
        return {}
    lines = {
        (name, line.load.size): line
        for line in energy_of(trace).lines
        if line.load.kind is LoadKind.KERNEL and line.energy_j is not None
        for name in line.load.name.split(" + ")
    }
    found = {}
    rows = trace.rows("SELECT launch_id, kernel, global_size FROM v_launch")
    for launch, kernel, size in rows:
        line = lines.get((str(kernel), str(size or "")))
        if line is not None and line.energy_j is not None and len(line.load):
            each, within = (
                value / len(line.load) for value in (line.energy_j, line.within_j or 0.0)
            )
            text = f"{shown(each, Unit.JOULES)} ± {shown(within, Unit.JOULES)} in the mean"
            found[int(launch)] = (("energy", text), ("energy_tier", str(line.tier)))
    return found


def _predictions(trace: Trace) -> Mapping[int, tuple[tuple[str, str], ...]]:
    predicted = own_predictions(trace)
    found: dict[int, tuple[tuple[str, str], ...]] = {}
    for one in predicted.launches if predicted is not None else ():
        words = [("predicted", time_text(one.prediction.duration_ns))]
        if one.prediction.interval_ns is not None:
            least, most = map(time_text, one.prediction.interval_ns)
            words.append(("predicted_between", f"{least} and {most}"))
        words.append(("limited_by", one.prediction.limiter))
        found.update(dict.fromkeys(one.launch_ids, tuple(words)))
    return found


def _times(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))
