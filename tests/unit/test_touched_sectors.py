"""Records of touched sectors: those of one address space leave room for the others."""

import numpy as np
import pytest

from cltrace.events.workloads import BufferInput, Workload, WorkloadInput
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.ir.instructions import Access
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")


def test_sectors_of_local_memory_leave_room_for_those_of_global_memory() -> None:
    """Groups that use local memory over and over touch all of their part of a large buffer."""
    source = """
    kernel void f(global const uchar *a, global int *y, int pitch, int rows, int cols) {
        local int t[17 * 16];
        int x = get_global_id(0), l = get_local_id(0), at = x, s = 0;
        for (int k = 0; k < rows; k += 16) {
            #pragma unroll
            for (int j = 0; j < 16; j++, at += pitch) {
                if (x < cols && k + j < rows) s += a[at];
                t[j * 17 + l] = s;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int j = 0; j < 16; j++)
                y[mad24(j + 16 * (int)get_group_id(0), rows, k + l)] = t[l * 17 + j];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    """
    width, height = 4000, 3008
    numbers = map(np.int32, (width, height, width))
    buffers = [BufferInput(width * height), BufferInput(4 * width * height)]
    inputs: list[WorkloadInput] = [*buffers, *numbers]
    work = Workload(source, "f", (width,), (16,), inputs)
    counts = WorkloadCounter(H200.device).count(work)
    touched = sum(
        region.footprint.launch_sectors for region in counts.regions if region.memory == "a"
    )
    assert touched == pytest.approx(width * height / 32, rel=0.1)


def test_a_private_array_is_waited_for_in_each_round() -> None:
    """Records of what fills it leave room for those of what reads it."""
    source = """
    kernel void f(global const float *a, global float *y, int n) {
        float p[2048], s = 0;
        int i = get_global_id(0), q = i & 2047;
        for (int k = 0; k < 2048; k++) p[k] = a[k & n] + i;
        for (int k = 0; k < 2048; k++) {
            s += p[q];
            q = (q * 5 + (int)s) & 2047;
        }
        y[i] = s;
    }
    """
    inputs: list[WorkloadInput] = [BufferInput(8192), BufferInput(4 << 16), np.int32(1023)]
    work = Workload(source, "f", (1 << 16,), (256,), inputs)
    demand = demand_of(WorkloadCounter(H200.device).count(work), {})
    written, read = (
        next(
            each
            for each in demand.traffic
            if each.memory == PRIVATE_MEMORY and each.access is access
        )
        for access in (Access.WRITE, Access.READ)
    )
    assert read.group_sectors == pytest.approx(written.group_sectors, rel=0.2)
    assert read.first_sectors < 0.01 * read.sectors
    assert read.arriving_sectors > 0.5 * read.sectors
