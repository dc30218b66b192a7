"""What kernels had to do: a launch of twice the work shows, a guess fails nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

import cltrace
from cltrace.kernels import Argument, BufferArgument, Machine, count, parse
from cltrace.regress.work import (
    Amount,
    KernelWork,
    RunWork,
    SizedKernel,
    WorkKind,
    amounts_of,
    combine_work,
    compare_work,
    count_work,
)

DATA = Path(__file__).parents[1] / "data"
KEY = SizedKernel("k", "[64]")
CERTAIN = KernelWork(
    10, {WorkKind.OPERATIONS: Amount(1000.0, 0.0), WorkKind.TRANSACTIONS: Amount(80.0, 1.0)}
)


def run_with(work: KernelWork, compiler: str = "clang 22") -> RunWork:
    return RunWork(compiler, {KEY: work}, {})


def more(factor: float, doubt: str = "") -> KernelWork:
    kind = WorkKind.TRANSACTIONS
    old = CERTAIN.amounts[kind]
    changed = Amount(old.total * factor, old.standard_error, doubt)
    return replace(CERTAIN, amounts={**CERTAIN.amounts, kind: changed})


def test_twice_the_transactions_are_a_difference_of_a_launch() -> None:
    (found,) = compare_work(run_with(CERTAIN), run_with(more(2.0)))
    assert found.kind == WorkKind.TRANSACTIONS
    assert found.base == 8.0
    assert found.head == 16.0
    assert found.is_worse
    (found,) = compare_work(run_with(more(2.0)), run_with(CERTAIN))
    assert not found.is_worse
    assert compare_work(run_with(CERTAIN), run_with(CERTAIN)) == ()


def test_another_number_of_launches_is_no_other_work() -> None:
    amounts = {kind: Amount(2 * a.total, a.standard_error) for kind, a in CERTAIN.amounts.items()}
    assert compare_work(run_with(CERTAIN), run_with(KernelWork(20, amounts))) == ()


@pytest.mark.parametrize(
    ("head", "compiler", "doubt"),
    [
        (more(2.0), "clang 23", "base was counted with clang 22, head with clang 23"),
        (more(2.0, "assumed: a trip"), "clang 22", "assumed: a trip"),
        (more(1.02), "clang 22", "within the error of sampling work-groups"),
    ],
)
def test_what_is_in_doubt_is_told_and_fails_nothing(
    head: KernelWork, compiler: str, doubt: str
) -> None:
    (found,) = compare_work(run_with(CERTAIN), run_with(head, compiler))
    assert found.doubt == doubt
    assert not found.is_worse


def test_work_that_differs_from_run_to_run_is_in_doubt() -> None:
    assert combine_work([]) is None
    same = combine_work([run_with(CERTAIN), run_with(CERTAIN)])
    assert same is not None
    assert same.kernels[KEY] == CERTAIN
    other = combine_work([run_with(CERTAIN), run_with(more(1.5))])
    assert other is not None
    doubts = {one.doubt for one in other.kernels[KEY].amounts.values()}
    assert doubts == {"it differs from run to run"}
    gone = combine_work([run_with(CERTAIN), RunWork("clang 22", {}, {})])
    assert gone is not None
    doubts = {one.doubt for one in gone.kernels[KEY].amounts.values()}
    assert doubts == {"it differs from run to run"}


def test_amounts_are_those_of_the_source() -> None:
    source = """
    kernel void copy(global float *to, global const float *from, int stride)
    { int i = get_global_id(0); to[i] = from[i * stride]; }
    kernel void banks(global float *to, int stride) {
        local float held[2048];
        int i = get_local_id(0);
        held[i * stride] = i;
        barrier(CLK_LOCAL_MEM_FENCE);
        to[i] = held[i * stride];
    }
    """
    program = parse(source)
    buffers = [BufferArgument(1 << 20), BufferArgument(1 << 20)]

    def amounts(kernel: str, *arguments: Argument) -> dict[WorkKind, float]:
        counts = count(program, kernel, (4096,), (64,), list(arguments), machine=Machine())
        found = amounts_of(counts)
        assert {one.doubt for one in found.values()} == {""}
        return {kind: one.total for kind, one in found.items()}

    one, two = (amounts("copy", *buffers, stride) for stride in (1, 2))
    # 4096 floats are 512 sectors: those written, and those read at the stride.
    assert one[WorkKind.TRANSACTIONS] == 512 + 512
    assert two[WorkKind.TRANSACTIONS] == 512 + 1024
    one, two = (amounts("banks", buffers[0], stride) for stride in (1, 2))
    assert one[WorkKind.LOCAL_ROUNDS] == 2 * 4096 / 32
    assert two[WorkKind.LOCAL_ROUNDS] == 2 * one[WorkKind.LOCAL_ROUNDS]


@pytest.mark.parametrize(
    ("body", "doubtful"),
    [
        ("a[at[i]] = 1", {WorkKind.TRANSACTIONS}),
        ("local int h[64]; h[at[i] & 63] = 1; a[i] = h[0]", {WorkKind.LOCAL_ROUNDS}),
        ("if (at[i] > 3) a[i] = 1", set(WorkKind)),
        ("for (int n = 0; n < at[0]; ++n) a[i] += n * a[n]", set(WorkKind)),
    ],
)
def test_what_depends_on_contents_is_in_doubt_and_nothing_else(
    body: str, doubtful: set[WorkKind]
) -> None:
    program = parse(
        f"kernel void k(global float *a, global int *at) {{ int i = get_global_id(0); {body}; }}"
    )
    buffers = [BufferArgument(1 << 20), BufferArgument(1 << 20)]
    counts = count(program, "k", (4096,), (64,), buffers, machine=Machine())
    found = {kind for kind, one in amounts_of(counts).items() if one.doubt}
    assert found == doubtful


def test_the_work_of_a_real_run() -> None:
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        found = count_work(trace)
    assert found is not None
    assert found.compiler.startswith("clang ")
    chain = found.kernels[SizedKernel("chain", "[4194304]")]
    assert chain.launches == 1031
    assert chain.amounts[WorkKind.OPERATIONS].total > 1031 * 4194304
    assert compare_work(found, found) == ()
