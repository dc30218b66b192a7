"""Accesses by a rule for branches, and over the tenths of a launch."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse

ITEMS = 1024


def counted(body: str) -> KernelCounts:
    source = f"""
    __kernel void k(__global const float *x, __global float *y, int n) {{
        int i = get_global_id(0); float sum = 0;
        {body}
    }}
    """
    x = BufferArgument(1 << 20, np.zeros(1 << 18, np.float32))
    return count(parse(source), "k", (ITEMS,), (64,), [x, BufferArgument(1 << 20), np.int32(10)])


def per_item(counts: KernelCounts) -> dict[str, float]:
    """Return the accesses of a work-item by rule, "exact" for those executed."""
    ruled = {each.rule: each.accesses / ITEMS for each in counts.by_branch_rule}
    return ruled | {"exact": sum(site.accesses.value for site in counts.sites) / ITEMS}


@pytest.mark.parametrize(
    ("body", "exact", "worst", "mean"),
    [
        ("y[i] = x[i];", 2.0, 2.0, 2.0),
        ("if (n > 3) sum = x[i] + x[i + 5000] + x[i + 9000]; y[i] = sum;", 4.0, 4.0, 2.5),
        ("if (n < 3) sum = x[i] + x[i + 5000] + x[i + 9000]; y[i] = sum;", 1.0, 4.0, 2.5),
        ("for (int j = 0; j < n; ++j) sum += x[i + 2000 * j]; y[i] = sum;", 11.0, 11.0, 11.0),
        (
            "for (int j = 0; j < n; ++j) { sum += x[i + 2000 * j]; if (sum > 1) y[i + j * 64] = 1; }",
            10.0,
            20.0,
            15.0,
        ),
        # An if around a loop is a branch, the loop's own first test is none.
        (
            "if (i & 1) for (int j = 0; j < n; ++j) sum += x[i + 64 * j]; y[i] = sum;",
            6.0,
            11.0,
            6.0,
        ),
        (
            "if (i % 100 == 0) for (int j = 0; j < (n & 3) + 1; ++j) sum += x[i + 64 * j]; "
            "else sum = x[i] + x[i + 100] + x[i + 200] + x[i + 300]; y[i] = sum;",
            1 + (1013 * 4 + 11 * 3) / 1024,
            5.0,
            4.5,
        ),
    ],
)
def test_a_rule_decides_on_all_branches(body: str, exact: float, worst: float, mean: float) -> None:
    assert per_item(counted(body)) == pytest.approx({"exact": exact, "worst": worst, "mean": mean})


def test_sectors_follow_their_accesses() -> None:
    counts = counted("if (n > 3) sum = x[16 * i] + x[16 * i + 20000]; y[i] = sum;")
    worst, mean = counts.by_branch_rule
    assert worst.sectors == sum(site.sectors.value for site in counts.sites)
    assert mean.sectors == pytest.approx(worst.sectors - 2 * ITEMS / 2)


def test_tenths_have_the_accesses_of_their_operations() -> None:
    work = "for (int j = 0; j < 400; ++j) sum = sum * sum + 0.5f;"
    reads = "for (int j = 0; j < 400; ++j) sum += x[i + 64 * j];"
    first = counted(f"{reads} {work} y[i] = sum;").access_density
    last = counted(f"sum = n; {work} {reads} y[i] = sum;").access_density
    even = counted(f"{reads} y[i] = sum;").access_density
    for density in (first, last, even):
        assert sum(density) == pytest.approx(1.0)
    assert sum(first[:5]) > 0.7
    assert sum(last[:3]) < 0.05
    assert even == pytest.approx((0.1,) * 10, abs=0.02)


def test_tenths_of_several_waves_are_alike() -> None:
    source = """
    __kernel void k(__global float *x) {
        float sum = x[get_global_id(0)];
        for (int j = 0; j < 400; ++j) sum = sum * sum + 0.5f;
        x[get_global_id(0)] = sum;
    }
    """
    counts = count(parse(source), "k", (1 << 22,), (256,), [BufferArgument(1 << 24)])
    assert counts.access_density == (0.1,) * 10
    none = count(parse("__kernel void k() {}"), "k", (64,), (64,), [])
    assert none.access_density == ()
