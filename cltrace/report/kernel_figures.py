"""Figures of single kernels: predicted by measured time over sizes, with error bars."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.predict.accuracy import Evaluation
from cltrace.predict.models import DEFAULT
from cltrace.predict.quotients import quotient
from cltrace.report.figures import BAND, BAND_COLOR, BLUE, plain_text, show_sizes

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_KERNELS: Final = 9
_COLUMNS: Final = 3
_MIN_SIZES: Final = 2
_MIN_TOP: Final = 2.0
_SIZE_MARK: Final = " 2^"
"""Text after the kernel in the names of launches of the evaluation suite."""
_SIZE_TICKS: Final = 5
"""Ticks of sizes in bytes for which a small figure has room."""
_MAX_TITLE: Final = 40
_INTERVAL_COLOR: Final = "#a9c4de"


def draw_kernels(evaluation: Evaluation) -> "Figure | None":
    """Return a pair of axes per kernel, those with most sizes first; None if none has several.

    Dark error bars are the standard deviation of the measured times, pale ones the interval that the
    default model states. A set of several models shows the default one, or its first.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    model = DEFAULT if DEFAULT in evaluation.predicted_ns else next(iter(evaluation.predicted_ns))
    kernels = _kernels(evaluation, model)
    if not kernels:
        return None
    columns = min(len(kernels), _COLUMNS)
    rows = -(-len(kernels) // columns)
    size = (max(3.4 * columns, 5.5), 2.6 * rows + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, (name, launches) in zip(axes, kernels.items(), strict=False):
        _draw_kernel(axis, evaluation, model, launches)
        axis.set_title(plain_text(name[:_MAX_TITLE]), fontsize=9)
    for axis in axes[len(kernels) :]:
        axis.remove()
    return figure


def launch_name(family: str, launch: str) -> str:
    """Return the name of a launch, with its family where that says what the kernel computes."""
    return f"{family}: {launch}" if _SIZE_MARK in launch else launch


def _kernels(evaluation: Evaluation, model: str) -> Mapping[str, NDArray[np.int64]]:
    """Return the positions of the launches of kernels with several sizes, by the kernel's name."""
    is_known = (evaluation.sizes > 0) & ~np.isnan(evaluation.predicted_ns[model])
    names = np.asarray(list(map(_kernel_name, evaluation.families, evaluation.names)), dtype=object)
    kernels = {name: np.flatnonzero(is_known & (names == name)) for name in dict.fromkeys(names)}
    sizes = {name: len(np.unique(evaluation.sizes[own])) for name, own in kernels.items()}
    ordered = sorted(kernels, key=lambda name: -sizes[name])
    return {name: kernels[name] for name in ordered[:_MAX_KERNELS] if sizes[name] >= _MIN_SIZES}


def _kernel_name(family: str, launch: str) -> str:
    """Return the kernel of a launch. A family of the suite has several, which its launches name."""
    kernel, has_size, _ = launch.partition(_SIZE_MARK)
    return f"{family}: {kernel}" if has_size else family


def _draw_kernel(
    axis: "Axes", evaluation: Evaluation, model: str, launches: NDArray[np.int64]
) -> None:
    sizes = evaluation.sizes[launches]
    measured_ns = evaluation.measured_ns[launches]
    q = quotient(evaluation.predicted_ns[model][launches], measured_ns)
    axis.axhspan(*BAND, color=BAND_COLOR, linewidth=0, zorder=0)
    axis.axhline(1.0, color="black", linewidth=0.6, zorder=1)
    if model in evaluation.bounds_ns:
        low_ns, high_ns = (bound[launches] for bound in evaluation.bounds_ns[model])
        low, high = quotient(low_ns, measured_ns), quotient(high_ns, measured_ns)
        axis.vlines(sizes, low, high, color=_INTERVAL_COLOR, linewidth=3, zorder=2)
    spread = q * np.nan_to_num(evaluation.deviations_ns[launches]) / measured_ns
    axis.errorbar(
        sizes, q, spread, fmt="o", markersize=3, color=BLUE, elinewidth=0.8, capsize=2, zorder=3
    )
    show_launch_sizes(axis, evaluation)
    axis.set_ylim(0, max(_MIN_TOP, 1.1 * float(q.max())))
    axis.set_ylabel(f"{model} / measured", fontsize=8)
    axis.tick_params(labelsize=8)


def show_launch_sizes(axis: "Axes", evaluation: Evaluation) -> None:
    """Make the x axis logarithmic: work-items, or sizes in bytes of transfers."""
    if evaluation.are_transfers:
        show_sizes(axis, _SIZE_TICKS)
    else:
        axis.set_xscale("log", base=2)
    axis.set_xlabel("size" if evaluation.are_transfers else "work-items", fontsize=8)
