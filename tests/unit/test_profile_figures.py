"""Figures of profiles: their axes, bars, lines and labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cltrace.profile import DeviceProfile, Point, load_profile
from cltrace.report.profile_figures import draw_family, write_family
from tests.conftest import Runner

H200 = load_profile("nvidia-h200")
COSTS = {"throughput", "mixtures", "latency", "barriers", "first"}


def bar_widths(axis: Any) -> list[float]:
    return [bar.get_width() for bar in axis.patches]


def labels(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


@pytest.mark.parametrize("name", ["nvidia-h200", "pocl-cpu"])
def test_every_figure_says_its_device_and_date_and_has_no_bar_on_a_logarithmic_axis(
    name: str,
) -> None:
    profile = load_profile(name)
    for family in profile.families:
        figure = draw_family(profile, family)
        assert figure.get_suptitle()
        assert figure.get_supxlabel().startswith(
            f"{profile.device.name}, measured {profile.provenance.date}"
        )
        for axis in figure.axes:
            assert axis.get_xlabel(), family
            assert not axis.patches or axis.get_xscale() == axis.get_yscale() == "linear", family
        assert bool(figure.axes[0].patches) == (family in COSTS), family


def test_operations_are_one_chart_of_ns_per_operation() -> None:
    figure = draw_family(H200, "latency")
    (axis,) = figure.axes
    points = {
        series: sorted(H200.points("latency", series), key=lambda point: point.x)
        for series in dict.fromkeys(point.series for point in H200.points("latency"))
    }
    costs = {
        series: (last.mean_ns - first.mean_ns) / (last.x - first.x)
        for series, (first, last) in points.items()
    }
    ordered = sorted(costs, key=lambda series: costs[series])
    assert labels(axis) == ordered
    assert bar_widths(axis) == pytest.approx([costs[series] for series in ordered])
    assert axis.get_xlabel() == "ns per operation in a chain"
    low, high = axis.get_ylim()
    assert low > high, "the cheapest is on top"


def test_throughput_is_of_one_operation_of_all_that_a_compute_unit_executes() -> None:
    (axis,) = draw_family(H200, "throughput").axes
    widths = dict(zip(labels(axis), bar_widths(axis), strict=True))
    # 128 lanes per cycle at 1.98 GHz.
    assert widths["float add"] == pytest.approx(1 / (128 * 1.98), rel=0.1)


def with_points(family: str, *points: Point) -> DeviceProfile:
    return replace(H200, families={family: points}, residuals={})


def point(series: str, x: float, mean_ns: float, deviation_ns: float = 0.0) -> Point:
    return Point(
        series=series,
        x=x,
        runs=4,
        mean_ns=mean_ns,
        deviation_ns=deviation_ns,
        median_ns=mean_ns,
        min_ns=mean_ns,
        is_settled=True,
    )


def test_errors_of_costs_are_95_percent_intervals_of_both_means() -> None:
    profile = with_points(
        "latency", point("add", 100, 1000.0, 60.0), point("add", 300, 3000.0, 80.0)
    )
    (axis,) = draw_family(profile, "latency").axes
    bars: Any = axis.containers[0]
    (errors,) = bars.lines[2]
    ((begin, _), (end, _)) = errors.get_segments()[0]
    half = 1.96 * (30**2 + 40**2) ** 0.5 / 200
    assert (begin, end) == pytest.approx((10 - half, 10 + half))


def test_a_family_of_costs_with_single_points_is_drawn_as_points() -> None:
    profile = with_points("latency", point("add", 100, 1000.0))
    (axis,) = draw_family(profile, "latency").axes
    assert not axis.patches
    assert axis.get_ylabel() == "µs"


def test_transfers_are_lines_of_times_and_of_gigabytes_per_second_over_iec_sizes() -> None:
    figure = draw_family(H200, "transfers")
    times, rates = figure.axes
    figure.canvas.draw()
    assert (times.get_ylabel(), rates.get_ylabel()) == ("µs", "GB/s")
    assert (times.get_yscale(), rates.get_yscale()) == ("log", "linear")
    assert rates.get_ylim()[0] == 0
    for axis in (times, rates):
        shown = [label.get_text() for label in axis.get_xticklabels()]
        assert {"4 KiB", "1 MiB"} <= set(shown)
        assert all(text.rpartition(" ")[2] in {"B", "KiB", "MiB", "GiB"} for text in shown)
    names = list(dict.fromkeys(each.series for each in H200.points("transfers")))
    containers: list[Any] = rates.containers
    lines = {bars.get_label(): bars.lines[0] for bars in containers}
    assert list(lines) == names
    for name, line in lines.items():
        assert line.get_linestyle() in {"-", "--"}
        largest = max(H200.points("transfers", name), key=lambda each: each.x)
        assert line.get_ydata()[-1] == pytest.approx(largest.x / largest.mean_ns)


def test_many_series_share_axes_by_their_ending_or_their_beginning() -> None:
    waves = draw_family(H200, "waves")
    assert [axis.get_title() for axis in waves.axes] == ["2^22", "2^24", "2^26", "2^25"]
    elements = draw_family(H200, "elementary")
    assert [axis.get_title() for axis in elements.axes] == ["float", "double", "int", "long"]
    (legend,) = elements.legends
    assert [text.get_text() for text in legend.get_texts()] == ["copy", "+", "-", "*", "/"]


def test_names_from_a_profile_are_no_mathematics(tmp_path: Path) -> None:
    profile = with_points("base", point(r"$\frac$", 1, 1000.0), point("$x", 2, 1000.0))
    hostile = replace(profile, device=replace(profile.device, name="a$\\bad$b"))
    text = write_family(hostile, "base", tmp_path).read_text()
    assert text.startswith("<?xml")


def test_a_figure_is_written_with_the_same_bytes_each_time(tmp_path: Path, run: Runner) -> None:
    done = run("profile", "plot", "nvidia-h200", "--family", "occupancy", "-o", str(tmp_path))
    path = tmp_path / "nvidia-h200-occupancy.svg"
    assert (done.status, done.stdout) == (0, f"{path}\n")
    before = path.read_bytes()
    assert write_family(H200, "occupancy", tmp_path).read_bytes() == before


def test_series_of_one_point_are_rows_of_one_figure() -> None:
    figure = draw_family(H200, "together")
    (axis,) = figure.axes
    assert len(axis.get_yticks()) == len(H200.points("together"))
    names = labels(axis)
    assert "compute beside 7 × compute" in names
    assert "stream alone" in names
    times = np.asarray(axis.lines[0].get_xdata()).tolist()
    assert times == sorted(point.mean_ns / 1e3 for point in H200.points("together"))
