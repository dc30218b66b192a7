"""Accuracy of predictions on traces: scores by launch and kernel, outliers, unscored commands."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, mean, median
from typing import Final

from cltrace.predict.accuracy import LONG_BYTES, SHORT_NS, summarise_errors
from cltrace.predict.models import DEFAULT
from cltrace.predict.scored_launches import (
    OUTLIER_DISTANCE,
    ScoredLaunch,
    by_kernel,
    evaluate_kernels,
    evaluate_launches,
    summarise_transfers,
)
from cltrace.predict.trace_accuracy import TraceAccuracy
from cltrace.report.accuracy import score_table
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.launch_flags import flags_column, launch_flags
from cltrace.report.prediction import launch_size
from cltrace.report.quantities import (
    count_text,
    more_note,
    round_significant,
    three_digit_text,
    value_text,
)

ALL_TRACES: Final = "all traces"
_NO_PART: Final = "no one part"
_SCORE_KEEP: Final = {
    "launches": 74,
    "kernels": 74,
    "sizes": 74,
    "mean": 95,
    "sd": 62,
    "mean_interval": 41,
    "sd_interval": 40,
    "median": 43,
    "geometric": 44,
    "p90": 45,
    "within": 46,
    "beyond": 94,
    "coverage": 92,
    "short_error_ns": 91,
}
"""Priorities of the columns of scores, by key: outliers and intervals before the spread."""
_SCORE_NOTE: Final = (
    f"predicted by measured, of launches of {SHORT_NS / 1e3:.0f} µs or more; short ones: median error of "
    "the others; distance: median of the larger divided by the smaller; beyond 2: share with a larger "
    "distance; inside: share within the predicted interval; measured again: later calls by earlier ones"
)


@dataclass(frozen=True, slots=True)
class _Labels:
    """Columns for the trace and the device of launches, where there are several."""

    has_traces: bool
    has_devices: bool

    @classmethod
    def of(cls, launches: Sequence[ScoredLaunch]) -> "_Labels":
        """Return the columns that launches need."""
        return cls(
            len({launch.trace for launch in launches}) > 1,
            len({launch.device for launch in launches}) > 1,
        )

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, to stand before others."""
        traces = [Column("trace", "trace", keep=58)] if self.has_traces else []
        return [*traces, *([Column("device", "device", keep=99)] if self.has_devices else [])]

    def values(self, launches: Sequence[ScoredLaunch]) -> Sequence[Value]:
        """Return the values of a row on launches of one device."""
        traces = ", ".join(dict.fromkeys(launch.trace for launch in launches))
        device = launches[0].device
        return [*([traces] if self.has_traces else []), *([device] if self.has_devices else [])]


def trace_accuracy_report(traces: Sequence[TraceAccuracy], top: int | None) -> Document:
    """Return the scores of the launches, kernels and transfers of traces, each and all.

    `top` is the largest number of rows of the tables of kernels, outliers and unscored commands; None
    for all.
    """
    names = [trace.trace for trace in traces]
    return Document(
        title=f"accuracy on {names[0] if len(names) == 1 else f'{len(names)} traces'}",
        facts=list(_facts(traces)),
        tables=list(_tables(traces, top)),
    )


def _facts(traces: Sequence[TraceAccuracy]) -> Iterator[Fact]:
    for trace in traces:
        kernels = count_text(len(by_kernel(trace.launches)), "kernel", "kernels")
        scored = count_text(len(trace.launches), "configuration", "configurations")
        share = value_text(_scored_share(trace), Unit.SHARE)
        text = f"{trace.trace}: {scored} of {kernels}, {share} of the kernels' time"
        yield Fact("trace", "scored", text, trace.trace)
    yield from _profile_facts(traces)
    yield Fact("model", "model", DEFAULT, DEFAULT)
    unscored = sum(each.calls for trace in traces for each in trace.unscored)
    if unscored:
        yield Fact("unscored", "not scored", count_text(unscored, "command", "commands"), unscored)


def _profile_facts(traces: Sequence[TraceAccuracy]) -> Iterator[Fact]:
    """Yield the profiles, and the devices that were not recorded on the device of their profile."""
    dates = {
        profile.device.name: profile.provenance.date
        for trace in traces
        for _, profile in trace.profiles
    }
    for name, date in dates.items():
        yield Fact("profile", "predicted for", f"{name}, measured {date}", name)
    for caveat in dict.fromkeys(caveat for trace in traces for caveat in trace.caveats):
        yield Fact(caveat.key, caveat.label, caveat.text, caveat.text)
    for trace in traces:
        for label in trace.what_if:
            text = (
                f"{trace.trace} was recorded on {label}: errors contain the difference of devices"
            )
            yield Fact("what_if", "what if", text, label)


def _scored_share(trace: TraceAccuracy) -> float:
    """Return the share of the kernels' measured time that is scored."""
    scored_ns = sum(launch.predicted.total_ns for launch in trace.launches)
    return scored_ns / trace.recorded_ns if trace.recorded_ns else 0.0


def _tables(traces: Sequence[TraceAccuracy], top: int | None) -> Iterator[Table]:
    launches = [launch for trace in traces for launch in trace.launches]
    labels = _Labels.of(launches)
    yield from _score_tables(traces, _launch_scores)
    yield from _score_tables(traces, _kernel_scores)
    yield _kernels(launches, top, labels)
    yield _outliers(launches, top, labels)
    yield _parts(launches)
    yield from _score_tables(traces, _transfer_scores)
    yield _unscored(traces, top)


def _score_tables(
    traces: Sequence[TraceAccuracy], make: Callable[[Sequence[TraceAccuracy]], Table]
) -> Iterator[Table]:
    """Yield a table of scores of all traces, then one of each of several, with its name."""
    if len(traces) == 1:
        yield make(traces)
        return
    yield _name(make(traces), ALL_TRACES)
    for trace in traces:
        yield replace(_name(make([trace]), trace.trace), note="")


def _name(table: Table, trace: str) -> Table:
    """Return a table with the name of what it is of, in its title and, for machines, in its rows."""
    return replace(
        table,
        title=f"{table.title}, {trace}",
        columns=[Column("trace", "trace", keep=1), *table.columns],
        rows=[(trace, *row) for row in table.rows],
    )


def _launch_scores(traces: Sequence[TraceAccuracy]) -> Table:
    launches = [launch for trace in traces for launch in trace.launches]
    scores = summarise_errors(evaluate_launches(launches)) if launches else ()
    table = score_table("scores", "Launches", scores, _SCORE_NOTE)
    return replace(_arrange(table), why_empty="no launch could be scored")


def _kernel_scores(traces: Sequence[TraceAccuracy]) -> Table:
    launches = [launch for trace in traces for launch in trace.launches]
    scores = summarise_errors(evaluate_kernels(launches)) if launches else ()
    table = score_table(
        "kernel_scores",
        "Kernels",
        scores,
        "a kernel has the geometric mean of the quotients of its launches, and one weight",
        subject="kernels",
    )
    return _arrange(table, without="coverage")


def _transfer_scores(traces: Sequence[TraceAccuracy]) -> Table:
    transfers = [each for trace in traces for each in trace.transfers]
    table = score_table(
        "transfer_scores",
        "Transfers",
        summarise_transfers(transfers),
        f"sizes of {LONG_BYTES >> 10} KiB or more, the same weight each; short ones: median error of the "
        "others; measured by device stamps, which cover only a part of small transfers",
        first="direction",
        subject="sizes",
    )
    return _arrange(table, _SCORE_KEEP | {"short_error_ns": 99}, without="coverage")


def _arrange(table: Table, keep: Mapping[str, int] = _SCORE_KEEP, without: str = "") -> Table:
    """Return a table of scores with the priorities of its columns, `without` one that is empty."""
    kept = [number for number, column in enumerate(table.columns) if column.key != without]
    columns = [table.columns[number] for number in kept]
    return replace(
        table,
        columns=[replace(each, keep=keep.get(each.key, each.keep)) for each in columns],
        rows=[[row[number] for number in kept] for row in table.rows],
    )


def _kernels(launches: Sequence[ScoredLaunch], top: int | None, labels: _Labels) -> Table:
    """Return the kernels, the largest distance first; those without long launches last."""
    kernels = sorted(by_kernel(launches).values(), key=lambda same: -(_kernel_distance(same) or 0))
    return Table(
        key="kernels",
        title="By kernel",
        columns=(
            *labels.columns,
            Column("kernel", "kernel"),
            Column("source", "source", keep=30),
            Column("launches", "launches", Unit.COUNT, 60),
            Column("calls", "calls", Unit.COUNT, 40),
            Column("total_ns", "time", Unit.NS, 65),
            Column("quotient", "quotient", Unit.PLAIN, 98),
            Column("distance", "distance", Unit.PLAIN, 55),
            Column("max_distance", "worst", Unit.PLAIN, 75),
            Column("coverage", "inside", Unit.SHARE, 72),
            Column("short_error_ns", "short ones", Unit.NS, 70),
        ),
        rows=[(*labels.values(same), *_kernel_row(same)) for same in kernels[:top]],
        note=_note(
            "quotient: geometric mean over its launches; worst: their largest distance; inside: share of "
            "them within the predicted interval",
            len(kernels),
            top,
        ),
    )


def _kernel_row(launches: Sequence[ScoredLaunch]) -> tuple[Value, ...]:
    long = [launch for launch in launches if launch.is_long]
    errors = [
        abs(launch.predicted_ns - launch.measured_ns) for launch in launches if not launch.is_long
    ]
    return (
        launches[0].kernel,
        launches[0].program,
        len(launches),
        sum(launch.predicted.launch.calls for launch in launches),
        round(sum(launch.predicted.total_ns for launch in launches)),
        round_significant(_mean_quotient(long)) if long else None,
        round_significant(_kernel_distance(long) or 1.0) if long else None,
        round_significant(max(launch.distance for launch in long)) if long else None,
        float(mean(not launch.predicted.is_outside for launch in long)) if long else None,
        round(median(errors)) if errors else None,
    )


def _mean_quotient(launches: Sequence[ScoredLaunch]) -> float:
    return geometric_mean(launch.quotient for launch in launches)


def _kernel_distance(launches: Sequence[ScoredLaunch]) -> float | None:
    """Return the distance of a kernel's mean quotient from 1; None without long launches."""
    long = [launch for launch in launches if launch.is_long]
    return max(_mean_quotient(long), 1.0 / _mean_quotient(long)) if long else None


def _outliers(launches: Sequence[ScoredLaunch], top: int | None, labels: _Labels) -> Table:
    """Return the launches that are farthest off, with the part at fault."""
    outliers = sorted(_only_outliers(launches), key=lambda launch: -launch.distance)
    return Table(
        key="outliers",
        title="Outliers",
        columns=(
            *labels.columns,
            Column("kernel", "kernel"),
            Column("global_size", "size", keep=57),
            Column("calls", "calls", Unit.COUNT, 40),
            Column("measured_ns", "measured", Unit.NS, 88),
            Column("predicted_ns", "predicted", Unit.NS, 87),
            Column("quotient", "quotient", Unit.PLAIN, 98),
            Column("part", "part", keep=97),
            Column("factor", "factor", Unit.PLAIN, 96),
            Column("other_parts", "or", keep=35),
            flags_column([each.predicted for each in outliers[:top]], keep=34),
        ),
        rows=[(*labels.values([each]), *_outlier_row(each)) for each in outliers[:top]],
        note=_note(
            f"launches of {SHORT_NS / 1e3:.0f} µs or more, off by a factor of {OUTLIER_DISTANCE:g} or "
            "more; part: the one whose time, changed alone by the factor, makes the prediction right by "
            "the smallest change",
            len(outliers),
            top,
        ),
        why_empty=f"no launch has a distance of {OUTLIER_DISTANCE:g} or more"
        if _has_long(launches)
        else "",
    )


def _outlier_row(launch: ScoredLaunch) -> tuple[Value, ...]:
    first, *others = launch.causes or (None,)
    return (
        launch.kernel,
        launch_size(launch.predicted),
        launch.predicted.launch.calls,
        round(launch.measured_ns),
        round(launch.predicted_ns),
        round_significant(launch.quotient),
        _NO_PART if first is None else first.part,
        None if first is None else round_significant(first.factor),
        ", ".join(f"{each.part} × {three_digit_text(each.factor)}" for each in others if each),
        launch_flags(launch.predicted, is_what_if=False),
    )


def _has_long(launches: Sequence[ScoredLaunch]) -> bool:
    return any(launch.is_long for launch in launches)


def _only_outliers(launches: Sequence[ScoredLaunch]) -> Sequence[ScoredLaunch]:
    return [launch for launch in launches if launch.is_outlier]


def _parts(launches: Sequence[ScoredLaunch]) -> Table:
    """Return the outliers by the part at fault, the part with most kernels first."""
    by_part: dict[str, list[ScoredLaunch]] = {}
    for launch in _only_outliers(launches):
        by_part.setdefault(launch.causes[0].part if launch.causes else _NO_PART, []).append(launch)
    rows: list[tuple[Value, ...]] = [
        (part, len(by_kernel(same)), *_direction_counts(same), *_factors(same))
        for part, same in by_part.items()
    ]
    return Table(
        key="outlier_parts",
        title="Outliers by part",
        columns=(
            Column("part", "part"),
            Column("kernels", "kernels", Unit.COUNT, 99),
            Column("too_short", "too short", Unit.COUNT, 97),
            Column("too_long", "too long", Unit.COUNT, 96),
            Column("min_factor", "min", Unit.PLAIN, 45),
            Column("median_factor", "median factor", Unit.PLAIN, 90),
            Column("max_factor", "max", Unit.PLAIN, 45),
        ),
        rows=sorted(rows, key=lambda row: (-float(row[1] or 0), str(row[0]))),
        note="too short, too long: launches that are predicted so; factor: of the part's time",
    )


def _direction_counts(launches: Sequence[ScoredLaunch]) -> tuple[int, int]:
    """Return the number of launches that are predicted too short, and too long."""
    too_short = sum(launch.quotient < 1.0 for launch in launches)
    return too_short, len(launches) - too_short


def _factors(launches: Sequence[ScoredLaunch]) -> tuple[float | None, float | None, float | None]:
    factors = [launch.causes[0].factor for launch in launches if launch.causes]
    if not factors:
        return None, None, None
    low, middle, high = map(round_significant, (min(factors), median(factors), max(factors)))
    return low, middle, high


def _unscored(traces: Sequence[TraceAccuracy], top: int | None) -> Table:
    """Return the commands that are not scored, those of a kind and reason in one row."""
    calls: Counter[tuple[str, str, str]] = Counter()
    for trace in traces:
        for each in trace.unscored:
            calls[trace.trace, each.command, each.reason] += each.calls
    rows = [(*key, count) for key, count in calls.most_common()]
    return Table(
        key="unscored",
        title="Not scored",
        columns=(
            *([Column("trace", "trace", keep=45)] if len(traces) > 1 else []),
            Column("command", "command"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("why", "why", Unit.PROSE),
        ),
        rows=[
            (*([trace] if len(traces) > 1 else []), command, count, reason)
            for trace, command, reason, count in rows[:top]
        ],
        note=more_note(len(rows), top),
    )


def _note(text: str, count: int, top: int | None) -> str:
    """Return a note with the number of rows that are not shown, if there are any."""
    more = more_note(count, top)
    return f"{text}; {more}" if more else text
