"""Differences of two traces by kernel and by kind of transfer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.report.activity import TRANSFERS, RollupRow, read_rollup_rows, transfer_name
from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.page.renamed_kernels import Rename, RenameReason
from cltrace.report.quantities import round_significant
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class _Times:
    """Times of all commands of a name on their devices; `None` where none was timed."""

    calls: int
    total_ns: int | None
    median_ns: float | None


_ABSENT = _Times(0, None, None)


def difference_tables(first: Trace, second: Trace, renames: Sequence[Rename] = ()) -> list[Table]:
    """Return kernels and transfers of both traces, those whose total changed most first.

    Kernels that were renamed have one row with both names.
    """
    sides = [read_rollup_rows(trace, "kernel") for trace in (first, second)]
    names = [
        {each.before: each.text for each in renames},
        {each.after: each.text for each in renames},
    ]
    kernels = [
        _by_name([(own.get(row.label, row.label), row) for row in rows if row.activity == "kernel"])
        for own, rows in zip(names, sides, strict=True)
    ]
    reasons = {each.text: each.reason for each in renames}
    transfers = [
        _by_name([(transfer_name(row.activity), row) for row in rows if row.activity in TRANSFERS])
        for rows in sides
    ]
    return [
        _difference_table(("kernel_differences", "Kernels", "kernel"), kernels, reasons),
        _difference_table(("transfer_differences", "Transfers", "transfer"), transfers, {}),
    ]


def _by_name(rows: Sequence[tuple[str, RollupRow]]) -> Mapping[str, _Times]:
    """Return the times by name. Of several groups of a name the largest has the median."""
    groups: dict[str, list[RollupRow]] = {}
    for name, row in rows:
        groups.setdefault(name or "(not known)", []).append(row)
    return {name: _sum_of(members) for name, members in groups.items()}


def _sum_of(rows: Sequence[RollupRow]) -> _Times:
    rollups = [row.rollup for row in rows]
    timed = [rollup for rollup in rollups if rollup.timed_calls]
    largest = max(timed, key=lambda rollup: rollup.timed_calls, default=None)
    return _Times(
        sum(rollup.calls for rollup in rollups),
        sum(rollup.total_ns for rollup in timed) if timed else None,
        None if largest is None else largest.median_ns,
    )


def _difference_table(
    titles: tuple[str, str, str],
    both: Sequence[Mapping[str, _Times]],
    reasons: Mapping[str, RenameReason],
) -> Table:
    """Return the table of the differences. `titles` are its key, its title, and that of the names.

    `reasons` say why a kernel is taken for a renamed one.
    """
    key, title, header = titles
    first, second = both
    sides = {
        name: (first.get(name, _ABSENT), second.get(name, _ABSENT))
        for name in dict.fromkeys([*first, *second])
    }
    ordered = sorted(sides.items(), key=lambda item: (-abs(_change_ns(*item[1]) or 0), item[0]))
    return Table(
        key=key,
        title=title,
        columns=(
            Column("name", header),
            Column("in", "in"),
            Column("calls_a", "calls A", Unit.COUNT),
            Column("calls_b", "calls B", Unit.COUNT),
            Column("total_a_ns", "total A", Unit.NS),
            Column("total_b_ns", "total B", Unit.NS),
            Column("total_change_ns", "change", Unit.NS),
            Column("total_ratio", "total B/A", Unit.PLAIN),
            Column("median_a_ns", "median A", Unit.NS),
            Column("median_b_ns", "median B", Unit.NS),
            Column("median_ratio", "median B/A", Unit.PLAIN),
        ),
        rows=[_row(name, *times, reasons.get(name)) for name, times in ordered],
        why_empty=f"neither trace has a {header}",
    )


def _change_ns(first: _Times, second: _Times) -> int | None:
    """Return the change of the total time; `None` where a trace has the commands without their times."""
    before, after = (0 if not times.calls else times.total_ns for times in (first, second))
    return None if before is None or after is None else after - before


def _row(
    name: str, first: _Times, second: _Times, reason: RenameReason | None
) -> tuple[Value, ...]:
    only = "A only" if first.calls else "B only"
    both = "both" if reason is None else f"renamed, {reason}"
    return (
        name,
        both if first.calls and second.calls else only,
        first.calls,
        second.calls,
        first.total_ns,
        second.total_ns,
        _change_ns(first, second),
        _ratio(first.total_ns, second.total_ns),
        first.median_ns,
        second.median_ns,
        _ratio(first.median_ns, second.median_ns),
    )


def _ratio(before: float | None, after: float | None) -> float | None:
    return round_significant(after / before) if before and after is not None else None
