"""Streams of conditions: how they are recorded, kept, decoded and stored in files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.errors import KernelError
from cltrace.kernels import (
    Argument,
    BufferArgument,
    parse,
)
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.decisions import decode_stream
from cltrace.kernels.events.files import pack_events, read_events, write_events
from cltrace.kernels.events.launch_code import LaunchCode
from cltrace.kernels.events.proxy_warps import stream_histogram
from cltrace.kernels.events.recording_request import ALL_EVENTS, EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.kernels.events.stream_tree import StreamTree
from tests.kernels.inside import inside_program, proxies_of, record_sum
from tests.kernels.random_programs import GLOBAL_SIZE, LOCAL_SIZE, random_programs


def assert_streams_decode(events: LaunchEvents) -> None:
    for share in stream_histogram(events):
        bits = events.streams.bits(share.node)
        path = decode_stream(events.begin, events.decisions, bits)
        assert [bit for _, bit in path] == bits.tolist()
        last = events.decisions[path[-1][0]].after(path[-1][1]) if path else events.begin
        assert last.decision == -1


@pytest.mark.parametrize("form", [CodeForm.WRITTEN, CodeForm.OPTIMISED])
def test_streams_of_random_programs_are_decoded_to_the_end(form: CodeForm) -> None:
    rng = np.random.default_rng(5)
    for program in random_programs(12, seed=25):
        numbers = rng.integers(0, 1 << 32, 2 * GLOBAL_SIZE, dtype=np.uint32)
        floats = rng.random(2 * GLOBAL_SIZE, np.float32)
        arguments: list[Argument] = [
            BufferArgument(numbers.nbytes, numbers),
            BufferArgument(numbers.nbytes, numbers),
            BufferArgument(floats.nbytes, floats),
        ]
        events = record_events(
            KernelLaunch(
                parse(program.source), program.name, (GLOBAL_SIZE,), (LOCAL_SIZE,), arguments
            ),
            EventSelection(form=form),
        )
        assert_streams_decode(events)


class Conditions:
    """The kernel `conditions` for one work-item, which notes its bits."""

    def __init__(self) -> None:
        self.bits: list[int] = []

    def holds(self, value: bool) -> bool:
        self.bits.append(int(value))
        return value

    def run(self, x: int, i: int) -> None:
        total = self._loop(x, i)
        while True:
            total += 2
            if self.holds(total > 40) or not self.holds(total < 20):
                break
        is_over, total = self._switch(total, i & 7)
        while not is_over:
            total = int(total / 2) + x if self.holds(total > 9) else total + x + 1
            is_over = not self.holds(total > 12)

    def _loop(self, x: int, i: int) -> int:
        n, total = x, 0
        while self.holds(n < 5):
            n += 1
            total += n
        n += 1
        is_negated = False
        if self.holds(total > 3):
            n += 1
            is_negated = self.holds(n < 4)
        return -total if is_negated or self.holds(i == 7) else total

    def _switch(self, total: int, case: int) -> tuple[bool, int]:
        if self.holds(case in {0, 1}):
            return False, total + 1
        if self.holds(case == 2) or self.holds(case == 5):
            return True, total
        return False, total ^ 3


def test_conditions_of_every_form_are_evaluated_as_in_c() -> None:
    inputs = np.arange(32, dtype=np.int32) % 14 - 8
    arguments: list[Argument] = [
        BufferArgument(inputs.nbytes, inputs),
        BufferArgument(inputs.nbytes),
    ]
    events = record_events(KernelLaunch(inside_program(), "conditions", (32,), (32,), arguments))
    assert_streams_decode(events)
    for item, value in enumerate(inputs.tolist()):
        by_hand = Conditions()
        by_hand.run(value, item)
        assert events.streams.bits(int(events.items.stream[item])).tolist() == by_hand.bits


AS_WRITTEN = (
    ("if (!(i < 3))", lambda i: [i >= 3]),
    ("if (!d)", lambda _: [True]),
    ("if (!!d)", lambda _: [False]),
    ("if ( ! ( (i < 3) ) )", lambda i: [i >= 3]),
    ("if (!(i < 3) && i < 6)", lambda i: [True, i < 6] if i >= 3 else [False]),
    ("if (i < 6 && !(i < 3))", lambda i: [True, i >= 3] if i < 6 else [False]),
    ("if (!(i < 3 || i == 5))", lambda i: [i >= 3, i != 5] if i >= 3 else [False]),
    ("if (!x[i])", lambda _: [True]),
    ("if (!(x[i] = i & 1))", lambda i: [i % 2 == 0]),
    ("if (i != 3)", lambda i: [i != 3]),
    ("if (!i != 0)", lambda i: [i == 0]),
    ("x[i] = !(i < 2) ? x[0] : x[1];", lambda i: [i >= 2]),
    ("if (i < 3 /* !( */ )", lambda i: [i < 3]),
    ("if (!get_local_id(0))", lambda i: [i == 0]),
    ("if (!odd(i))", lambda i: [i % 2 == 0]),
    ("if (!(odd(i) || i == 2))", lambda i: [i % 2 == 0] + [i != 2] * (i % 2 == 0)),
    ("while (!odd(d)) d++;", lambda _: [True, False]),
    ("if (!(i & 1) == 1)", lambda i: [i % 2 == 0]),
    ("while (!(d++ > i))", lambda i: [True] * (i + 1) + [False]),
    ("while (i < 3 && d++ < i)", lambda i: [True] * 2 * i + [True, False] if i < 3 else [False]),
    ("for (; i > 9 || d < i; d++)", lambda i: [False, True] * i + [False] * 2),
    ("do d++; while (i < 6 && d < 3);", lambda i: [True] * 5 + [False] if i < 6 else [False]),
    (
        "while (!(d > 2 && (i > 3 || !(d < i)))) d++;",
        lambda i: [True] * 3 + ([False] * 2 if i > 3 else [False, True, False]),
    ),
)


@pytest.mark.parametrize(("code", "expected"), AS_WRITTEN, ids=[code for code, _ in AS_WRITTEN])
def test_conditions_are_true_as_they_are_written(
    code: str, expected: Callable[[int], list[bool]]
) -> None:
    source = (
        "bool odd(int a) { return a & 1; }\n"
        f"__kernel void k(__global int *x, int d) {{ int i = get_global_id(0); {code} x[i] = 1; }}"
    )
    arguments: list[Argument] = [BufferArgument(32, np.zeros(8, np.int32)), 0]
    events = record_events(KernelLaunch(parse(source), "k", (8,), (8,), arguments))
    for item in range(8):
        bits = events.streams.bits(int(events.items.stream[item]))
        assert bits.tolist() == [int(value) for value in expected(item)]


def test_conditions_have_their_text() -> None:
    source = (
        "bool odd(int a) { return a & 1; }\n"
        "__kernel void k(__global int *x, int d) { int i = get_global_id(0);\n"
        "if (i > 3 /* || */ && (x[i] == 2 ||\n !(odd(i))) || !d) x[i] = 1;\n"
        "while (!(i > (d & 2) && f(d, 3) < 2)) d++;\n"
        "for (; x[i]; d++) if (d < 4 ? i != 2 : i >= 1) d = i; }\n"
    ).replace("f(d, 3)", "max(d, 3)")
    decisions = LaunchCode(
        KernelLaunch(parse(source), "k", (1,), (1,), ()), ALL_EVENTS
    ).model.decisions
    assert [item.text for item in decisions] == [
        "i > 3",
        "x[i] == 2",
        "!(odd(i))",
        "!d",
        "!(i > (d & 2))",
        "!(max(d, 3) < 2)",
        "",
        "d < 4",
        "i >= 1",
        "i != 2",
    ]


@given(st.lists(st.lists(st.integers(0, 1), max_size=12), min_size=1, max_size=40))
def test_a_tree_of_streams_keeps_every_stream(streams: list[list[int]]) -> None:
    tree = StreamTree(len(streams), max_nodes=10_000)
    for position in range(max(map(len, streams))):
        items = np.asarray([n for n, bits in enumerate(streams) if position < len(bits)], np.int64)
        tree.extend(items, np.asarray([streams[n][position] for n in items], np.int64))
    table = tree.table()
    assert [table.bits(int(end)).tolist() for end in tree.ends] == streams
    assert table.length[tree.ends].tolist() == [len(bits) for bits in streams]
    for max_bits in (0, 1, 5, 12):
        texts = ["".join(map(str, bits[:max_bits])) for bits in streams]
        assert table.texts(tree.ends, max_bits) == texts


def test_streams_beyond_the_limit_are_cut_and_counted() -> None:
    tree = StreamTree(2, max_nodes=3)
    both = np.arange(2)
    tree.extend(both, np.asarray([0, 1]))
    tree.extend(both, np.asarray([0, 0]))
    tree.extend(both, np.asarray([1, 1]))
    assert tree.dropped_bits == 4
    table = tree.table()
    assert [table.bits(int(end)).tolist() for end in tree.ends] == [[0], [1]]


def test_a_file_has_what_was_recorded(tmp_path: Path) -> None:
    events = record_sum("sum_by_stride", 64)
    path = tmp_path / "sum.events"
    write_events(events, path)
    again = read_events(path)
    assert pack_events(again) == pack_events(events)
    assert again.decisions == events.decisions
    assert np.array_equal(again.accesses.offset_bytes, events.accesses.offset_bytes)
    assert proxies_of(again) == proxies_of(events)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(pack_events(record_sum("sum_by_halves", 64)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "x.events"
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        read_events(path)
    except KernelError as error:
        message = str(error)
        assert "\n" not in message


def test_accesses_of_a_file_have_no_more_requests_than_a_vector_has_elements(
    tmp_path: Path,
) -> None:
    events = record_sum("sum_by_halves", 64)
    path = tmp_path / "x.events"

    def write(request_bytes: int) -> None:
        sites = [
            replace(site, access_bytes=128, request_bytes=request_bytes) for site in events.sites
        ]
        write_events(replace(events, sites=tuple(sites)), path)

    for written, read in ((16, 16), (8, 8), (7, 8), (0, 8), (1 << 40, 128)):
        write(written)
        assert {site.request_bytes for site in read_events(path).sites} == {read}
