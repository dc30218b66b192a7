"""Rates of two launches on the same compute units of an NVIDIA GPU, by kind and by which began first.

    python benchmarks/unit_sharing.py FILE.json

One launch has a work-group on each compute unit, and another one, which begins later in another queue,
too. The first work-item of each work-group notes its compute unit and the time after each sixteenth of
its work.
`older_rate` and `younger_rate` are the work that a launch gets done while both run, by what it gets done
alone: medians over the compute units that have a work-group of both.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

GROUP_ITEMS = 256
STEPS = 16
BUFFER_BYTES = 256 << 20
ALONE_NS = 800_000
LATER_S = 150e-6
MIN_TOGETHER_NS = 60_000
COLUMNS = STEPS + 2
"""Entries of a work-group in the log: its compute unit, the begin, and the end of each step."""
RESULT_COLUMNS = ("older", "younger", "older_rate", "younger_rate")


class Kind(NamedTuple):
    """What a kernel declares before its loop, does in a trip, and writes at the end."""

    words: str
    before: str
    body: str
    result: str = "a"


def _four(text: str) -> str:
    """Return a statement for each of four variables; `?` is the next one."""
    return "".join(
        text.replace("@", own).replace("?", after)
        for own, after in zip("abcd", "bcda", strict=True)
    )


FOUR_FLOATS = "float a=i,b=i+1,c=i+2,d=i+3;"
FOUR_INTS = "uint a=i,b=i+1,c=i+2,d=i+3;"
READ_AHEAD = "for(int k=0;k<4;++k){a+=in[(j+k*33792)&MASK];} j+=4*33792;"
REDUCTION = "for(uint s=128;s;s>>=1){if(own<s)kept[own]+=kept[own+s];barrier(CLK_LOCAL_MEM_FENCE);}"
KINDS = {
    "fma1": Kind(
        "a chain of float multiply-adds",
        "float a=i;",
        "for(int k=0;k<64;++k) a=fma(a,0.999f,0.5f);",
    ),
    "fma4": Kind(
        "four chains of float multiply-adds",
        FOUR_FLOATS,
        f"for(int k=0;k<32;++k){{{_four('@=fma(@,0.999f,0.5f);')}}}",
        "a+b+c+d",
    ),
    "i2f": Kind(
        "int multiply-adds, shifts, conversions to float",
        "uint x=i; float a=1;",
        "for(int k=0;k<24;++k){x=x*1664525u+1013904223u; a=a*0.5f+(float)(x>>8);}",
    ),
    "imul": Kind(
        "four chains of int multiply-adds",
        FOUR_INTS,
        f"for(int k=0;k<16;++k){{{_four('@=@*1664525u+?;')}}}",
        "(float)(a+b+c+d)",
    ),
    "alu": Kind(
        "four chains of shifts and logic",
        FOUR_INTS,
        f"for(int k=0;k<16;++k){{{_four('@=(@^(@<<7))&?;')}}}",
        "(float)(a+b+c+d)",
    ),
    "sfu": Kind(
        "four chains of native_sin",
        FOUR_FLOATS,
        f"for(int k=0;k<8;++k){{{_four('@=native_sin(@);')}}}",
        "a+b+c+d",
    ),
    "lds": Kind(
        "reads of local memory",
        "float a=0; uint j=own;",
        "for(int k=0;k<16;++k){a+=kept[(j+k*32)&255];} j+=33;",
    ),
    "bar": Kind(
        "a reduction in local memory with barriers",
        "float a=0;",
        f"kept[own]=a+i;barrier(CLK_LOCAL_MEM_FENCE);{REDUCTION}a+=kept[0];"
        "barrier(CLK_LOCAL_MEM_FENCE);",
    ),
    "bar1": Kind(
        "barriers", "float a=0;", "for(int k=0;k<8;++k){barrier(CLK_LOCAL_MEM_FENCE);a=a*0.5f+1;}"
    ),
    "branch": Kind(
        "divergent branches",
        "uint a=i;",
        "for(int k=0;k<8;++k){if((a>>k)&1)a=a*3+1;else a=(a^55)*7;}",
        "(float)a",
    ),
    "l1": Kind(
        "reads that the near cache holds",
        "float a=0; uint j=i&1023;",
        "for(int k=0;k<8;++k){a+=in[(j+k*128)&1023];} j+=33;",
    ),
    "l2": Kind(
        "reads that the shared cache holds",
        "float a=0; uint j=i;",
        READ_AHEAD.replace("MASK", "1048575"),
    ),
    "dram": Kind(
        "reads of memory in order", "float a=0; uint j=i;", READ_AHEAD.replace("MASK", "mask")
    ),
    "copy": Kind(
        "copies of memory",
        "float a=0; uint j=i;",
        "out[j&mask]=in[j&mask]*1.5f; j+=33792;",
    ),
    "rand": Kind(
        "random reads of memory",
        "float a=0; uint j=i*2654435761u;",
        "for(int k=0;k<4;++k){j=j*1664525u+1013904223u;a+=in[(j>>3)&mask];}",
    ),
    "atom": Kind(
        "atomic operations on 4,096 counters",
        "float a=0; uint j=i*2654435761u;",
        "j=j*1664525u+1013904223u; atomic_add((volatile __global int*)out+((j>>8)&4095),1);",
    ),
    "fp64": Kind(
        "two chains of double multiply-adds",
        "double a=i,b=i+1;",
        "for(int k=0;k<16;++k){a=fma(a,0.999,0.5);b=fma(b,0.999,0.5);}",
        "(float)(a+b)",
    ),
}


def source(kind: Kind) -> str:
    """Return a program. All kernels use local memory: its size decides what may run beside."""
    now = 'asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));'
    return f"""
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void run(__global const float *in, __global float *out, uint mask, uint trips,
                  __global ulong *log) {{
    __local float kept[1024], other[{GROUP_ITEMS}];
    uint own = get_local_id(0), group = get_group_id(0), i = get_global_id(0), unit; ulong now;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit)); {now}
    kept[own] = own; other[own] = in[own]; barrier(CLK_LOCAL_MEM_FENCE);
    if (own == 0) {{ log[group * {COLUMNS}] = unit; log[group * {COLUMNS} + 1] = now; }}
    {kind.before}
    for (uint step = 0; step < {STEPS}; ++step) {{
        for (uint trip = 0; trip < trips; ++trip) {{ {kind.body} }}
        if (own == 0) {{ {now} log[group * {COLUMNS} + 2 + step] = now; }}
    }}
    out[i & mask] = {kind.result} + other[(own + 1) & {GROUP_ITEMS - 1}];
}}
"""


@dataclass(frozen=True, slots=True)
class Log:
    """Compute units of work-groups, shape (groups,), and ends of steps, shape (groups, steps + 1)."""

    unit: NDArray[np.int64]
    ends_ns: NDArray[np.float64]

    @property
    def alone_ns(self) -> float:
        """Median duration of a work-group."""
        return float(np.median(self.ends_ns[:, -1] - self.ends_ns[:, 0]))


class Queue:
    """A queue with buffers of its own."""

    def __init__(self, context: cl.Context) -> None:
        self.groups = context.devices[0].max_compute_units
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(context, properties=profiling)
        flags = cl.mem_flags.READ_WRITE
        self._in, self._out = (cl.Buffer(context, flags, BUFFER_BYTES) for _ in range(2))
        self._log = cl.Buffer(context, flags, 8 * COLUMNS * self.groups)
        cl.enqueue_fill_buffer(self.queue, self._in, np.float32(1.0), 0, BUFFER_BYTES)

    def launch(self, program: cl.Program, trips: int) -> cl.Event:
        """Launch a work-group for each compute unit."""
        kernel = cl.Kernel(program, "run")
        mask = np.uint32(BUFFER_BYTES // 4 - 1)
        kernel.set_args(self._in, self._out, mask, np.uint32(trips), self._log)
        size = (GROUP_ITEMS * self.groups,)
        event = cl.enqueue_nd_range_kernel(self.queue, kernel, size, (GROUP_ITEMS,))
        self.queue.flush()
        return event

    def read(self) -> Log:
        """Return the log of the last launch."""
        rows = np.empty((self.groups, COLUMNS), np.uint64)
        cl.enqueue_copy(self.queue, rows, self._log)
        self.queue.finish()
        return Log(rows[:, 0].astype(np.int64), rows[:, 1:].astype(np.float64))


def trips_for(queue: Queue, program: cl.Program) -> int:
    """Return the trips with which a launch takes about as long as all others."""
    trips, took_ns = 4, 0.0
    while took_ns < ALONE_NS / 8 and trips < 4096:
        trips *= 2
        event = queue.launch(program, trips)
        event.wait()
        took_ns = event.profile.end - event.profile.start
    return max(round(trips * ALONE_NS / took_ns), 1)


def rates(older: Log, younger: Log, alone: Sequence[Log]) -> Iterator[tuple[float, float]]:
    """Yield the rates of both launches on each compute unit that they share."""
    at_unit = dict(zip(older.unit.tolist(), older.ends_ns, strict=True))
    for unit, ends_ns in zip(younger.unit.tolist(), younger.ends_ns, strict=True):
        if unit in at_unit:
            both = (at_unit[unit], ends_ns)
            begin, end = ends_ns[0], min(own[-1] for own in both)
            if end - begin >= MIN_TOGETHER_NS:
                done = [
                    np.diff(np.interp([begin, end], own, np.linspace(0.0, 1.0, STEPS + 1)))[0]
                    for own in both
                ]
                first, second = (
                    float(share) * log.alone_ns / (end - begin)
                    for share, log in zip(done, alone, strict=True)
                )
                yield first, second


def main() -> None:
    """Measure all pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    path = parser.parse_args().file
    context = cl.create_some_context(interactive=False)
    device = context.devices[0]
    programs = {name: cl.Program(context, source(kind)).build() for name, kind in KINDS.items()}
    first, second = Queue(context), Queue(context)
    trips, alone = {}, {}
    for name, program in programs.items():
        trips[name] = trips_for(first, program)
        first.launch(program, trips[name]).wait()
        alone[name] = first.read()
    rows = []
    for older in KINDS:
        for younger in KINDS:
            first.launch(programs[older], trips[older])
            began = time.perf_counter()
            while time.perf_counter() - began < LATER_S:
                pass
            second.launch(programs[younger], trips[younger])
            logs = first.read(), second.read()
            found = list(rates(*logs, (alone[older], alone[younger])))
            if found:
                rows.append([older, younger, *np.median(found, axis=0).round(3).tolist()])
    record = {
        "device": device.name.strip(),
        "driver": device.driver_version,
        "groups": first.groups,
        "group_items": GROUP_ITEMS,
        "kinds": {name: kind.words for name, kind in KINDS.items()},
        "columns": RESULT_COLUMNS,
        "rows": rows,
    }
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
