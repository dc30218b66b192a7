"""Events inside launches: streams, proxy warps, accesses, races and barriers, against known numbers."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from cltrace.kernels import (
    BufferArgument,
    Sampling,
    Trips,
    count,
)
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.records import AccessSite, BranchSite
from cltrace.kernels.events.branch_counts import count_branches
from cltrace.kernels.events.capture import EventLimits, record_events
from cltrace.kernels.events.proxy_warps import active_lanes, find_proxy_warps, stream_histogram
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import DecisionKind, EventKind, EventSite, LaunchEvents
from cltrace.kernels.events.warp_accesses import find_warp_accesses
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.inside import inside_program, proxies_of, record_sum, record_tile
from tests.kernels.launches import arguments_of, local_size_of, program_of

WHOLE = Sampling(min_groups=1 << 20, max_groups=1 << 20, target_steps=1 << 40, trips=Trips.ALL)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("sum_by_modulo", (32, 32, 32)),
        ("sum_by_stride", (16, 8, 4)),
        ("sum_by_halves", (16, 8, 4)),
    ],
)
def test_warps_of_the_reductions_diverge_as_counted_by_hand(
    kernel: str, expected: Sequence[int]
) -> None:
    for group, divergent in zip((64, 128, 256), expected, strict=True):
        proxies = find_proxy_warps(record_sum(kernel, group))
        assert sum(len(proxy.warps) for proxy in proxies if proxy.is_divergent) == divergent


@pytest.mark.parametrize(
    ("kernel", "at_64", "at_128"),
    [
        ("sum_by_modulo", [(16, 6), (16, 6)], [(16, 6), (8, 6), (8, 6)]),
        ("sum_by_stride", [(16, 6), (16, 1)], [(8, 6), (16, 1), (8, 1)]),
        ("sum_by_halves", [(16, 6), (16, 1)], [(8, 6), (16, 1), (8, 1)]),
    ],
)
def test_proxy_warps_of_the_reductions(
    kernel: str, at_64: list[tuple[int, int]], at_128: list[tuple[int, int]]
) -> None:
    assert proxies_of(record_sum(kernel, 64)) == at_64
    assert proxies_of(record_sum(kernel, 128)) == at_128


@pytest.mark.parametrize(
    ("kernel", "at_64", "at_128"),
    [("sum_by_modulo", 1, 1), ("sum_by_stride", 11 / 6, 2.875), ("sum_by_halves", 1, 1)],
)
def test_banks_of_the_reductions_take_as_many_rounds_as_they_have_conflicts(
    kernel: str, at_64: float, at_128: float
) -> None:
    for group, rounds in ((64, at_64), (128, at_128)):
        events = record_sum(kernel, group)
        (sums,) = (n for n, memory in enumerate(events.memories) if memory.name == "sums")
        loop_line = max(
            events.sites[row.site].line
            for row in find_warp_accesses(events)
            if row.requests > 32 and row.memories == (sums,)
        )
        for row in find_warp_accesses(events):
            if events.sites[row.site].line == loop_line and row.memories == (sums,):
                assert row.bank_cycles.mean() == pytest.approx(rounds)


@pytest.mark.parametrize(
    ("columns", "main_items", "largest"),
    [
        (4, 7_936, [(1860, 6)]),
        (8, 11_904, [(960, 3), (900, 6)]),
        (16, 13_888, [(1344, 3), (420, 3)]),
        (32, 14_880, [(1152, 3), (372, 3)]),
    ],
)
def test_loads_of_a_stencil_take_twenty_paths(
    columns: int, main_items: int, largest: list[tuple[int, int]]
) -> None:
    events = record_tile(columns)
    streams = {
        "".join(map(str, events.streams.bits(share.node))): share.items
        for share in stream_histogram(events)
    }
    assert len(streams) == 20
    assert streams["111001"] == main_items
    assert proxies_of(events)[: len(largest)] == largest


@pytest.mark.parametrize(
    ("kernel", "sectors"),
    [("in_order", 4), ("out_of_order", 4), ("misaligned", 5), ("every_second", 8)],
)
def test_sectors_of_the_textbook_accesses(kernel: str, sectors: int) -> None:
    contents = np.zeros(256, np.float32)
    arguments = [BufferArgument(1024, contents), BufferArgument(1024, contents)]
    events = record_events(KernelLaunch(inside_program(), kernel, (32,), (32,), arguments))
    reads = [
        row for row in find_warp_accesses(events) if events.sites[row.site].kind is EventKind.READ
    ]
    assert [row.sectors.tolist() for row in reads] == [[sectors]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_events_give_the_counts_exactly(case: Case) -> None:
    program, local_size, arguments = program_of(case), local_size_of(case), arguments_of(case)
    launch = (program, case.kernel, case.global_size, local_size, arguments)
    counts = count(*launch, sample=WHOLE, forms=())
    events = record_events(
        KernelLaunch(*launch),
        EventSelection(form=CodeForm.OPTIMISED),
        limits=EventLimits(max_events=1 << 40),
    )
    proxies = find_proxy_warps(events)
    assert active_lanes(proxies) == pytest.approx(counts.active_lanes, abs=1e-12)
    assert sum(len(proxy.warps) for proxy in proxies) == counts.warps
    assert_same_accesses(events, counts.sites)
    assert_same_branches(events, counts.branches)


def assert_same_accesses(events: LaunchEvents, sites: Sequence[AccessSite]) -> None:
    rows = find_warp_accesses(events)
    # The counts of a site that accesses private memory as well do not tell its accesses apart.
    mixed = {row.site for row in rows if row.is_private} & {
        row.site for row in rows if not row.is_private
    }
    skipped = {place_of(events.sites[number]) for number in mixed}
    measured: Counter[tuple[object, ...]] = Counter()
    expected: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        site = events.sites[row.site]
        key = (*place_of(site), site.kind.label, site.access_bytes)
        measured[*key, "accesses"] += row.accesses
        if not row.is_private and place_of(site) not in skipped:
            measured[*key, "requests"] += row.requests
            measured[*key, "sectors"] += int(row.sectors.sum())
            measured[*key, "bank cycles"] += int(row.bank_cycles.sum()) * (site.access_bytes <= 4)
    for counted in sites:
        place = (counted.place.line, counted.place.column)
        key = (*place, counted.access.value, counted.access_bytes)
        expected[*key, "accesses"] += round(counted.accesses.value)
        if counted.space != "private" and place not in skipped:
            expected[*key, "requests"] += round(counted.requests.value)
            expected[*key, "sectors"] += round(counted.sectors.value)
            cycles = round(counted.bank_cycles.value)
            expected[*key, "bank cycles"] += cycles * (counted.access_bytes <= 4)
    assert +measured == +expected


def place_of(site: EventSite) -> tuple[int, int]:
    return site.line, site.column


def assert_same_branches(events: LaunchEvents, branches: Sequence[BranchSite]) -> None:
    cases = {
        (item.line, item.column) for item in events.decisions if item.kind is DecisionKind.CASE
    }
    measured: Counter[tuple[int, int, str]] = Counter()
    expected: Counter[tuple[int, int, str]] = Counter()
    for row in count_branches(events, find_proxy_warps(events)):
        decision = events.decisions[row.decision]
        place = (decision.line, decision.column)
        if row.divergent_warps and place not in cases:  # a switch is counted as one branch
            measured[*place, "split"] += row.divergent_warps
            measured[*place, "warps"] += row.warps
    for branch in branches:
        place = (branch.place.line, branch.place.column)
        if place not in cases:
            expected[*place, "split"] += round(branch.divergent_warps)
            expected[*place, "warps"] += round(branch.warps)
    assert measured == expected


def test_whole_work_groups_are_sampled_within_the_limit() -> None:
    contents = np.zeros(1 << 20, np.float32)
    arguments = [BufferArgument(contents.nbytes, contents), BufferArgument(contents.nbytes)]
    limits = EventLimits(max_events=100_000)
    events = record_events(
        KernelLaunch(inside_program(), "in_order", (1 << 20,), (256,), arguments), limits=limits
    )
    assert events.recorded_groups == 100_000 // 512
    assert len(events.items.item) == events.recorded_groups * 256
    assert len(events.accesses.row) == 2 * len(events.items.item)
    assert not events.dropped.accesses


def test_events_beyond_the_limit_are_counted() -> None:
    contents = np.zeros(64, np.float32)
    arguments = [BufferArgument(256, contents), BufferArgument(256)]
    limits = EventLimits(max_events=40)
    events = record_events(
        KernelLaunch(inside_program(), "in_order", (64,), (64,), arguments), limits=limits
    )
    assert len(events.accesses.row) == 40
    assert events.dropped.accesses == 128 - 40


def test_only_watched_memory_is_recorded() -> None:
    contents = np.zeros(64, np.float32)
    launch = ("in_order", (64,), (64,), [BufferArgument(256, contents), BufferArgument(256)])
    events = record_events(KernelLaunch(inside_program(), *launch), EventSelection(watched=["y"]))
    assert {events.memories[memory].name for memory in events.accesses.memory} == {"y"}
    with pytest.raises(ValueError, match="accesses no z; it accesses x, y"):
        record_events(KernelLaunch(inside_program(), *launch), EventSelection(watched=["z"]))
