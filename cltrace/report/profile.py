"""Reports on device profiles: measured families, fitted costs, comparisons."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from cltrace.errors import ProfileError
from cltrace.profile import DeviceProfile, Point, read_profile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.quantities import round_significant
from cltrace.suite.calibration import FAMILIES

_FINE_NS: Final = 0.1
"""Costs below this are shown in ps."""


def profile_report(profile: DeviceProfile) -> Document:
    """Return a profile in short: the device, and a row for each family."""
    return Document(
        title=f"profile of {profile.device.name}",
        facts=list(_facts(profile)),
        tables=[table for table in (_families(profile), _parameters(profile)) if table.rows],
        notes=list(profile.notes),
    )


def _facts(profile: DeviceProfile) -> Iterator[Fact]:
    device, provenance = profile.device, profile.provenance
    yield Fact(
        "platform", "platform", f"{device.platform}, driver {device.driver}", device.platform
    )
    units = f"{device.compute_units} at {device.clock_mhz:,} MHz"
    yield Fact("compute_units", "compute units", units, device.compute_units)
    yield from caveat_facts(profile)
    measured = f"{provenance.date}, {provenance.effort}, {provenance.seconds:.0f} s"
    yield Fact("measured", "measured", f"{measured}, by cltrace {provenance.cltrace}", measured)
    if provenance.clocks:
        speeds = [reading.clock_mhz for reading in provenance.clocks]
        heat = [reading.temperature_c for reading in provenance.clocks]
        text = f"{min(speeds):,} to {max(speeds):,} MHz, {min(heat)} to {max(heat)} °C"
        yield Fact("clock", "clock", text, max(speeds))


def _families(profile: DeviceProfile) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name, points in profile.families.items():
        settled = sum(point.is_settled for point in points)
        rows.append(
            (
                name,
                len({point.series for point in points}),
                len(points),
                sum(point.runs for point in points),
                settled / len(points) if points else None,
                _spread(points),
            )
        )
    return Table(
        key="families",
        title="Measured",
        columns=(
            Column("family", "family"),
            Column("series", "series", Unit.COUNT, 60),
            Column("points", "points", Unit.COUNT, 80),
            Column("runs", "runs", Unit.COUNT, 70),
            Column("settled", "settled", Unit.SHARE, 75),
            Column("spread", "spread", Unit.SHARE, 65),
        ),
        rows=rows,
        note="settled: standard error of the mean within 2 %; spread: median deviation of single runs",
    )


def _spread(points: tuple[Point, ...]) -> float | None:
    spreads = sorted(point.deviation_ns / point.mean_ns for point in points if point.mean_ns)
    return spreads[len(spreads) // 2] if spreads else None


def _parameters(profile: DeviceProfile) -> Table:
    rows: list[tuple[Value, ...]] = []
    for model, parameters in profile.parameters.items():
        for name, parameter in parameters.items():
            title = (
                FAMILIES[parameter.family].title
                if parameter.family in FAMILIES
                else parameter.family
            )
            finer = parameter.unit.startswith("ns") and parameter.value < _FINE_NS
            scale, unit = (
                (1e3, parameter.unit.replace("ns", "ps", 1)) if finer else (1.0, parameter.unit)
            )
            error = f"± {scale * parameter.error:.2g}" if parameter.error else ""
            rows.append((model, name, f"{scale * parameter.value:.4g}", error, unit, title))
    return Table(
        key="parameters",
        title="Costs",
        columns=(
            Column("model", "model", keep=70),
            Column("name", "what"),
            Column("value", "cost", Unit.PLAIN),
            Column("error", "within", keep=60),
            Column("unit", "unit", keep=90),
            Column("family", "from", keep=50),
        ),
        rows=rows,
    )


def list_report(paths: Mapping[str, Path]) -> Document:
    """Return the profiles in a list; those that cannot be read are noted."""
    rows: list[tuple[Value, ...]] = []
    notes = []
    for name, path in paths.items():
        try:
            profile = read_profile(path)
        except ProfileError as error:
            notes.append(str(error))
            continue
        rows.append(_list_row(name, profile))
    return Document(
        title="profiles of devices",
        facts=[],
        tables=[
            Table(
                key="profiles",
                title="Profiles",
                columns=(
                    Column("name", "name"),
                    Column("device", "device", keep=90),
                    Column("platform", "platform", keep=60),
                    Column("driver", "driver", keep=70),
                    Column("date", "measured", keep=80),
                    Column("effort", "effort", keep=50),
                    Column("settled", "settled", Unit.SHARE, 65),
                ),
                rows=rows,
                why_empty="there is no profile: `cltrace calibrate` makes one",
            )
        ],
        notes=notes,
    )


def _list_row(name: str, profile: DeviceProfile) -> tuple[Value, ...]:
    device, provenance = profile.device, profile.provenance
    settled = 1.0 - profile.unsettled_share
    return (
        name, device.name, device.platform, device.driver, provenance.date, provenance.effort, settled,
    )  # fmt: skip


def comparison_report(profiles: Mapping[str, DeviceProfile]) -> Document:
    """Return profiles side by side: the medians of series that all have, at a common point."""
    first, *others = profiles.values()
    rows: list[tuple[Value, ...]] = []
    for family in first.families:
        for series in dict.fromkeys(point.series for point in first.points(family)):
            medians = [_by_x(profile, family, series) for profile in profiles.values()]
            common_x = sorted(set.intersection(*(set(median_at) for median_at in medians)))
            if common_x:
                x = common_x[-1]
                base_ns = medians[0][x]
                ratios = (median_at[x] / base_ns if base_ns else None for median_at in medians[1:])
                rows.append((family, series, x, base_ns, *ratios))
    names = list(profiles)
    return Document(
        title=" against ".join(names),
        facts=[
            Fact(name, name, f"{profile.device.name}, {profile.provenance.date}", name)
            for name, profile in profiles.items()
        ],
        tables=[
            Table(
                key="series",
                title="Series",
                columns=(
                    Column("family", "family", keep=80),
                    Column("series", "series"),
                    Column("x", "at", Unit.PLAIN, 60),
                    Column("time_ns", names[0], Unit.NS, 90),
                    *(
                        Column(f"ratio_{number}", f"{name} by {names[0]}", Unit.PLAIN, 95)
                        for number, name in enumerate(names[1:], start=1)
                    ),
                ),
                rows=[tuple(_round(value) for value in row) for row in rows],
                note="at the largest common point; ratios are relative to the first profile",
                why_empty="the profiles have no point in common" if others else "",
            )
        ],
    )


def _by_x(profile: DeviceProfile, family: str, series: str) -> dict[float, float]:
    return {point.x: point.median_ns for point in profile.points(family, series)}


def _round(value: Value) -> Value:
    return round_significant(value) if isinstance(value, float) else value
