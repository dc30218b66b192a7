"""Report of a trace's predictions."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.predict.models.thesis import THESIS
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.trace_profile import ProfileChoice
from cltrace.predict.traced_transfers import PredictedTransfers
from cltrace.predict.traces import (
    PredictedLaunch,
    PredictedTrace,
)
from cltrace.predict.whatif import BreakEven
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.launch_flags import flags_column, launch_flags
from cltrace.report.neighbour_columns import (
    NEIGHBOUR_COLUMNS,
    at_once_table,
    neighbour_values,
    without_neighbours,
)
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.quantities import count_text, round_significant, time_text

_TOP: Final = 10
_MIN_SHARE: Final = 0.01
"""Parts that take a smaller share of a launch are not shown."""


_WHAT_IF_NOTE: Final = "measured: median of the calls on the recorded device"
_NOTE: Final = "measured: median of the calls; quotient: predicted by measured"


def prediction_report(
    predictions: Sequence[PredictedTrace],
    breaks: Sequence[BreakEven] = (),
    top: int | None = _TOP,
) -> Document:
    """Return measured times beside predicted ones, of each device of a trace.

    `top` is the largest number of rows of a table for each device.
    """
    return Document(
        title="",
        facts=list(_facts(predictions)),
        tables=prediction_tables(predictions, breaks, top),
        notes=[note for prediction in predictions for note in _notes(prediction)],
    )


def prediction_tables(
    predictions: Sequence[PredictedTrace],
    breaks: Sequence[BreakEven] = (),
    top: int | None = _TOP,
) -> list[Table]:
    """Return the tables of predictions; a table without content has no rows.

    A prediction for another device than the recorded one has no error, but a speed-up. Predictions of
    several devices have the device in the first column.
    """
    is_what_if = all(prediction.is_what_if for prediction in predictions)
    of_devices = [_device_tables(each, top, is_what_if=is_what_if) for each in predictions]
    if not any(launch.neighbours for each in predictions for launch in each.launches):
        of_devices = [(without_neighbours(tables[0]), *tables[1:]) for tables in of_devices]
    labels = [prediction.label for prediction in predictions]
    tables = [_join_devices(labels, same) for same in zip(*of_devices, strict=True)]
    return [*tables, at_once_table(predictions, top), _break_table(breaks[:top])]


def missing_notes(choice: ProfileChoice) -> list[str]:
    """Return a note on each kind of device of a trace that has no profile."""
    labels: dict[str, list[str]] = {}
    for device in choice.missing:
        labels.setdefault(device.name, []).append(device.label)
    return [
        f"note: {', '.join(own)}: not predicted, because there is no profile of {name}: run "
        f"`cltrace calibrate` there, or choose another device's with --profile '{name}=NAME'"
        for name, own in labels.items()
    ]


def _device_tables(
    prediction: PredictedTrace, top: int | None, *, is_what_if: bool
) -> Sequence[Table]:
    launches = sorted(prediction.launches, key=lambda launch: -launch.weight_ns)[:top]
    return (
        _launch_table(launches, is_what_if=is_what_if),
        _transfer_table(prediction.transfers, top, is_what_if=is_what_if),
        _part_table(launches),
        _type_table(prediction, launches),
        Table(
            key="not_predicted",
            title="Not predicted",
            columns=(
                Column("kernel", "kernel"),
                Column("calls", "calls", Unit.COUNT, 90),
                Column("why", "why", Unit.PROSE),
            ),
            rows=prediction.refused[:top],
        ),
    )


def _join_devices(labels: Sequence[str], tables: Sequence[Table]) -> Table:
    """Return the same table of several devices as one."""
    if not any(labels):
        return tables[0]
    joined = (_join_meanings(same) for same in zip(*(each.columns for each in tables), strict=True))
    return replace(
        tables[0],
        columns=(Column("device", "device", keep=99), *joined),
        rows=[
            (label, *row) for label, table in zip(labels, tables, strict=True) for row in table.rows
        ],
    )


def _join_meanings(same: Sequence[Column]) -> Column:
    """Return the same column of several tables with what its words mean in any of them."""
    parts = (part for column in same for part in column.meaning.split("; "))
    return replace(same[0], meaning="; ".join(filter(None, dict.fromkeys(parts))))


def _facts(predictions: Sequence[PredictedTrace]) -> Iterator[Fact]:
    for prediction in predictions:
        device, on = prediction.profile.device, _prefix(prediction)
        text = f"{on}{device.name}, measured {prediction.profile.provenance.date}"
        yield Fact("profile", "predicted for", text, device.name)
        yield from caveat_facts(prediction.profile, prediction.differences, on)
        if prediction.is_what_if:
            names = ", ".join(prediction.recorded_on) or "an unknown device"
            yield Fact("what_if", "what if", f"{on}it was recorded on {names}", names)
    model = predictions[0].model
    yield Fact("model", "model", model, model)
    for prediction in predictions:
        yield from _sums(prediction)


def _sums(prediction: PredictedTrace) -> Iterator[Fact]:
    """Yield the sums of the predicted and the measured times."""
    kernels = sum(
        launch.launch.calls * launch.prediction.duration_ns for launch in prediction.launches
    )
    transfers = sum(
        transfer.calls * transfer.prediction.duration_ns for transfer in prediction.transfers
    )
    for name, predicted, measured in (
        ("kernels", kernels, sum(launch.total_ns for launch in prediction.launches)),
        ("transfers", transfers, sum(transfer.total_ns for transfer in prediction.transfers)),
    ):
        if predicted:
            text = f"{time_text(predicted)} predicted, {time_text(measured)} measured"
            yield Fact(name, name, f"{_prefix(prediction)}{text}", round(predicted))


def _prefix(prediction: PredictedTrace) -> str:
    return f"{prediction.label}: " if prediction.label else ""


def _notes(prediction: PredictedTrace) -> Iterator[str]:
    on = _prefix(prediction)
    outside = sum(launch.is_outside for launch in prediction.launches)
    if outside and not prediction.is_what_if:
        yield (
            f"note: {on}{count_text(outside, 'configuration was', 'configurations were')} measured "
            "outside of the predicted interval"
        )
    refused = sum(calls for _, calls, _ in prediction.refused)
    if refused:
        yield f"note: {on}{count_text(refused, 'launch is', 'launches are')} not predicted"


def _launch_columns(
    predictions: Sequence[PredictedLaunch], *, is_what_if: bool
) -> Sequence[Column]:
    return (
        Column("kernel", "kernel"),
        Column("global_size", "size", keep=55),
        Column("calls", "calls", Unit.COUNT, 60),
        Column("measured_ns", "measured", Unit.NS, 98),
        Column("predicted_ns", "predicted", Unit.NS, 99),
        Column("least_ns", "min", Unit.NS, 58),
        Column("most_ns", "max", Unit.NS, 59),
        Column("speed_up", "speed-up", Unit.PLAIN, 97)
        if is_what_if
        else Column("quotient", "quotient", Unit.PLAIN, 97),
        Column("distance", "distance", Unit.PLAIN, 40),
        Column("limiter", "limited by", keep=90),
        flags_column(predictions, is_what_if=is_what_if, keep=70),
        *NEIGHBOUR_COLUMNS,
    )


def _launch_table(launches: Sequence[PredictedLaunch], *, is_what_if: bool) -> Table:
    rows: list[tuple[Value, ...]] = []
    for predicted in launches:
        duration, bounds = predicted.prediction.duration_ns, predicted.prediction.interval_ns
        q, d = _compare(duration, predicted.measured_ns)
        if is_what_if:
            q, d = (None if q is None else round_significant(1.0 / q)), None
        rows.append(
            (
                predicted.launch.kernel,
                launch_size(predicted),
                predicted.launch.calls,
                round(predicted.measured_ns) if predicted.measured_ns else None,
                round(duration),
                round(bounds[0]) if bounds is not None else None,
                round(bounds[1]) if bounds is not None else None,
                q,
                d,
                predicted.prediction.limiter,
                launch_flags(predicted, is_what_if=is_what_if),
                *neighbour_values(predicted),
            )
        )
    return Table(
        key="predicted_launches",
        title="Kernels",
        columns=_launch_columns(launches, is_what_if=is_what_if),
        rows=rows,
        note=_WHAT_IF_NOTE if is_what_if else _NOTE,
    )


def _transfer_table(
    transfers: Sequence[PredictedTransfers], top: int | None, *, is_what_if: bool
) -> Table:
    chosen = sorted(
        transfers, key=lambda transfer: -transfer.calls * transfer.prediction.duration_ns
    )[:top]
    rows: list[tuple[Value, ...]] = [
        (
            str(transfer.direction),
            transfer.size_bytes,
            transfer.calls,
            round(transfer.measured_ns) if transfer.measured_ns else None,
            round(transfer.prediction.duration_ns),
            *(
                []
                if is_what_if
                else [_compare(transfer.prediction.duration_ns, transfer.measured_ns)[0]]
            ),
        )
        for transfer in chosen
    ]
    return Table(
        key="predicted_transfers",
        title="Transfers",
        columns=(
            Column("direction", "direction"),
            Column("size_bytes", "size", Unit.BYTES, 98),
            Column("calls", "calls", Unit.COUNT, 60),
            Column("measured_ns", "measured", Unit.NS, 97),
            Column("predicted_ns", "predicted", Unit.NS, 99),
            *([] if is_what_if else [Column("quotient", "quotient", Unit.PLAIN, 96)]),
        ),
        rows=rows,
        note="measured by device stamps, which cover only a part of small transfers; predicted as the "
        "host sees them, from pageable memory",
    )


def _part_table(launches: Sequence[PredictedLaunch]) -> Table:
    """Return what each part of the device would take by itself."""
    rows: list[tuple[Value, ...]] = []
    for predicted in launches:
        whole = predicted.prediction.duration_ns
        rows.extend(
            (
                predicted.launch.kernel,
                launch_size(predicted),
                part.name,
                round(part.time_ns),
                part.time_ns / whole,
            )
            for part in sorted(predicted.prediction.parts, key=lambda part: -part.time_ns)
            if part.time_ns >= _MIN_SHARE * whole
        )
    return Table(
        key="predicted_parts",
        title="Parts of the device",
        columns=(
            Column("kernel", "kernel"),
            Column("global_size", "size", keep=50),
            Column("part", "part", keep=99),
            Column("time_ns", "by itself", Unit.NS, 98),
            Column("share", "of the whole", Unit.SHARE, 97),
        ),
        rows=rows,
        note="parts overlap: together they take less than their sum",
    )


def _type_table(prediction: PredictedTrace, launches: Sequence[PredictedLaunch]) -> Table:
    """Return the cost types of the literature, with the times of its model."""
    rows: list[tuple[Value, ...]] = []
    with suppress(ProfileError):  # a profile may lack parameters that only this table needs
        costs = THESIS.for_device(prediction.profile)
        for predicted in launches:
            if predicted.counts.as_written is None:
                continue
            rows.extend(
                (
                    predicted.launch.kernel,
                    launch_size(predicted),
                    str(row.type),
                    round_significant(row.per_item),
                    round(row.time_ns),
                )
                for row in costs.parts(predicted.counts)
                if row.per_item
            )
    return Table(
        key="predicted_cost_types",
        title="Cost types",
        columns=(
            Column("kernel", "kernel"),
            Column("global_size", "size", keep=50),
            Column("type", "type", keep=99),
            Column("per_item", "per work-item", Unit.PLAIN, 90),
            Column("time_ns", "time", Unit.NS, 98),
        ),
        rows=rows,
        note="by the model of the thesis (Pöppl 2014), which predicts their sum",
    )


def _break_table(breaks: Sequence[BreakEven]) -> Table:
    rows: list[tuple[Value, ...]] = []
    rows.extend(
        (
            break_even.name,
            break_even.work_items,
            round(break_even.own_ns),
            round(break_even.other_ns),
            _winning_range_text(break_even),
        )
        for break_even in breaks
    )
    return Table(
        key="break_even",
        title="Which device is faster",
        columns=(
            Column("kernel", "kernel"),
            Column("work_items", "work-items", Unit.COUNT, 60),
            Column("own_ns", "own device", Unit.NS, 90),
            Column("other_ns", "other device", Unit.NS, 91),
            Column("other_wins", "other device wins", Unit.PROSE, 99),
        ),
        rows=rows,
        note="both predicted; the other device wins in this range of work-items, if work-groups and "
        "memory grow in proportion",
    )


def launch_size(predicted: PredictedLaunch) -> str:
    """Return the global size of a launch as text."""
    return " × ".join(map(str, predicted.launch.global_size))


def _winning_range_text(break_even: BreakEven) -> str:
    """Return at which sizes the other device wins, in words."""
    low, high = (
        None if factor is None else f"{round(break_even.work_items * factor):,}"
        for factor in (break_even.from_factor, break_even.to_factor)
    )
    if low is None and high is None:
        return "always" if break_even.other_wins else "never"
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"from {low} to {high}"


def _compare(predicted: float, measured: float | None) -> tuple[float | None, float | None]:
    """Return quotient and distance, where there is a measured time to compare with."""
    if not measured:
        return None, None
    both = np.asarray(predicted), np.asarray(measured)
    return round_significant(float(quotient(*both))), round_significant(float(distance(*both)))
