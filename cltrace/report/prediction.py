"""The report of a trace's predictions."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.predict.models import Cache
from cltrace.predict.models.thesis import THESIS
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.traces import PredictedLaunch, PredictedTrace, PredictedTransfers
from cltrace.predict.whatif import BreakEven
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import counted, significant, time_text

_TOP: Final = 10
_LITTLE: Final = 0.01
"""Parts that take less of a launch are not shown."""


_WHAT_IF_NOTE: Final = (
    "measured: median of the calls, where it was recorded; assumed: depends on contents that are not "
    "known; cold: not in the caches"
)
_NOTE: Final = (
    "measured: median of the calls; quotient: predicted by measured; outside: not between the least and "
    "the most; assumed: depends on contents that are not known; cold: not in the caches"
)


def prediction_report(
    found: PredictedTrace,
    devices: Sequence[str],
    breaks: Sequence[BreakEven] = (),
    top: int | None = _TOP,
) -> Document:
    """Measured beside predicted. `devices` are those of the trace, `top` the most rows of a table."""
    is_what_if = found.profile.device.name not in devices
    return Document(
        title="",
        facts=list(_facts(found, devices)),
        tables=[
            table
            for table in prediction_tables(found, breaks, top, is_what_if=is_what_if)
            if table.rows
        ],
        notes=list(_notes(found, is_what_if=is_what_if)),
    )


def prediction_tables(
    found: PredictedTrace,
    breaks: Sequence[BreakEven] = (),
    top: int | None = _TOP,
    *,
    is_what_if: bool = False,
) -> Iterator[Table]:
    """The tables of a trace's predictions; those that have nothing to say have no rows.

    `is_what_if` says that they are for another device than the trace's: there is nothing to be right or
    wrong about, but how many times as fast it is.
    """
    launches = sorted(found.launches, key=lambda one: -_weight(one))[:top]
    yield _launch_table(launches, is_what_if=is_what_if)
    yield _transfer_table(found.transfers, top, is_what_if=is_what_if)
    yield _part_table(launches)
    yield _type_table(found, launches)
    yield _break_table(breaks[:top])
    yield Table(
        "not_predicted",
        "Not predicted",
        (
            Column("kernel", "kernel"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("why", "why", Unit.PROSE),
        ),
        found.refused[:top],
    )


def _weight(one: PredictedLaunch) -> float:
    return max(one.total_ns, one.launch.calls * one.prediction.duration_ns)


def _facts(found: PredictedTrace, devices: Sequence[str]) -> Iterator[Fact]:
    device = found.profile.device
    date = found.profile.provenance.date
    yield Fact("profile", "predicted for", f"{device.name}, measured {date}", device.name)
    if device.name not in devices:
        names = ", ".join(devices) or "an unknown device"
        yield Fact("what_if", "what if", f"it was recorded on {names}", names)
    yield Fact("model", "model", found.model, found.model)
    kernels = sum(one.launch.calls * one.prediction.duration_ns for one in found.launches)
    moved = sum(one.calls * one.prediction.duration_ns for one in found.transfers)
    for name, label, predicted, measured in (
        ("kernels", "kernels", kernels, sum(one.total_ns for one in found.launches)),
        ("transfers", "transfers", moved, sum(one.total_ns for one in found.transfers)),
    ):
        if predicted:
            text = f"{time_text(predicted)} predicted, {time_text(measured)} measured"
            yield Fact(name, label, text, round(predicted))


def _notes(found: PredictedTrace, *, is_what_if: bool) -> Iterator[str]:
    outside = sum(one.is_outside for one in found.launches)
    if outside and not is_what_if:
        yield (
            f"note: {counted(outside, 'configuration is', 'configurations are')} outside of what the "
            "model says it takes"
        )
    refused = sum(calls for _, calls, _ in found.refused)
    if refused:
        yield f"note: {counted(refused, 'launch is', 'launches are')} not predicted"


def _flags(one: PredictedLaunch, *, is_what_if: bool) -> str:
    words = []
    if one.is_outside and not is_what_if:
        words.append("outside")
    if one.counts.assumptions:
        words.append("assumed")
    if one.cache is Cache.COLD:
        words.append("cold")
    return ", ".join(words)


def _launch_columns(*, is_what_if: bool) -> Sequence[Column]:
    return (
        Column("kernel", "kernel"),
        Column("global_size", "size", keep=55),
        Column("calls", "calls", Unit.COUNT, 60),
        Column("measured_ns", "measured", Unit.NS, 98),
        Column("predicted_ns", "predicted", Unit.NS, 99),
        Column("least_ns", "least", Unit.NS, 58),
        Column("most_ns", "most", Unit.NS, 59),
        Column("speed_up", "times as fast", Unit.PLAIN, 97)
        if is_what_if
        else Column("quotient", "quotient", Unit.PLAIN, 97),
        Column("distance", "distance", Unit.PLAIN, 40),
        Column("limiter", "limited by", keep=90),
        Column("flags", "", keep=70),
    )


def _launch_table(launches: Sequence[PredictedLaunch], *, is_what_if: bool) -> Table:
    rows: list[tuple[Value, ...]] = []
    for one in launches:
        duration, bounds = one.prediction.duration_ns, one.prediction.interval_ns
        q, d = _compared(duration, one.measured_ns)
        if is_what_if:
            q, d = (None if q is None else significant(1.0 / q)), None
        rows.append(
            (
                one.launch.kernel,
                _size(one),
                one.launch.calls,
                round(one.measured_ns) if one.measured_ns else None,
                round(duration),
                round(bounds[0]) if bounds is not None else None,
                round(bounds[1]) if bounds is not None else None,
                q,
                d,
                one.prediction.limiter,
                _flags(one, is_what_if=is_what_if),
            )
        )
    return Table(
        "predicted_launches",
        "Kernels",
        _launch_columns(is_what_if=is_what_if),
        rows,
        note=_WHAT_IF_NOTE if is_what_if else _NOTE,
    )


def _transfer_table(
    transfers: Sequence[PredictedTransfers], top: int | None, *, is_what_if: bool
) -> Table:
    chosen = sorted(transfers, key=lambda one: -one.calls * one.prediction.duration_ns)[:top]
    rows: list[tuple[Value, ...]] = [
        (
            str(one.direction),
            one.size_bytes,
            one.calls,
            round(one.measured_ns) if one.measured_ns else None,
            round(one.prediction.duration_ns),
            *([] if is_what_if else [_compared(one.prediction.duration_ns, one.measured_ns)[0]]),
        )
        for one in chosen
    ]
    return Table(
        "predicted_transfers",
        "Transfers",
        (
            Column("direction", "direction"),
            Column("size_bytes", "size", Unit.BYTES, 98),
            Column("calls", "calls", Unit.COUNT, 60),
            Column("measured_ns", "measured", Unit.NS, 97),
            Column("predicted_ns", "predicted", Unit.NS, 99),
            *([] if is_what_if else [Column("quotient", "quotient", Unit.PLAIN, 96)]),
        ),
        rows,
        note="measured by the device's stamps, which of small ones tell only a part; predicted as the "
        "host sees them, of pageable memory",
    )


def _part_table(launches: Sequence[PredictedLaunch]) -> Table:
    """What each part of the device would take by itself."""
    rows: list[tuple[Value, ...]] = []
    for one in launches:
        whole = one.prediction.duration_ns
        rows.extend(
            (one.launch.kernel, _size(one), part.name, round(part.time_ns), part.time_ns / whole)
            for part in sorted(one.prediction.parts, key=lambda part: -part.time_ns)
            if part.time_ns >= _LITTLE * whole
        )
    return Table(
        "predicted_parts",
        "Parts of the device",
        (
            Column("kernel", "kernel"),
            Column("global_size", "size", keep=50),
            Column("part", "part", keep=99),
            Column("time_ns", "by itself", Unit.NS, 98),
            Column("share", "of the whole", Unit.SHARE, 97),
        ),
        rows,
        note="parts overlap: together they take less than their sum",
    )


def _type_table(found: PredictedTrace, launches: Sequence[PredictedLaunch]) -> Table:
    """The cost types of the literature, with the times of its model."""
    rows: list[tuple[Value, ...]] = []
    with suppress(ProfileError):  # a profile may lack what only this table needs
        costs = THESIS.fitted(found.profile)
        for one in launches:
            rows.extend(
                (
                    one.launch.kernel,
                    _size(one),
                    str(kind.type),
                    significant(kind.per_item),
                    round(kind.time_ns),
                )
                for kind in costs.parts(one.counts)
                if kind.per_item
            )
    return Table(
        "predicted_cost_types",
        "Cost types",
        (
            Column("kernel", "kernel"),
            Column("global_size", "size", keep=50),
            Column("type", "type", keep=99),
            Column("per_item", "a work-item", Unit.PLAIN, 90),
            Column("time_ns", "time", Unit.NS, 98),
        ),
        rows,
        note="of the thesis's model (Pöppl 2014), whose prediction is their sum",
    )


def _break_table(breaks: Sequence[BreakEven]) -> Table:
    rows: list[tuple[Value, ...]] = []
    rows.extend(
        (one.name, one.work_items, round(one.own_ns), round(one.other_ns), _when(one))
        for one in breaks
    )
    return Table(
        "break_even",
        "Which device is faster",
        (
            Column("kernel", "kernel"),
            Column("work_items", "work-items", Unit.COUNT, 60),
            Column("own_ns", "its own", Unit.NS, 90),
            Column("other_ns", "the other", Unit.NS, 91),
            Column("other_wins", "the other wins", Unit.PROSE, 99),
        ),
        rows,
        note="both predicted; the other wins from so many work-items on, where other sizes have as many "
        "times the work-groups and the memory",
    )


def _size(one: PredictedLaunch) -> str:
    return " × ".join(map(str, one.launch.global_size))


def _when(one: BreakEven) -> str:
    """At which sizes the other device wins, in words."""
    low, high = (
        None if factor is None else f"{round(one.work_items * factor):,}"
        for factor in (one.from_factor, one.to_factor)
    )
    if low is None and high is None:
        return "always" if one.other_wins else "never"
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"from {low} to {high}"


def _compared(predicted: float, measured: float | None) -> tuple[float | None, float | None]:
    """Quotient and distance, where there is something to compare with."""
    if not measured:
        return None, None
    both = np.asarray(predicted), np.asarray(measured)
    return significant(float(quotient(*both))), significant(float(distance(*both)))
