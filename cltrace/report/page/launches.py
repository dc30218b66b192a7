"""Launch configurations of a page in words: sizes, arguments, predictions, energies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.predict.traces import PredictedTrace
from cltrace.report.tracks.arguments import read_argument_texts
from cltrace.report.tracks.launches import LaunchShape, LaunchShapes, annotate_shapes
from cltrace.report.tracks.rows import one_based_positions
from cltrace.report.tracks.scene import LaunchDescription
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.columns import Int64s
from cltrace.trace.reader import Trace

_MAX_WITH_ARGUMENTS: Final = 20_000
_LABELS: Final[Mapping[str, str]] = {
    "predicted_between": "between",
    "limited_by": "limited by",
    "energy_tier": "energy is",
}


@dataclass(frozen=True, slots=True)
class DescribedLaunches:
    """Different descriptions of launches, of which the first is empty, and the number of each command's.

    `has_arguments` is False where there are too many configurations to describe their arguments.
    """

    descriptions: tuple[LaunchDescription, ...]
    of_command: Int64s
    has_arguments: bool


def describe_launches(
    trace: Trace, predictions: Sequence[PredictedTrace], launch: Int64s
) -> DescribedLaunches:
    """Return descriptions of the launch configurations whose ids are given for each command."""
    shapes = annotate_shapes(trace, predictions)
    if len(shapes) > _MAX_WITH_ARGUMENTS:
        return describe_shapes(shapes, None, launch)
    return describe_shapes(shapes, read_argument_texts(trace), launch)


def describe_shapes(
    shapes: LaunchShapes, arguments: Mapping[int, tuple[str, ...]] | None, launch: Int64s
) -> DescribedLaunches:
    """Return descriptions of shapes with their arguments; with `None` without arguments."""
    ids = sorted(shapes)
    arguments_of = {} if arguments is None else arguments
    numbers: dict[LaunchDescription, int] = {LaunchDescription(): 0}
    of_id = [
        numbers.setdefault(_description(shapes[number], arguments_of.get(number, ())), len(numbers))
        for number in ids
    ]
    number_of_place = np.array([0, *of_id], np.int64)
    of_command: Int64s = number_of_place[one_based_positions(ids, launch)]
    return DescribedLaunches(tuple(numbers), of_command, arguments is not None)


def _description(shape: LaunchShape, arguments: tuple[str, ...]) -> LaunchDescription:
    args = shape.as_args()
    local = args.get("local_size")
    size = args["global_size"] + (f" in groups of {local}" if local else ", groups by the driver")
    facts = tuple(
        (_LABELS.get(key, key.replace("_", " ")), escape_controls(text))
        for key, text in shape.annotations
    )
    return LaunchDescription(size, arguments, facts)
