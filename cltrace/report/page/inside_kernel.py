"""Events inside a launch as one page: branches, memory and source, linked with each other."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.events.annotations import Chart
from cltrace.kernels.events.decisions import decode_stream
from cltrace.kernels.events.named_lines import named_lines
from cltrace.kernels.events.proxy_warps import ProxyWarp, StreamShare
from cltrace.kernels.events.records import AccessTable, EventKind, LaunchEvents
from cltrace.report.kernel_events import (
    EventAnalysis,
    compare_events,
    events_head,
    place_text,
    races_by_line,
)
from cltrace.report.page.assembly import INSIDE_PAGE, assemble_page, assemble_pair
from cltrace.report.page.columns import pack_columns
from cltrace.report.page.inside_pictures import find_pictures
from cltrace.report.page.inside_tree import tree_values
from cltrace.report.untrusted_text import escape_controls

_MAX_STREAMS: Final = 250
"""Streams with a bar of their own; the others share one."""
_MAX_PROXIES: Final = 60
_MAX_BITS: Final = 2_000
"""Digits of a stream that the page has."""
_MAX_EVENTS: Final = 150_000
"""Events of memory of the work-groups that the page shows, beyond those of the first one."""
_MAX_FIRST_EVENTS: Final = 600_000
_MAX_VALUES: Final = 50_000
_MAX_EPOCHS: Final = 1_000


def render_inside_page(analysis: EventAnalysis) -> str:
    """Return the page of a launch's events."""
    events = analysis.events
    shown, shown_groups = _shown_events(events)
    shown_values = _shown_values(events, shown_groups)
    streams = analysis.streams[:_MAX_STREAMS]
    pictures = find_pictures(events)
    columns = pack_columns(
        {
            "item": events.items.item,
            "group": events.items.group,
            "warp": events.items.warp,
            "stream": _stream_numbers(events, streams),
            "proxy": _proxy_numbers(analysis),
            **pictures.columns,
            **{f"value_{name}": column for name, column in shown_values.columns.items()},
            **{f"event_{name}": column for name, column in _columns(shown).items()},
        }
    )
    report = {
        **_head(analysis),
        **_branches(analysis),
        **_memory(analysis),
        **_launch(events),
        "values": shown_values.numbers,
        "pictures": pictures.values,
        "shown_groups": shown_groups.tolist(),
        "columns": [asdict(layout) for layout in columns.layouts],
    }
    title = escape_controls(f"inside {events.kernel} – cltrace")
    return assemble_page(title, report, columns.data, INSIDE_PAGE)


def _head(analysis: EventAnalysis) -> Mapping[str, Any]:
    """Return the title, facts, notes and source."""
    document = events_head(analysis)
    return {
        "title": escape_controls(document.title),
        "facts": [
            {"label": fact.label, "text": escape_controls(fact.text)} for fact in document.facts
        ],
        "notes": [escape_controls(note) for note in document.notes],
        "source": [escape_controls(line) for line in _lines(analysis.events.source)],
        "line_names": _line_names(analysis.events.source),
    }


def _lines(source: str) -> Sequence[str]:
    """Return the lines as the compiler counts them, with blanks in place of tabs."""
    lines = [line.expandtabs(4) for line in source.replace("\r\n", "\n").split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _line_names(source: str) -> Sequence[tuple[str, int]]:
    """Return the file, "" for the source itself, and the number by which each line is named.

    There are none without `#line` directives.
    """
    names = named_lines(source)
    if not names.has_names:
        return []
    places = (names.place(SOURCE_NAME, line) for line in range(1, len(_lines(source)) + 1))
    return [("" if file == SOURCE_NAME else escape_controls(file), line) for file, line in places]


def _own_line(file: str, line: int) -> int:
    """Return a line of the program's own source, 0 for one of another file."""
    return line if file == SOURCE_NAME else 0


def _branches(analysis: EventAnalysis) -> Mapping[str, Any]:
    """Return the decisions, the streams and the proxy warps."""
    events, streams = analysis.events, analysis.streams[:_MAX_STREAMS]
    numbers = {share.node: number for number, share in enumerate(streams)}
    return {
        "begin": asdict(events.begin),
        "decisions": [
            {**asdict(item), "line": _own_line(item.file, item.line)} for item in events.decisions
        ],
        "streams": [_stream(events, share) for share in streams],
        "stream_count": len(analysis.streams),
        "proxies": [_proxy(proxy, numbers) for proxy in analysis.proxies[:_MAX_PROXIES]],
        "proxy_count": len(analysis.proxies),
        "tree": tree_values(analysis),
    }


def _memory(analysis: EventAnalysis) -> Mapping[str, Any]:
    """Return the sites, memory objects, epochs and faults."""
    events = analysis.events
    return {
        "sites": [
            {
                "line": _own_line(site.file, site.line),
                "place": escape_controls(place_text(events, site).removeprefix(f"{SOURCE_NAME}:")),
                "kind": site.kind.label,
                "element": escape_controls(site.element),
                "bytes": site.access_bytes,
            }
            for site in events.sites
        ],
        "memories": [
            {
                "name": escape_controls(memory.name),
                "space": escape_controls(memory.space),
                "bytes": memory.size_bytes,
            }
            for memory in events.memories
        ],
        "emissions": [
            {"name": escape_controls(emission.name), "line": emission.line}
            for emission in events.emissions
        ],
        "bindings": [
            {"chart": binding.chart.value, "names": [*map(escape_controls, binding.names)]}
            for binding in events.bindings
            if binding.chart is not Chart.IMAGE
        ],
        "epochs": _epochs(events),
        "races": _races(analysis),
        "barriers": [asdict(barrier) for barrier in analysis.barriers],
    }


def _launch(events: LaunchEvents) -> Mapping[str, Any]:
    """Return the sizes of the launch and of the device's parts."""
    return {
        "groups": events.recorded_groups,
        "global_size": events.global_size,
        "local_size": events.local_size,
        "banks": events.machine.banks,
        "bank_bytes": events.machine.bank_bytes,
        "sector_bytes": events.machine.sector_bytes,
    }


def render_inside_pair(first: EventAnalysis, second: EventAnalysis) -> str:
    """Return a page of the events of two launches side by side, with what tells them apart."""
    return assemble_pair(
        escape_controls(f"inside {first.events.kernel}, A and B – cltrace"),
        [
            (label, escape_controls(left), escape_controls(right))
            for label, left, right in compare_events(first, second)
        ],
        (render_inside_page(first), render_inside_page(second)),
        INSIDE_PAGE,
    )


def _columns(accesses: AccessTable) -> Mapping[str, NDArray[np.int64]]:
    return {
        "row": accesses.row,
        "site": accesses.site,
        "memory": accesses.memory,
        "offset": accesses.offset_bytes,
        "epoch": accesses.epoch,
        "step": accesses.step,
    }


@dataclass(frozen=True, slots=True)
class _ShownValues:
    """Emitted values of the work-groups that the page shows; numbers that are not finite are None."""

    columns: Mapping[str, NDArray[np.int64]]
    numbers: Sequence[float | None]


def _shown_values(events: LaunchEvents, groups: NDArray[np.int64]) -> _ShownValues:
    values = events.values
    positions = np.flatnonzero(np.isin(events.items.group[values.row], groups))[:_MAX_VALUES]
    columns = {"row": values.row, "emission": values.emission, "index": values.index}
    numbers = values.value[positions].astype(object)
    numbers[~np.isfinite(values.value[positions])] = None
    return _ShownValues(
        {name: column[positions] for name, column in columns.items()},
        numbers.tolist(),
    )


def _stream_numbers(events: LaunchEvents, streams: Sequence[StreamShare]) -> NDArray[np.int64]:
    """Return the position of each work-item's stream among those shown, -1 for the others."""
    numbers = np.full(len(events.streams.parent), -1, np.int64)
    numbers[[share.node for share in streams]] = np.arange(len(streams))
    return numbers[events.items.stream]


def _proxy_numbers(analysis: EventAnalysis) -> NDArray[np.int64]:
    """Return the position of each work-item's proxy warp among those shown, -1 for the others."""
    events = analysis.events
    numbers = np.full(len(events.warp_operations), -1, np.int64)
    for number, proxy in enumerate(analysis.proxies[:_MAX_PROXIES]):
        numbers[proxy.warps] = number
    return numbers[events.items.warp]


def _stream(events: LaunchEvents, share: StreamShare) -> Mapping[str, Any]:
    """Return a stream with the lines that run and how often each condition is true and false."""
    bits = events.streams.bits(share.node)
    path = decode_stream(events.begin, events.decisions, bits)
    lines = set(events.begin.lines)
    outcomes: dict[int, list[int]] = {}
    for number, bit in path:
        outcomes.setdefault(number, [0, 0])[bit] += 1
        lines.update(events.decisions[number].after(bit).lines)
    return {
        "items": share.items,
        "length": len(bits),
        "bits": "".join(map(str, bits[:_MAX_BITS].tolist())),
        "lines": sorted(lines),
        "outcomes": [[number, *counts] for number, counts in outcomes.items()],
    }


def _proxy(proxy: ProxyWarp, numbers: Mapping[int, int]) -> Mapping[str, Any]:
    return {
        "warps": len(proxy.warps),
        "shares": [[numbers.get(share.node, -1), share.items] for share in proxy.shares],
        "issued": proxy.issued_operations,
        "active": proxy.active_operations,
    }


def _shown_events(events: LaunchEvents) -> tuple[AccessTable, NDArray[np.int64]]:
    """Return the events of the first recorded work-groups, and the numbers of these groups."""
    accesses = events.accesses
    group = events.items.group[accesses.row]
    numbers, position = np.unique(events.items.group, return_inverse=True)
    counts = np.maximum(np.bincount(position[accesses.row], minlength=len(numbers)), 1)
    count = max(int(np.searchsorted(np.cumsum(counts), _MAX_EVENTS, "right")), 1)
    chosen = numbers[:count]
    positions = np.flatnonzero(np.isin(group, chosen))[:_MAX_FIRST_EVENTS]
    columns = (column[positions] for column in _columns(accesses).values())
    return AccessTable(*columns), chosen


def _epochs(events: LaunchEvents) -> Sequence[Sequence[int]]:
    """Return reads, writes, atomic operations and barriers of each epoch, over all work-items."""
    accesses = events.accesses
    if not len(accesses.row):
        return []
    kinds = np.asarray([min(site.kind, EventKind.LOCAL_BARRIER) for site in events.sites], np.int64)
    epochs = int(accesses.epoch.max()) + 1
    counts = np.bincount(accesses.epoch * 4 + kinds[accesses.site], minlength=4 * epochs)
    rows: list[list[int]] = counts.reshape(-1, 4)[:_MAX_EPOCHS].tolist()
    return rows


def _races(analysis: EventAnalysis) -> Sequence[Mapping[str, Any]]:
    return [
        {
            "has_barrier": race.has_barrier,
            "sites": race.sites,
            "memory": race.memory,
            "locations": race.locations,
            "items": race.items,
            "offset": race.offset_bytes,
            "is_within_group": race.is_within_group,
        }
        for race in races_by_line(analysis)
    ]
