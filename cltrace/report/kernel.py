"""Work of a kernel's launch: cost types, operations, access sites, and its annotated source."""

import math
from collections.abc import Sequence
from typing import Final

from cltrace.kernels.compiler import SOURCE_NAME, RegisterUse, Target
from cltrace.kernels.counts.records import AccessSite, Assumption, Estimate, KernelCounts, LineCount
from cltrace.kernels.demand.cost_types import cost_types
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import Kernel, KernelCode, Program
from cltrace.predict.models.thesis import Thesis
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import sizes_text


def kernel_report(code: KernelCode, counts: KernelCounts, costs: Thesis | None = None) -> Document:
    """Return all counts of a launch; with `costs`, also the times of its cost types on a device."""
    return Document(
        title=f"{counts.kernel} {sizes_text(counts.global_size)} in groups of "
        f"{sizes_text(counts.local_size)}",
        facts=[*_facts(counts), *_occupancy(code, counts)],
        tables=kernel_tables(code, counts, costs),
        notes=[*counts.notes],
    )


def kernel_tables(
    code: KernelCode, counts: KernelCounts, costs: Thesis | None = None
) -> list[Table]:
    """Return the tables of a launch. Without rows they are shown by formats for programs alone."""
    return [
        _cost_types(counts, costs),
        _operations(counts),
        _sites(counts),
        _loops(counts),
        _branches(counts),
        _assumptions(counts.assumptions),
        listing(code, counts),
    ]


def _facts(counts: KernelCounts) -> list[Fact]:
    sample = counts.sample
    executed = (
        "all work-groups"
        if sample.is_whole
        else f"{sample.groups:,} of {counts.groups:,} work-groups, within "
        f"{sample.relative_error:.1%} (standard error)"
    )
    return [
        Fact("work_items", "work-items", f"{counts.work_items:,}", counts.work_items),
        Fact(
            "groups",
            "work-groups",
            f"{counts.groups:,}, of {counts.warps / counts.groups:.3g} warps of "
            f"{counts.machine.warp_width}",
            counts.groups,
        ),
        Fact("executed", "executed", executed, sample.groups),
        Fact(
            "active_lanes",
            "active lanes",
            f"{counts.active_lanes:.1%} of a warp's; {counts.paths:.3g} paths through the kernel per "
            "warp",
            counts.active_lanes,
        ),
        Fact("barriers", "barriers", f"{counts.barriers:.3g} per work-item", counts.barriers),
        Fact(
            "local_bytes",
            "local memory",
            f"{counts.local_bytes:,} B per work-group",
            counts.local_bytes,
        ),
    ]


def _occupancy(code: KernelCode, counts: KernelCounts) -> list[Fact]:
    """Return the registers that the kernel needs on a GPU, and how many work-items fit with them."""
    words = [
        _register_text(target, use) for target, use in code.registers.items() if use is not None
    ]
    if not words or not counts.machine.has_registers:
        return []
    machine, nvidia = counts.machine, code.registers.get(Target.NVIDIA)
    registers = nvidia.per_item + nvidia.spilled if nvidia is not None else 0
    group_items = counts.work_items // counts.groups
    resident_groups = machine.wave_groups(group_items, counts.local_bytes, registers)
    items = resident_groups // machine.compute_units * group_items
    return [
        Fact("registers", "registers", "; ".join(words), registers or None),
        Fact("occupancy", "occupancy", f"{items:,} work-items per compute unit", items),
    ]


def _register_text(target: Target, use: RegisterUse) -> str:
    shared = f" and {use.per_warp} per warp" if use.per_warp else ""
    kind = "" if use.is_allocated else " (live at once)"
    spilled = f", {use.spilled} spilled" if use.spilled else ""
    private = f", {use.private_bytes:,} B in memory" if use.private_bytes else ""
    return f"{target.name} {use.per_item}{kind}{shared}{spilled}{private}"


def _cost_types(counts: KernelCounts, costs: Thesis | None) -> Table:
    columns = (Column("type", "type"), Column("per_item", "per work-item", Unit.PLAIN))
    note = "as in Pöppl 2014; operations as written, reads classed by their actual addresses"
    if costs is None:
        rows = [(row.type.value, _round(row.per_item)) for row in cost_types(counts)]
        return Table(key="cost_types", title="Cost types", columns=columns, rows=rows, note=note)
    parts = costs.parts(counts)
    total = sum(part.time_ns for part in parts)
    timed = [(part.type.value, _round(part.per_item), part.time_ns) for part in parts]
    return Table(
        key="cost_types",
        title="Cost types",
        columns=(*columns, Column("time_ns", "time", Unit.NS)),
        rows=[*timed, ("total", None, total)],
        note=f"{note}; times by its model, fitted to the profile's device",
    )


def _operations(counts: KernelCounts) -> Table:
    written = {(row.type, row.cost): row.per_item for row in counts.written}
    rows: list[tuple[Value, ...]] = [
        (
            row.cost.value,
            row.type,
            _round(row.per_item),
            *_interval(counts, row.total, counts.work_items),
            _round(written.get((row.type, row.cost), 0.0)),
            _round(row.warp_total),
        )
        for row in counts.operations
    ]
    return Table(
        key="operations",
        title="Operations",
        columns=(
            Column("class", "class", keep=100),
            Column("type", "type", keep=90),
            Column("per_item", "per work-item", Unit.PLAIN, 95),
            *_interval_columns(counts, keep=60),
            Column("as_written", "as written", Unit.PLAIN, 70),
            Column("warps", "by warps", Unit.PLAIN, 50),
        ),
        rows=rows,
        note="optimised code; each element of a vector counts",
    )


def _interval_columns(counts: KernelCounts, keep: int) -> tuple[Column, ...]:
    """Return the columns of the interval in which counts are that depend on unknown contents."""
    if not counts.assumptions:
        return ()
    return (
        Column("low", "at least", Unit.PLAIN, keep),
        Column("high", "at most", Unit.PLAIN, keep),
    )


def _interval(counts: KernelCounts, estimate: Estimate, divisor: int = 1) -> tuple[Value, ...]:
    """Return the values of these columns. An unbounded side has none."""
    if not counts.assumptions:
        return ()
    return _round(estimate.low / divisor), _round(estimate.high / divisor)


def _sites(counts: KernelCounts) -> Table:
    has_assumed = any(site.is_assumed for site in counts.sites)
    return Table(
        key="sites",
        title="Memory accesses",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("access", "access", keep=95),
            Column("memory", "of", keep=98),
            Column("space", "space", keep=60),
            Column("per_item", "per item", Unit.PLAIN, 80),
            *_interval_columns(counts, keep=62),
            Column("pattern", "lanes", keep=85),
            Column("sectors_per_request", "sectors", Unit.PLAIN, 90),
            Column("bank_cycles_per_request", "banks", Unit.PLAIN, 88),
            Column("reuse", "reuse", Unit.PLAIN, 65),
            *((Column("addresses", "addresses", keep=40),) if has_assumed else ()),
        ),
        rows=[_site(counts, site, has_assumed=has_assumed) for site in counts.sites],
        note=f"sectors of {counts.machine.sector_bytes} B and bank cycles per access of a warp; "
        "reuse: how often each sector is touched",
    )


def _site(counts: KernelCounts, site: AccessSite, *, has_assumed: bool) -> tuple[Value, ...]:
    requests = max(site.requests.value, 1e-9)
    is_private = site.space == "private"
    return (
        str(site.place),
        f"{site.access.value} {site.element}",
        site.memory,
        site.space,
        _round(site.accesses.value / counts.work_items),
        *_interval(counts, site.accesses, counts.work_items),
        None if is_private else _pattern(site.pattern.value, site.stride_bytes),
        _round(site.sectors.value / requests),
        None if is_private else _round(site.bank_cycles.value / requests),
        None if site.space in {"local", "private"} else _round(site.reuse),
        *(("assumed" if site.is_assumed else "known",) if has_assumed else ()),
    )


def _pattern(name: str, stride: int | None) -> str:
    return f"{name} {stride} B" if name == "strided" and stride is not None else name


def _loops(counts: KernelCounts) -> Table:
    return Table(
        key="loops",
        title="Loops",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("depth", "depth", Unit.COUNT, 60),
            Column("trips", "trips", Unit.PLAIN, 100),
            *_interval_columns(counts, keep=90),
            Column("how", "how known", Unit.PROSE, 80),
        ),
        rows=[
            (
                str(row.place),
                row.depth,
                _round(row.trips.value),
                *_interval(counts, row.trips),
                "assumed"
                if row.is_assumed
                else "executed"
                if not row.extrapolated
                else f"{row.extrapolated:.1%} counted from a sample of trips"
                + ("" if row.is_exact else ", not exactly"),
            )
            for row in counts.loops
        ],
    )


def _branches(counts: KernelCounts) -> Table:
    return Table(
        key="branches",
        title="Branches at which lanes diverge",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("divergent", "warps that split", Unit.SHARE, 90),
            Column("active", "active lanes", Unit.SHARE, 80),
            Column("condition", "condition", keep=70),
        ),
        rows=[
            (
                str(row.place),
                row.divergent_warps / row.warps,
                row.active_lanes,
                "assumed" if row.is_assumed else "known",
            )
            for row in counts.branches
        ],
    )


def _assumptions(assumptions: Sequence[Assumption]) -> Table:
    return Table(
        key="assumptions",
        title="Assumptions",
        columns=(
            Column("place", "where", Unit.PLACE),
            Column("what", "unknown value", Unit.PROSE),
            Column("meaning", "assumed value", Unit.PROSE),
        ),
        rows=[(str(row.place), row.what, row.meaning) for row in assumptions],
        note="record with `cltrace run --capture-buffers` to count with the contents of buffers",
    )


def listing(code: KernelCode, counts: KernelCounts) -> Table:
    """Return the kernel's source line by line, with the counts of each line.

    Short stretches of lines without counts are kept between them.
    """
    counted = {row.line: row for row in counts.lines if row.file in {SOURCE_NAME, ""}}
    lines = code.source.split("\n")
    numbers = [number for number in counted if number <= len(lines)]
    if code.line:
        numbers.append(code.line)
    rows: list[tuple[Value, ...]] = []
    if numbers:
        rows.extend(
            _listing_row(number, lines[number - 1], counted.get(number), counts.work_items)
            for number in _lines_to_show(sorted(set(numbers)), len(lines))
        )
    return Table(
        key="listing",
        title="Source",
        columns=(
            Column("line", "line", Unit.COUNT, 100),
            Column("operations", "ops", Unit.PLAIN, 90),
            Column("accesses", "acc.", Unit.PLAIN, 80),
            Column("sectors", "sectors", Unit.PLAIN, 85),
            Column("divergent", "split", Unit.SHARE, 70),
            Column("source", "source", Unit.CODE, 100),
        ),
        rows=rows,
        note="operations and accesses (acc.) per work-item, sectors per access of a warp, share of warps "
        "that split",
    )


_GAP: Final = 12
"""Longer stretches of lines without counts are left out."""


def _lines_to_show(numbers: Sequence[int], last: int) -> list[int]:
    """Return the numbers of lines, with short stretches between them, and the line after."""
    shown: list[int] = []
    for number in numbers:
        if shown and number - shown[-1] <= _GAP:
            shown.extend(range(shown[-1] + 1, number))
        shown.append(number)
    if shown[-1] < last:
        shown.append(shown[-1] + 1)
    return shown


def _listing_row(number: int, text: str, counts: LineCount | None, items: int) -> tuple[Value, ...]:
    source = text.expandtabs(4).rstrip()
    if counts is None:
        return (number, None, None, None, None, source)
    return (
        number,
        _round(counts.operations / items) if counts.operations else None,
        _round(counts.accesses / items) if counts.accesses else None,
        _round(counts.sectors / counts.requests) if counts.requests else None,
        counts.divergent_warps / counts.branch_warps if counts.branch_warps else None,
        source,
    )


def register_targets(machine: Machine) -> tuple[Target, ...]:
    """Return the GPUs whose registers a report for a machine shows."""
    return tuple(Target) if machine.has_registers else ()


def program_report(program: Program) -> Document:
    """Return the kernels of a program, with their parameters."""
    return Document(
        title="Kernels",
        facts=[],
        tables=[_parameters(kernel) for kernel in program.kernels.values()],
        notes=[],
    )


def _parameters(kernel: Kernel) -> Table:
    return Table(
        key=kernel.name,
        title=f"{kernel.name} ({kernel.file}:{kernel.line})",
        columns=(Column("name", "argument"), Column("type", "type"), Column("space", "memory")),
        rows=[
            (row.name, " ".join([*row.qualifiers, row.type]), row.space or "by value")
            for row in kernel.parameters
        ],
        why_empty="no arguments",
    )


def _round(value: float) -> float | int | None:
    """Return a number with as many digits as it is worth; None for an infinite one."""
    if math.isinf(value):
        return None
    if value == int(value):
        return int(value)
    return float(f"{value:.4g}")
