"""Figures of launches beside others: figures 5.1 to 5.6 and A.3 of Büsser (2018) for a device."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from cltrace.predict.neighbours.evaluation import TogetherEvaluation
from cltrace.predict.neighbours.models import collisions
from cltrace.predict.neighbours.records import Beside, Reading
from cltrace.report.figures import name_figure, write_figure

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS: Final = {2: "#cc3311", 3: "#228833", 4: "#4477aa", 8: "#aa3377"}
"""Colors by launches at once."""
_SMALL: Final = 8
_MEMORY_KINDS: Final = frozenset({"stream", "random", "cache", "atomics"})
_FITTED: Final = 3
_US: Final = 1e3


def write_together(origin: str, evaluation: TogetherEvaluation, directory: Path) -> Iterator[Path]:
    """Draw the figures into `directory` and yield their paths.

    They are `together-durations.svg` (figures 5.1, 5.2 and A.3), `together-training.svg` (5.3) and
    `together-errors.svg` (5.4 to 5.6, and the default model). `origin` is the device with the date of
    the measurement. Raises: `OutputError`.
    """
    figures = {
        "durations": (_draw_durations(evaluation), "durations alone and beside others"),
        "training": (_draw_training(evaluation), "what the first model is trained on"),
        "errors": (_draw_errors(evaluation), "measured less predicted increases"),
    }
    for name, (figure, title) in figures.items():
        name_figure(figure, f"together: {title}", origin, "")
        yield write_figure(figure, directory / f"together-{name}.svg")


def _draw_durations(evaluation: TogetherEvaluation) -> "Figure":
    """Return durations beside others over those alone, of two groups of kinds, and relative increases."""
    figure, axes = _axes(3)
    memory = [each for each in evaluation.launches if each.kinds[0] in _MEMORY_KINDS]
    others = [each for each in evaluation.launches if each.kinds[0] not in _MEMORY_KINDS]
    for axis, launches, title in zip(
        axes, (memory, others), ("accesses of memory", "other kinds"), strict=False
    ):
        _scatter(
            axis, launches, lambda each: each.alone_ns / _US, lambda each: each.beside_ns / _US
        )
        if launches:
            ends = [
                min(each.alone_ns for each in launches) / _US,
                max(each.alone_ns for each in launches) / _US,
            ]
            axis.plot(ends, ends, color="black", linewidth=0.6)
        axis.set(xscale="log", yscale="log", xlabel="alone, µs", ylabel="beside others, µs")
        axis.set_title(title, fontsize=9)
    _scatter(
        axes[2],
        evaluation.launches,
        lambda each: each.alone_ns / _US,
        lambda each: 100 * each.increase_ns / each.alone_ns,
    )
    axes[2].axhline(0.0, color="black", linewidth=0.6)
    axes[2].set(xscale="log", xlabel="alone, µs", ylabel="longer than alone, %")
    axes[2].set_yscale("symlog", linthresh=10)
    axes[2].set_title("relative increases", fontsize=9)
    axes[0].legend(title="at once", frameon=False, fontsize=_SMALL, title_fontsize=_SMALL)
    return figure


def _draw_training(evaluation: TogetherEvaluation) -> "Figure":
    """Return the ratios whose median is the first model's constant, for sets of three."""
    figure, axes = _axes(1)
    fitted = [each for each in evaluation.launches if each.threads == _FITTED]
    _scatter(
        axes[0],
        fitted,
        lambda each: each.alone_ns / _US,
        lambda each: each.increase_ns / ((each.threads - 1) * each.alone_ns),
    )
    constant = evaluation.constants.get("equal", {}).get("c")
    if constant is not None:
        axes[0].axhline(constant, color="black", linewidth=0.8)
    axes[0].set(xscale="log", xlabel="alone, µs", ylabel="increase / ((T - 1) t)")
    axes[0].set_title("line: the constant that was trained", fontsize=9)
    return figure


def _draw_errors(evaluation: TogetherEvaluation) -> "Figure":
    """Return measured less predicted increases by what each model goes by, without sets of three."""
    expected = collisions(Reading.SECTORS)
    panels: tuple[tuple[str, str, Callable[[Beside], float]], ...] = (
        ("equal", "alone, µs", lambda each: each.alone_ns / _US),
        ("accesses, sectors", "sectors", lambda each: each.members[0].accesses[Reading.SECTORS]),
        ("collisions, sectors", "collisions", expected),
        ("share", "alone, µs", lambda each: each.alone_ns / _US),
    )
    figure, axes = _axes(len(panels))
    for axis, (name, label, quantity) in zip(axes, panels, strict=True):
        increases = evaluation.increases_ns.get(name)
        if increases is None:
            continue
        predicted = {
            id(launch): float(increase)
            for launch, increase in zip(evaluation.launches, increases, strict=True)
        }
        tested = [each for each in evaluation.launches if each.threads != _FITTED]
        _scatter(axis, tested, quantity, _error_of(predicted))
        axis.axhline(0.0, color="black", linewidth=0.6)
        axis.set(xscale="log", xlabel=label, ylabel="measured less predicted, µs")
        axis.set_yscale("symlog", linthresh=10)
        axis.set_title(name, fontsize=9)
    axes[0].legend(title="at once", frameon=False, fontsize=_SMALL, title_fontsize=_SMALL)
    return figure


def _error_of(predicted_ns: dict[int, float]) -> Callable[[Beside], float]:
    return lambda launch: (launch.increase_ns - predicted_ns[id(launch)]) / _US


def _axes(count: int) -> tuple["Figure", "Sequence[Axes]"]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(3.4 * max(count, 2), 3.6), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.tick_params(labelsize=_SMALL)
    return figure, axes


def _scatter(
    axis: "Axes",
    launches: Sequence[Beside],
    x: Callable[[Beside], float],
    y: Callable[[Beside], float],
) -> None:
    """Draw launches as points, in a color for each number of launches at once."""
    for threads in sorted({launch.threads for launch in launches}):
        chosen = [launch for launch in launches if launch.threads == threads]
        axis.plot(
            np.asarray([x(launch) for launch in chosen]),
            np.asarray([y(launch) for launch in chosen]),
            ".",
            markersize=4,
            color=_COLORS.get(threads, "0.4"),
            label=str(threads),
        )
