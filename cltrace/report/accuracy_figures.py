"""Figures of accuracy: histograms of quotients and distances, and times by work-items."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from cltrace.predict.accuracy import Evaluation
from cltrace.predict.quotients import distance, quotient
from cltrace.report.figures import write_figure

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.figure import Figure

_BINS: Final = 40


def draw_accuracy(name_of_set: str, evaluated: Evaluation, directory: Path) -> Iterator[Path]:
    """Draw the figures of a set into `directory` and yield their paths.

    They are `SET-histograms.svg`, `SET-times.svg` and `SET-sizes.svg`. Raises: `OutputError`.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    long = evaluated.is_long
    histograms = Figure(figsize=(7.0, 2.3 * len(evaluated.predicted_ns)), layout="constrained")
    axes = histograms.subplots(len(evaluated.predicted_ns), 2, squeeze=False)
    for (left, right), (name, predicted) in zip(axes, evaluated.predicted_ns.items(), strict=True):
        is_known = long & ~np.isnan(predicted)
        q = quotient(predicted[is_known], evaluated.measured_ns[is_known])
        d = distance(predicted[is_known], evaluated.measured_ns[is_known])
        left.hist(np.clip(q, 0.0, 3.0), bins=_BINS, range=(0.0, 3.0), color="#4477aa")
        right.hist(np.clip(d, 1.0, 4.0), bins=_BINS, range=(1.0, 4.0), color="#4477aa")
        left.axvline(1.0, color="black", linewidth=0.6)
        left.set_title(f"{name}: predicted / measured", fontsize=9)
        right.set_title(f"{name}: distance", fontsize=9)
    yield write_figure(_small(histograms), directory / f"{name_of_set}-histograms.svg")
    times = Figure(figsize=(3.4 * len(evaluated.predicted_ns), 3.4), layout="constrained")
    for axis, (name, predicted) in zip(
        times.subplots(1, len(evaluated.predicted_ns), squeeze=False)[0],
        evaluated.predicted_ns.items(),
        strict=True,
    ):
        times_us = np.concatenate([evaluated.measured_ns, predicted[~np.isnan(predicted)]]) / 1e3
        diagonal = [float(times_us.min()), float(times_us.max())]
        axis.plot(diagonal, diagonal, color="black", linewidth=0.6)
        axis.plot(evaluated.measured_ns / 1e3, predicted / 1e3, ".", markersize=2, color="#4477aa")
        axis.set(xscale="log", yscale="log", xlabel="measured, µs", ylabel="predicted, µs")
        axis.set_title(name, fontsize=9)
    yield write_figure(_small(times), directory / f"{name_of_set}-times.svg")
    yield write_figure(_over_sizes(evaluated), directory / f"{name_of_set}-sizes.svg")


def _over_sizes(evaluated: Evaluation) -> "Figure":
    """Draw the medians of measured and predicted times over work-items, or over bytes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(5.0, 3.4), layout="constrained")
    axis = figure.subplots()
    exponents = np.round(np.log2(np.maximum(evaluated.sizes, 1))).astype(int)
    for name, values in {"measured": evaluated.measured_ns, **evaluated.predicted_ns}.items():
        is_known = (evaluated.sizes > 0) & ~np.isnan(values)
        sizes = np.unique(exponents[is_known])
        medians = [
            float(np.median(values[is_known & (exponents == exponent)])) / 1e3 for exponent in sizes
        ]
        style = "k-" if name == "measured" else "o--"
        axis.plot(2.0**sizes, medians, style, markersize=3, linewidth=1, label=name)
    axis.set(xscale="log", yscale="log", xlabel="work-items, or bytes", ylabel="median, µs")
    axis.legend(frameon=False, fontsize=8)
    return _small(figure)


def _small(figure: "Figure") -> "Figure":
    """Shrink the numbers at the axes of a figure with many axes."""
    for axis in figure.axes:
        axis.tick_params(labelsize=7)
    return figure
