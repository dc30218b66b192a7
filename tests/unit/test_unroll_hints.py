"""Hints to unroll loops: what clang and NVIDIA's compiler make of them, against an H200.

No cost is fitted on the measured times.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.unroll_hints import BYTES, HINTS, LOOPS, SIZES, source
from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.execute.prepared_kernel import prepare_kernel
from cltrace.kernels.fold.unrolling import find_unrolled_loops
from cltrace.kernels.machine import NVIDIA
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, Mapping[str, Sequence[float]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-unroll-hints.json").read_text(encoding="utf-8")
)["ns"]


def loops_of(text: str) -> list[tuple[int, bool]]:
    """The copies of each loop of a kernel and whether they are all of its trips."""
    module = parse(text).module(CodeForm.OPTIMISED)
    found = find_unrolled_loops(prepare_kernel(module, "f"), NVIDIA)
    return sorted((loop.trips, loop.is_whole) for loop in found.values())


def loads_of(text: str) -> int:
    function = parse(text).module(CodeForm.OPTIMISED).functions["f"]
    return sum(type(item).__name__ == "Load" for b in function.blocks for item in b.instructions)


@pytest.mark.parametrize(
    ("hint", "loads", "loops"),
    [
        ("none", 1, [(4, False)]),
        ("unroll", 5, [(1, False), (1, False)]),
        ("unroll 1", 1, [(1, False)]),
        ("unroll 4", 5, [(1, False), (1, False)]),
        ("unroll 8", 9, [(1, False), (1, False)]),
    ],
)
def test_a_loop_of_unknown_trips_has_the_copies_that_the_program_asks_for(
    hint: str, loads: int, loops: list[tuple[int, bool]]
) -> None:
    """As in the driver's PTX: by 4 without a number, the trips that are left over in another loop."""
    assert loads_of(source("columns", hint)) == loads
    assert loops_of(source("columns", hint)) == loops


@pytest.mark.parametrize(
    "hint",
    ["__attribute__((opencl_unroll_hint(1))) ", "#pragma nounroll\n", "#pragma unroll(1)\n"],
)
def test_other_spellings_keep_a_loop(hint: str) -> None:
    text = source("columns", "none").replace("for (int k", f"{hint}for (int k")
    assert loads_of(text) == 1
    assert loops_of(text) == [(1, False)]


def test_a_loop_of_known_trips_is_unrolled_wholly_or_not_at_all() -> None:
    assert loads_of(source("100 trips", "unroll")) == 100
    assert loops_of(source("100 trips", "unroll")) == []
    assert loops_of(source("100 trips", "unroll 1")) == [(1, False)]
    assert loops_of(source("100 trips", "none")) == [(4, False)]


def counted(loop: str, hint: str, size: tuple[int, int, int]) -> KernelCounts:
    items, group, trips = size
    arguments = (BufferArgument(BYTES), BufferArgument(BYTES), np.int32(trips), np.int32(items))
    machine = machine_of(H200.device)
    return count(parse(source(loop, hint)), "f", (items,), (group,), arguments, machine=machine)


@pytest.mark.parametrize("hint", [hint for hint in HINTS if hint != "none"])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_with_hints_take_as_long_as_measured(loop: str, hint: str) -> None:
    """Without hints in the model, up to nine times too short."""
    model = OVERLAP.for_device(H200)
    for size, measured in zip(SIZES, MEASURED_NS[loop][hint], strict=True):
        predicted = model.predict(counted(loop, hint, size)).duration_ns
        assert 0.65 * measured < predicted < 1.35 * measured
