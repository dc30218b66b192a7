"""Figures of accuracy and of scores: axes, the band of 25 %, named outliers, error bars, origins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cltrace.predict.accuracy import SHORT_NS, Evaluation
from cltrace.regress.score_files import shipped_reference
from cltrace.report.accuracy_figures import draw_sizes, write_accuracy
from cltrace.report.kernel_figures import draw_kernels
from cltrace.report.quotient_figures import draw_histograms
from cltrace.report.score_figures import score_picture

QUOTIENTS = [1.0, 1.2, 1.3, 0.5, 5.0, 0.8]
SIZES = [1024, 4096, 1024, 2048, 4096, 8192]
FAMILIES = ["scan", "scan", "sort", "sort", "sort", "sort"]


def evaluation() -> Evaluation:
    measured = np.array([20e3, 40e3, 20e3, 30e3, 40e3, 80e3])
    predicted = measured * QUOTIENTS
    return Evaluation(
        names=tuple(f"{family} {size}$x" for family, size in zip(FAMILIES, SIZES, strict=True)),
        families=tuple(FAMILIES),
        sizes=np.array(SIZES),
        measured_ns=measured,
        deviations_ns=measured / 10,
        again_ns=measured,
        is_long=measured >= SHORT_NS,
        predicted_ns={"overlap": predicted, "thesis": np.full(6, np.nan)},
        bounds_ns={"overlap": (predicted / 2, predicted * 2)},
        ablated_ns={},
        cold_ns=np.full(6, np.nan),
        predicted_cold_ns={},
        refused={},
    )


def texts(axis: Any) -> str:
    return "\n".join(text.get_text() for text in axis.texts)


def test_the_histogram_of_quotients_has_the_band_of_25_percent_and_linear_axes() -> None:
    axes: list[Any] = draw_histograms(evaluation()).axes
    quotients, distances = axes[:2]
    band, *bars = quotients.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (0.75, 1.25)
    assert quotients.get_title() == "± 25 %"
    assert sum(bar.get_height() for bar in bars) == len(QUOTIENTS)
    assert bars[-1].get_height() == 1, "what is beyond the axis is in its last bin"
    for axis in (quotients, distances):
        assert axis.get_xscale() == axis.get_yscale() == "linear"
    assert distances.get_xlim()[0] <= 1


def test_outliers_are_numbered_and_named_the_furthest_first() -> None:
    quotients, _, named, *_ = draw_histograms(evaluation()).axes
    lines = texts(named).splitlines()
    assert lines[0] == "3 of 6 launches are beyond ± 25 %"
    assert [line.split() for line in lines[1:]] == [
        ["1", "sort", r"4096\$x", "5"],
        ["2", "sort", r"2048\$x", "0.5"],
        ["3", "sort", r"1024\$x", "1.3"],
    ]
    places = {text.get_text(): text.get_position()[0] for text in quotients.texts}
    assert places == pytest.approx({"1": 3.0, "2": 0.5, "3": 1.3})


def test_a_launch_of_the_suite_is_named_with_its_family() -> None:
    named = replace(evaluation(), names=("of groups 2^14 by 64",) * 6)
    assert "sort: of groups 2^14 by 64" in texts(draw_histograms(named).axes[2])


def test_many_outliers_are_counted() -> None:
    all_beyond = replace(
        evaluation(), predicted_ns={"overlap": np.full(6, 1e6), "thesis": np.full(6, 1e7)}
    )
    lines = texts(draw_histograms(all_beyond).axes[2]).splitlines()
    assert lines[0] == "6 of 6 launches are beyond ± 25 %"
    assert len(lines) == 7
    assert lines[-1] == "1 more"


def test_quotients_of_a_kernel_over_sizes_have_error_bars_of_the_measurement() -> None:
    figure = draw_kernels(evaluation())
    assert figure is not None
    axes: list[Any] = figure.axes
    sort, scan = axes
    assert (sort.get_title(), scan.get_title()) == ("sort", "scan")
    points: Any = sort.containers[0]
    assert points.lines[0].get_xdata().tolist() == SIZES[2:]
    assert points.lines[0].get_ydata().tolist() == pytest.approx(QUOTIENTS[2:])
    bars = [segment[:, 1].tolist() for segment in points.lines[2][0].get_segments()]
    assert bars[0] == pytest.approx([1.3 * 0.9, 1.3 * 1.1])
    intervals: Any = sort.collections[0]
    assert intervals.get_segments()[0][:, 1].tolist() == pytest.approx([0.65, 2.6])
    assert sort.get_ylim()[1] >= 5.0
    assert (sort.get_xscale(), sort.get_yscale()) == ("log", "linear")


def test_without_a_kernel_of_several_sizes_there_is_no_figure_of_kernels(tmp_path: Path) -> None:
    alone = replace(evaluation(), families=tuple("abcdef"))
    assert draw_kernels(alone) is None
    written = write_accuracy("few", "A device, measured 2026-01-02", alone, tmp_path)
    assert [path.name for path in written] == [
        "few-histograms.svg",
        "few-times.svg",
        "few-sizes.svg",
    ]


def test_every_figure_says_its_device_and_date(tmp_path: Path) -> None:
    paths = list(write_accuracy("few", "A device, measured 2026-01-02", evaluation(), tmp_path))
    assert len(paths) == 4
    for path in paths:
        assert "A device, measured 2026-01-02" in path.read_text(), path.name


def test_times_by_size_are_lines_of_powers_of_two() -> None:
    axis: Any = draw_sizes(evaluation()).axes[0]
    assert axis.lines[0].get_xdata().tolist() == [1024, 2048, 4096, 8192]
    assert axis.get_xlabel() == "work-items"


def test_scores_are_points_as_their_axis_is_logarithmic() -> None:
    reference = shipped_reference()
    picture = score_picture([reference, reference], reference).svg.decode()
    assert reference.date in picture
    assert reference.device.name in picture
    assert "speed-up over" in picture
    assert score_picture([reference, reference], reference).svg.decode() == picture


def test_sizes_of_transfers_are_bytes_and_those_of_launches_work_items() -> None:
    launches = evaluation()
    predicted = {"transfers": launches.predicted_ns["overlap"]}
    transfers = replace(launches, predicted_ns=predicted, bounds_ns={})
    for drawn, label, has_units in ((launches, "work-items", False), (transfers, "size", True)):
        figure = draw_sizes(drawn)
        figure.canvas.draw()
        axis = figure.axes[0]
        assert axis.get_xlabel() == label
        ticks = [tick.get_text() for tick in axis.get_xticklabels()]
        assert any(text.endswith("iB") for text in ticks) is has_units
