"""Report and figures of iterations over sizes (Pöppl 2014, figures 6.2 and 7.2)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cltrace.domain.size_series import RUNS, SizedTimes
from cltrace.files import slug
from cltrace.predict.quotients import distance, quotient
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit
from cltrace.report.figures import name_figure, write_figure

if TYPE_CHECKING:  # slow to load
    from matplotlib.figure import Figure

_COLORS = {"overlap": "#cc3311", "thesis": "0.6"}


def series_report(rows: Sequence[SizedTimes], profile: DeviceProfile) -> Document:
    """Return a row per iteration and size, and the quotients of all."""
    measured = np.array([row.mean_ns for row in rows])
    facts = [
        Fact("device", "device", profile.device.name, profile.device.name),
        Fact("iterations", "iterations", f"{len({row.name for row in rows}):,}", None),
        *_node_facts(rows),
    ]
    for name, times in (
        ("overlap", np.array([row.predicted_ns for row in rows])),
        ("thesis", np.array([row.thesis_ns for row in rows])),
    ):
        q, d = quotient(times, measured), distance(times, measured)
        text = (
            f"mean {q.mean():.3g}, standard deviation {q.std():.3g}; distance mean {d.mean():.3g}, "
            f"median {np.median(d):.3g}"
        )
        facts.append(Fact(f"quotient_{name}", f"quotient, {name}", text, float(q.mean())))
    return Document(title="Iterations over sizes", facts=facts, tables=[_table(rows)])


def _node_facts(rows: Sequence[SizedTimes]) -> list[Fact]:
    """Return the mean number of nodes in both readings of the thesis."""
    nodes = {row.name: row.nodes for row in rows if row.nodes is not None}
    if not nodes:
        return []
    means = np.mean(list(nodes.values()), axis=0)
    text = f"on average {means[0]:.3g}, without those of indices {means[1]:.3g}"
    return [Fact("nodes", "nodes", text, float(means[0]))]


def _table(rows: Sequence[SizedTimes]) -> Table:
    runs = [Column(f"run_{run}_ns", f"run {run}", Unit.NS, 60) for run in range(1, RUNS + 1)]
    columns = (
        Column("iteration", "iteration"),
        Column("nodes", "nodes", Unit.COUNT, 70),
        Column("value_nodes", "without indices", Unit.COUNT, 65),
        Column("elements", "elements", Unit.COUNT),
        *runs,
        Column("mean_ns", "measured", Unit.NS),
        Column("deviation_ns", "±", Unit.NS, 90),
        Column("predicted_ns", "predicted", Unit.NS),
        Column("low_ns", "at least", Unit.NS, 80),
        Column("high_ns", "at most", Unit.NS, 80),
        Column("thesis_ns", "thesis", Unit.NS, 85),
    )
    values = [
        (
            row.name,
            *(row.nodes or (None, None)),
            row.elements,
            *row.measured_ns,
            row.mean_ns,
            row.deviation_ns,
            row.predicted_ns,
            *row.interval_ns,
            row.thesis_ns,
        )
        for row in rows
    ]
    return Table(key="sizes", title="Times by iteration and size", columns=columns, rows=values)


def write_series(rows: Sequence[SizedTimes], origin: str, directory: Path) -> list[Path]:
    """Draw a figure per iteration. Raises: `OutputError`."""
    paths = []
    for name in dict.fromkeys(row.name for row in rows):
        figure = draw_series([row for row in rows if row.name == name])
        name_figure(
            figure, f"{name} over sizes", origin, "error bars: standard deviation of the runs"
        )
        paths.append(write_figure(figure, directory / f"sizes-{slug(name)}.svg"))
    return paths


def draw_series(rows: Sequence[SizedTimes]) -> "Figure":
    """Return measured times of an iteration with error bars, and predicted times, over elements."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    axis = figure.subplots()
    elements = [row.elements for row in rows]
    axis.errorbar(
        elements,
        [row.mean_ns / 1e3 for row in rows],
        [row.deviation_ns / 1e3 for row in rows],
        color="#4477aa",
        marker="o",
        markersize=3,
        linewidth=1,
        capsize=2,
        label="measured",
    )
    axis.fill_between(
        elements,
        [row.interval_ns[0] / 1e3 for row in rows],
        [row.interval_ns[1] / 1e3 for row in rows],
        color=_COLORS["overlap"],
        alpha=0.12,
        linewidth=0,
    )
    for name, times in (
        ("overlap", [row.predicted_ns / 1e3 for row in rows]),
        ("thesis", [row.thesis_ns / 1e3 for row in rows]),
    ):
        axis.plot(
            elements, times, "--", color=_COLORS[name], linewidth=1, label=f"predicted, {name}"
        )
    axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="elements", ylabel="time, µs")
    axis.tick_params(labelsize=8)
    axis.legend(frameon=False, fontsize=8)
    return figure
