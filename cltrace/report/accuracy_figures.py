"""Figures of accuracy: quotients and distances, and times and quotients by size."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from cltrace.predict.accuracy import Evaluation
from cltrace.predict.trace_accuracy import TraceAccuracy
from cltrace.report.figures import BLUE, name_figure, write_figure
from cltrace.report.kernel_figures import draw_kernels, show_launch_sizes
from cltrace.report.quotient_figures import draw_histograms

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.figure import Figure

_SMALL: Final = 8


def write_accuracy(
    name_of_set: str, origin: str, evaluation: Evaluation, directory: Path
) -> Iterator[Path]:
    """Draw the figures of a set into `directory` and yield their paths.

    They are `SET-histograms.svg`, `SET-times.svg`, `SET-sizes.svg` and, if a kernel has several sizes,
    `SET-kernels.svg`. `origin` is the device with the date of the measurement. Raises: `OutputError`.
    """
    figures = {
        "histograms": draw_histograms(evaluation),
        "times": draw_times(evaluation),
        "sizes": draw_sizes(evaluation),
        "kernels": draw_kernels(evaluation),
    }
    for name, figure in figures.items():
        if figure is not None:
            title = f"{name_of_set}: {_TITLES[name]}"
            name_figure(figure, title, origin, _NOTES.get(name, ""))
            yield write_figure(figure, directory / f"{name_of_set}-{name}.svg")


_TITLES: Final = {
    "histograms": "errors of predictions",
    "times": "predicted and measured times",
    "sizes": "times by size",
    "kernels": "predicted / measured by size",
}
_NOTES: Final = {
    "kernels": "error bars: standard deviation of the measured times; pale: interval of the prediction"
}


def trace_origin(traces: Sequence[TraceAccuracy]) -> str:
    """Return the devices of traces, with the days of the recordings."""
    devices = dict.fromkeys(launch.device for trace in traces for launch in trace.launches)
    dates = sorted({trace.date for trace in traces if trace.date})
    recorded = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "on an unknown date"
    return f"{', '.join(devices)}, recorded {recorded}"


def draw_times(evaluation: Evaluation) -> "Figure":
    """Return predicted over measured times, a pair of axes per model, with the diagonal."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    models = evaluation.predicted_ns
    figure = Figure(figsize=(3.4 * max(len(models), 2), 3.8), layout="constrained")
    axes = figure.subplots(1, len(models), squeeze=False)[0]
    for axis, (name, predicted) in zip(axes, models.items(), strict=True):
        times_us = np.concatenate([evaluation.measured_ns, predicted[~np.isnan(predicted)]]) / 1e3
        diagonal = [float(times_us.min()), float(times_us.max())]
        axis.plot(diagonal, diagonal, color="black", linewidth=0.6)
        axis.plot(evaluation.measured_ns / 1e3, predicted / 1e3, ".", markersize=2, color=BLUE)
        axis.set(xscale="log", yscale="log", xlabel="measured, µs", ylabel="predicted, µs")
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=_SMALL)
    return figure


def draw_sizes(evaluation: Evaluation) -> "Figure":
    """Return the medians of measured and predicted times over work-items, or over bytes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    axis = figure.subplots()
    exponents = np.round(np.log2(np.maximum(evaluation.sizes, 1))).astype(int)
    for name, values in {"measured": evaluation.measured_ns, **evaluation.predicted_ns}.items():
        is_known = (evaluation.sizes > 0) & ~np.isnan(values)
        sizes = np.unique(exponents[is_known])
        medians = [
            float(np.median(values[is_known & (exponents == exponent)])) / 1e3 for exponent in sizes
        ]
        style = "k-" if name == "measured" else "o--"
        axis.plot(2.0**sizes, medians, style, markersize=3, linewidth=1, label=name)
    axis.set(yscale="log", ylabel="median, µs")
    show_launch_sizes(axis, evaluation)
    axis.tick_params(labelsize=_SMALL)
    axis.legend(frameon=False, fontsize=8)
    return figure
