"""Launch configurations as viewers show them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cltrace.power.energy import energy_of
from cltrace.power.load_classes import LoadKind
from cltrace.predict.caveats import profile_caveats
from cltrace.predict.trace_profile import predict_on_own_devices
from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.report.document import Unit
from cltrace.report.quantities import time_text, value_text
from cltrace.timeline.advice.evidence import parse_sizes
from cltrace.trace.power import has_power
from cltrace.trace.reader import Trace

if TYPE_CHECKING:
    from cltrace.power.results import EnergyLine


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """NDRange of a launch: global and work-group size in each dimension.

    `local_size` is `None` when the driver chose; `annotations` are texts by name, such as the predicted
    time and the energy.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    annotations: tuple[tuple[str, str], ...] = ()

    @property
    def groups(self) -> tuple[int, ...] | None:
        """Work-groups in each dimension; `None` when the driver chose their size."""
        if self.local_size is None or len(self.local_size) != len(self.global_size):
            return None
        pairs = zip(self.global_size, self.local_size, strict=True)
        return tuple(-(-whole // max(part, 1)) for whole, part in pairs)

    def as_args(self) -> dict[str, str]:
        """Return the sizes and the annotations as arguments of a slice."""
        args = {"global_size": _size_text(self.global_size)}
        if self.local_size is not None:
            args["local_size"] = _size_text(self.local_size)
        args.update(self.annotations)
        return args


LaunchShapes = Mapping[int, LaunchShape]
"""The shapes of launch configurations, by number."""


def read_launch_shapes(trace: Trace) -> LaunchShapes:
    """Return the launch configurations of a trace."""
    shapes = {}
    for launch, global_size, local_size in trace.rows(
        "SELECT launch_id, global_size, local_size FROM v_launch"
    ):
        sizes = parse_sizes(global_size)
        if sizes is not None:
            shapes[int(launch)] = LaunchShape(sizes, parse_sizes(local_size))
    return shapes


def read_annotated_shapes(trace: Trace) -> LaunchShapes:
    """Return the launch configurations of a trace, with predicted times and energies if available."""
    return annotate_shapes(trace, predict_on_own_devices(trace))


def annotate_shapes(trace: Trace, predicted: Sequence[PredictedTrace]) -> LaunchShapes:
    """Return the launch configurations of a trace, with the times of predictions and with energies."""
    predictions, energies = _predictions(predicted), _energies(trace)
    return {
        launch: replace(
            shape, annotations=(*predictions.get(launch, ()), *energies.get(launch, ()))
        )
        for launch, shape in read_launch_shapes(trace).items()
    }


def _energies(trace: Trace) -> Mapping[int, tuple[tuple[str, str], ...]]:
    """Return the mean energy per launch, for the kernels and sizes whose energy was resolved."""
    if not has_power(trace):
        return {}
    lines: dict[tuple[str, str], list[EnergyLine]] = {}
    for line in energy_of(trace).lines:
        if line.load.kind is LoadKind.KERNEL and line.energy_j is not None and len(line.load):
            for name in line.load.names:
                lines.setdefault((name, line.load.size), []).append(line)
    energies = {}
    rows = trace.rows("SELECT launch_id, kernel, global_size FROM v_launch")
    for launch, kernel, size in rows:
        members = lines.get((str(kernel), str(size or "")), ())
        if members:  # a kernel has a line per device
            count = sum(len(line.load) for line in members)
            each = sum(line.energy_j or 0.0 for line in members) / count
            within = math.hypot(*(line.within_j or 0.0 for line in members)) / count
            text = f"{value_text(each, Unit.JOULES)} ± {value_text(within, Unit.JOULES)} on average"
            tiers = dict.fromkeys(str(line.tier) for line in members)
            energies[int(launch)] = (("energy", text), ("energy_tier", ", ".join(tiers)))
    return energies


def _predictions(predicted: Sequence[PredictedTrace]) -> Mapping[int, tuple[tuple[str, str], ...]]:
    """Return the predicted times; where devices of several names ran a launch, with the names."""
    by_launch: dict[int, dict[str, tuple[tuple[str, str], ...]]] = {}
    for prediction in predicted:
        caveats = tuple(
            (each.key, each.text)
            for each in profile_caveats(prediction.profile, prediction.differences)
        )
        for launch in prediction.launches:
            for number in launch.launch_ids:
                names = by_launch.setdefault(number, {})
                words = (*_prediction_words(launch), *caveats)
                names[prediction.profile.device.name] = words
    return {
        number: tuple(
            (f"{key} on {name}" if len(names) > 1 else key, value)
            for name, words in names.items()
            for key, value in words
        )
        for number, names in by_launch.items()
    }


def _prediction_words(launch: PredictedLaunch) -> tuple[tuple[str, str], ...]:
    words = [("predicted", time_text(launch.prediction.duration_ns))]
    if launch.prediction.interval_ns is not None:
        low, high = map(time_text, launch.prediction.interval_ns)
        words.append(("predicted_between", f"{low} and {high}"))
    words.append(("limited_by", launch.prediction.limiter))
    return tuple(words)


def _size_text(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))
