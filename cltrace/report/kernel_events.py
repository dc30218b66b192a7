"""Events inside a launch: streams of branches, proxy warps, accesses of warps, races and barriers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.kernels.events.branch_counts import DecisionCount, can_replay, count_branches
from cltrace.kernels.events.named_lines import named_lines
from cltrace.kernels.events.proxy_warps import (
    ProxyWarp,
    StreamShare,
    active_lanes,
    find_proxy_warps,
    stream_histogram,
)
from cltrace.kernels.events.races import (
    DivergingBarrier,
    Race,
    find_diverging_barriers,
    find_races,
)
from cltrace.kernels.events.records import Decision, EventSite, LaunchEvents
from cltrace.kernels.events.warp_accesses import SiteAccesses, find_warp_accesses
from cltrace.report.document import Column, Document, Fact, Table, Unit
from cltrace.report.quantities import more_note, sizes_text

_SHOWN_BITS: Final = 64
_SHOWN_SHARES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAnalysis:
    """Events of a launch with all that is derived from them."""

    events: LaunchEvents
    streams: Sequence[StreamShare]
    proxies: Sequence[ProxyWarp]
    branches: Sequence[DecisionCount]
    accesses: Sequence[SiteAccesses]
    races: Sequence[Race]
    incomplete: tuple[str, ...]
    barriers: Sequence[DivergingBarrier]


def analyse_events(events: LaunchEvents) -> EventAnalysis:
    """Return what the events of a launch say about its branches and its memory."""
    proxies = find_proxy_warps(events)
    search = find_races(events)
    return EventAnalysis(
        events=events,
        streams=stream_histogram(events),
        proxies=proxies,
        branches=count_branches(events, proxies),
        accesses=find_warp_accesses(events),
        races=search.races,
        incomplete=search.incomplete,
        barriers=find_diverging_barriers(events) if events.dropped.has_whole_items else (),
    )


def events_report(
    analysis: EventAnalysis, second: EventAnalysis | None = None, *, top: int | None
) -> Document:
    """Return a report of the events of a launch, with what tells it from a second one.

    Its tables have at most `top` rows, None for all.
    """
    head = events_head(analysis)
    return replace(
        head,
        tables=[
            *([] if second is None else [_versions(analysis, second)]),
            _races(analysis),
            _barriers(analysis),
            _proxies(analysis, top),
            _streams(analysis, top),
            _decisions(analysis),
            _accesses(analysis),
        ],
    )


def events_head(analysis: EventAnalysis) -> Document:
    """Return the report of the events of a launch without its tables."""
    events = analysis.events
    return Document(
        title=f"Inside {events.kernel} {sizes_text(events.global_size)} in groups of "
        f"{sizes_text(events.local_size)}",
        facts=_facts(analysis),
        tables=[],
        notes=[*events.notes, *_dropped_notes(events), *_search_notes(analysis)],
    )


def compare_events(first: EventAnalysis, second: EventAnalysis) -> Sequence[tuple[str, str, str]]:
    """Return rows of what tells two launches apart: a label, and the text for each."""
    sides = [_summary(first), _summary(second)]
    return [(label, sides[0][label], sides[1][label]) for label in sides[0]]


def _versions(first: EventAnalysis, second: EventAnalysis) -> Table:
    return Table(
        key="versions",
        title="Two versions: A, of this report, and B",
        columns=(Column("quantity", "of", keep=100), Column("a", "A"), Column("b", "B")),
        rows=compare_events(first, second),
    )


def _summary(analysis: EventAnalysis) -> Mapping[str, str]:
    events = analysis.events
    divergent = sum(len(proxy.warps) for proxy in analysis.proxies if proxy.is_divergent)
    is_local = [
        any(number >= 0 and events.memories[number].space == "local" for number in row.memories)
        for row in analysis.accesses
    ]
    rows = list(zip(analysis.accesses, is_local, strict=True))
    rounds = [(int(row.bank_cycles.sum()), row.requests) for row, local in rows if local]
    sectors = sum(int(row.sectors.sum()) for row, local in rows if not local and not row.is_private)
    requests = sum(requests for _, requests in rounds)
    per_access = sum(cycles for cycles, _ in rounds) / requests if requests else 0.0
    issued = sum(proxy.issued_operations for proxy in analysis.proxies)
    return {
        "divergence": f"{divergent:,} of {len(events.warp_operations):,} warps",
        "ways": f"{len(analysis.streams):,}",
        "active lanes": f"{active_lanes(analysis.proxies):.1%}",
        "operations of warps": f"{issued // events.machine.warp_width:,}",
        "sectors of global memory": f"{sectors:,}",
        "rounds per access of local memory": f"{per_access:.3g}" if requests else "–",
        "data races": f"{len(races_by_line(analysis)):,}",
        "diverging barriers": f"{len(analysis.barriers):,}",
    }


def stream_texts(events: LaunchEvents, shares: Sequence[StreamShare]) -> Sequence[str]:
    """Return streams as digits, cut where they are long."""
    nodes = np.asarray([share.node for share in shares], np.int64)
    digits = events.streams.texts(nodes, _SHOWN_BITS)
    is_cut = events.streams.length[nodes] > _SHOWN_BITS
    return [
        text + ("…" if cut else "") or "no condition"
        for text, cut in zip(digits, is_cut, strict=True)
    ]


def place_text(events: LaunchEvents, site: EventSite | Decision) -> str:
    """Return the place of an access, barrier or decision, as the program names it."""
    file, line = named_lines(events.source).place(site.file, site.line)
    return f"{file}:{line}"


def _facts(analysis: EventAnalysis) -> list[Fact]:
    events = analysis.events
    warps = len(events.warp_operations)
    divergent = sum(len(proxy.warps) for proxy in analysis.proxies if proxy.is_divergent)
    recorded, groups = events.recorded_groups, events.groups
    executed = "all" if recorded == groups else f"{recorded:,} of {groups:,}, spread evenly"
    share = active_lanes(analysis.proxies)
    return [
        Fact("groups", "work-groups", executed, recorded),
        Fact("work_items", "work-items", f"{len(events.items.item):,}", len(events.items.item)),
        Fact("code", "code", f"as {events.form.value}", events.form.value),
        *([Fact("device", "executed on", events.device, events.device)] if events.device else []),
        Fact(
            "divergent_warps",
            "divergence",
            f"{divergent:,} of {warps:,} warps diverge, in {len(analysis.streams):,} patterns",
            divergent,
        ),
        Fact("active_lanes", "active lanes", f"{share:.1%} of lanes", share),
        Fact(
            "accesses",
            "accesses",
            f"{len(events.accesses.row):,} events of memory, barriers included",
            len(events.accesses.row),
        ),
    ]


def _dropped_notes(events: LaunchEvents) -> Iterator[str]:
    dropped = events.dropped
    if dropped.stopped_items:
        items = f"{dropped.stopped_items:,} work-items"
        yield f"{items} were stopped before their end, in long loops: barriers are not judged"
    if dropped.accesses:
        yield (
            f"{dropped.accesses:,} events of memory were not recorded: --max-events raises the limit, "
            "--watch records less. Races may be missing, barriers are not judged"
        )
    if dropped.bits:
        yield (
            f"{dropped.bits:,} evaluations of conditions were not recorded: --max-events raises the limit"
        )


def _search_notes(analysis: EventAnalysis) -> Iterator[str]:
    events = analysis.events
    if analysis.incomplete:
        yield f"not all accesses of {', '.join(analysis.incomplete)} were looked at for races"
    if not can_replay(events):
        yield "the streams are too long for the evaluations of conditions by warps to be counted"
    if events.recorded_groups < events.groups:
        yield "races with work-groups that were not recorded are not seen"


def _share(part: int, total: int) -> float | None:
    return part / total if total else None


def _races(analysis: EventAnalysis) -> Table:
    events = analysis.events
    return Table(
        key="races",
        title="Data races",
        columns=(
            Column("place", "written at", Unit.PLACE, 100),
            Column("other_place", "and accessed at", Unit.PLACE, 100),
            Column("memory", "of", keep=95),
            Column("locations", "places", Unit.COUNT, 80),
            Column("example", "for example", Unit.PROSE, 90),
        ),
        rows=[
            (
                *(place_text(events, events.sites[number]) for number in race.sites),
                events.memories[race.memory].name,
                race.locations,
                _race_example(events, race),
            )
            for race in races_by_line(analysis)
        ],
    )


def races_by_line(analysis: EventAnalysis) -> Sequence[Race]:
    """Return a race for each pair of lines: the places of several accesses of a line are added up."""
    events = analysis.events
    by_lines: dict[tuple[str, str, int, bool], Race] = {}
    for race in analysis.races:
        first, second = (place_text(events, events.sites[number]) for number in race.sites)
        key = (first, second, race.memory, race.is_within_group)
        earlier = by_lines.get(key)
        locations = race.locations + (earlier.locations if earlier is not None else 0)
        by_lines[key] = replace(earlier or race, locations=locations)
    return list(by_lines.values())


def _race_example(events: LaunchEvents, race: Race) -> str:
    scope = "of one work-group" if race.is_within_group else "of different work-groups"
    between = "no barrier of its memory" if race.has_barrier else "nothing"
    is_assumed = any(events.sites[number].is_assumed for number in race.sites)
    kinds = [events.sites[number].kind.label for number in race.sites]
    return (
        f"work-items {race.items[0]:,} and {race.items[1]:,} {scope}: a {kinds[0]} and a {kinds[1]} of "
        f"byte {race.offset_bytes:,}, with {between} between that orders them"
        + ("; its place is assumed" if is_assumed else "")
    )


def _barriers(analysis: EventAnalysis) -> Table:
    events = analysis.events
    return Table(
        key="barriers",
        title="Barriers that not all work-items reach",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("groups", "work-groups", Unit.COUNT, 80),
            Column("example", "for example", Unit.PROSE, 90),
        ),
        rows=[
            (
                place_text(events, events.sites[barrier.site]),
                barrier.groups,
                f"{barrier.arrived:,} of {barrier.items:,} work-items of work-group {barrier.group:,}",
            )
            for barrier in analysis.barriers
        ],
    )


def _proxies(analysis: EventAnalysis, top: int | None) -> Table:
    issued = sum(proxy.issued_operations for proxy in analysis.proxies)
    return Table(
        key="proxy_warps",
        title="Warps with the same branches",
        columns=(
            Column("warps", "warps", Unit.COUNT, 100),
            Column("patterns", "patterns", Unit.COUNT, 100),
            Column("lanes", "lanes by pattern", keep=80),
            Column("active_lanes", "active lanes", Unit.SHARE, 95),
            Column("issued", "of all operations", Unit.SHARE, 90),
        ),
        rows=[
            (
                len(proxy.warps),
                len(proxy.shares),
                _lanes(proxy),
                proxy.active_lanes,
                _share(proxy.issued_operations, issued),
            )
            for proxy in analysis.proxies[:top]
        ],
        note=more_note(len(analysis.proxies), top),
    )


def _lanes(proxy: ProxyWarp) -> str:
    counts = [f"{share.items}" for share in proxy.shares[:_SHOWN_SHARES]]
    return " + ".join(counts) + (" + …" if len(proxy.shares) > _SHOWN_SHARES else "")


def _streams(analysis: EventAnalysis, top: int | None) -> Table:
    events = analysis.events
    items, shares = len(events.items.item), analysis.streams[:top]
    return Table(
        key="streams",
        title="Branches of work-items",
        columns=(
            Column("items", "work-items", Unit.COUNT, 100),
            Column("share", "of all", Unit.SHARE, 90),
            Column("evaluations", "conditions", Unit.COUNT, 85),
            Column("stream", "1 true, 0 false", keep=80),
        ),
        rows=[
            (
                share.items,
                _share(share.items, items),
                int(events.streams.length[share.node]),
                text,
            )
            for share, text in zip(shares, stream_texts(events, shares), strict=True)
        ],
        note=more_note(len(analysis.streams), top),
    )


def _decisions(analysis: EventAnalysis) -> Table:
    decisions = analysis.events.decisions
    rows = []
    for row in analysis.branches:
        decision = decisions[row.decision]
        rows.append(
            (
                place_text(analysis.events, decision),
                decision.column,
                decision.kind.value,
                _share(row.true_items, row.items),
                row.warps,
                _share(row.divergent_warps, row.warps),
            )
        )
    return Table(
        key="decisions",
        title="Conditions",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("column", "column", Unit.COUNT, 50),
            Column("kind", "kind", keep=70),
            Column("true", "true", Unit.SHARE, 90),
            Column("warps", "evaluations by warps", Unit.COUNT, 80),
            Column("divergent", "of them split", Unit.SHARE, 95),
        ),
        rows=rows,
    )


def _accesses(analysis: EventAnalysis) -> Table:
    events = analysis.events
    rows = []
    for row in analysis.accesses:
        site = events.sites[row.site]
        names = (events.memories[number].name for number in row.memories if number >= 0)
        rows.append(
            (
                place_text(events, site),
                f"{site.kind.label} {site.element}",
                ", ".join(names) or "outside of all objects",
                row.accesses,
                row.requests,
                round(float(np.mean(row.sectors)), 3),
                round(float(np.mean(row.bank_cycles)), 3),
            )
        )
    return Table(
        key="accesses",
        title="Accesses of memory",
        columns=(
            Column("place", "where", Unit.PLACE, 100),
            Column("access", "access", keep=90),
            Column("memory", "of", keep=95),
            Column("accesses", "by work-items", Unit.COUNT, 70),
            Column("requests", "by warps", Unit.COUNT, 80),
            Column("sectors_per_request", "sectors", Unit.PLAIN, 92),
            Column("bank_cycles_per_request", "banks", Unit.PLAIN, 92),
        ),
        rows=rows,
        note="sectors and rounds of the banks per access of a warp",
    )
