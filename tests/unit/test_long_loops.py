"""Loops of which not all trips are run, and what takes too long all the same."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, CostClass, count, parse
from cltrace.kernels.counts.bounds import Extremes
from cltrace.kernels.counts.footprints import Distinct, extrapolated
from cltrace.kernels.counts.records import Estimate


def test_trips_that_are_assumed_need_not_all_be_run() -> None:
    source = """__kernel void walk(__global const int *next, __global float *out) {
        int at = get_global_id(0), steps = 0;
        do { int inner = at; do { inner = next[inner]; ++steps; } while (inner > 7);
             at = next[at]; } while (at > 0);
        out[get_global_id(0)] = steps;
    }"""
    counts = count(parse(source), "walk", (4096,), (64,), [BufferArgument(1 << 14)] * 2)
    loads = next(row for row in counts.operations if row.cost is CostClass.LOAD)
    assert loads.total.low == 4096 * (2 * 2 + 2)
    assert loads.total.value == 4096 * (16 * 16 + 16)
    assert loads.total.high == 4096 * (64 * 64 + 64)


def test_what_takes_too_long_to_be_executed_bounds_nothing() -> None:
    counted = Estimate(5.0, low=5.0, high=5.0)
    open_bounds = Extremes(least=None, most=None).around(counted, lambda _: 7.0)
    assert (open_bounds.low, open_bounds.value, open_bounds.high) == (0.0, 5.0, np.inf)


def test_an_or_of_numbers_that_share_no_bit_moves_evenly() -> None:
    source = """__kernel void nest(__global const float *a, __global float *b) {
        for (int i = 0; i < 256; ++i)
            for (int j = 0; j < 256; ++j)
                b[258 * i + j] = a[258 * i + j + 1] + a[258 * i + j + 517];
    }"""
    counts = count(parse(source), "nest", (1,), (1,), [BufferArgument(4 * 258 * 259)] * 2)
    outer = counts.loops[0]
    assert outer.extrapolated > 0.9
    assert {site.accesses.value for site in counts.sites} == {256 * 256}


def test_sites_that_few_groups_come_to_have_a_footprint() -> None:
    rare = Distinct(((2, 0.0), (4, 0.0), (8, 3.0), (16, 6.0)), 0.4)
    assert extrapolated(rare, 1600, 1e9)[0] == pytest.approx(600.0, rel=0.05)
    assert extrapolated(Distinct(((8, 0.0), (16, 6.0)), 0.4), 1600, 1e9) == (600.0, 0.5)
