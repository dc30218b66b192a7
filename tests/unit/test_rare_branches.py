"""Unknown branches on the equality with a constant, which rarely hold, and those out of a loop."""

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse

ITEMS, GROUP = 1 << 16, 64
SOURCE = """
__kernel void marked(__global const uchar *marks, __global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    if (CONDITION) out[i] = in[i];
}
"""
ENDED = """
__kernel void marked(__global const uchar *marks, __global const float *in, __global float *out) {
    int score = 0;
    for (int i = 0; i < 20; ++i) {
        uchar c = marks[get_global_id(0) * 20 + i];
        if (c == 0 || c == 0x11 || c == 0x22 || c == 0x33 || c == 0x88) ++score; else break;
    }
    out[get_global_id(0)] = score;
}
"""


def counts_of(source: str) -> KernelCounts:
    buffers = [BufferArgument(20 * ITEMS), BufferArgument(4 * ITEMS), BufferArgument(4 * ITEMS)]
    return count(parse(source), "marked", (ITEMS,), (GROUP,), buffers)


def share_of_warps(condition: str) -> float:
    (site,) = (
        site
        for site in counts_of(SOURCE.replace("CONDITION", condition)).sites
        if site.memory == "in"
    )
    return site.requests.value / (ITEMS / 32)


@pytest.mark.parametrize(
    "condition", ["marks[i] == 3", "(marks[i] & 7) == 2", "marks[i] == 3 || marks[i] == 9"]
)
def test_equality_with_a_constant_is_rare(condition: str) -> None:
    assert share_of_warps(condition) == pytest.approx(1 / 6, rel=0.3)


@pytest.mark.parametrize("condition", ["marks[i] != 3", "marks[i] != 3 && marks[i] != 9"])
def test_inequality_with_a_constant_is_usual(condition: str) -> None:
    assert share_of_warps(condition) == pytest.approx(5 / 6, rel=0.1)


@pytest.mark.parametrize(
    "condition",
    ["marks[i]", "marks[i] == 0", "marks[i] == 255", "marks[i] > 3", "marks[i] == marks[i + 1]"],
)
def test_other_conditions_split_warps(condition: str) -> None:
    """Zero and all bits mark what is empty, which may be most."""
    assert share_of_warps(condition) > 0.99


def test_the_assumption_says_how_rare() -> None:
    (assumption,) = counts_of(SOURCE.replace("CONDITION", "marks[i] == 3")).assumptions
    assert assumption.meaning == (
        "one warp in 6 in the rarer direction, between none and all lanes in the longer one"
    )


def test_a_switch_out_of_a_loop_has_a_usual_number_of_trips() -> None:
    (loop,) = counts_of(ENDED).loops
    assert loop.trips.value == 16
