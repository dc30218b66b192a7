"""What the page of the inside of a launch costs, from a changed source to the page: docs/explore.md.

    python benchmarks/inside.py [--items 256,25600,1000000] [--rounds 7] [--json FILE]

Each round compiles a source that no cache knows, executes a reduction's work-groups, analyses the events
and makes the page with both views, as `cltrace kernel --live` does on each change.
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import cltrace
from cltrace.kernels import BufferArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.report.kernel_events import analyse_events
from cltrace.report.page.inside_kernel import render_inside_page

SOURCE = """
__kernel void total(__global const float *x, __global float *y)
{
    __local float sums[64];
    const int l = get_local_id(0);
    sums[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < 64; s *= 2) {
        const int at = 2 * s * l;
        if (at < 64)
            sums[at] += sums[at + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        y[get_group_id(0)] = sums[0];
}
"""


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description="What the page of a launch's inside costs.")
    parser.add_argument("--items", default="256,25600,1000000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.items.split(",")]
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    page_seconds(sizes[0])  # imports, and the compiler in the system's cache
    for _ in range(arguments.rounds):
        for size in sizes:
            seconds[size].append(page_seconds(size))
    for size, values in seconds.items():
        median, low, high = statistics.median(values), min(values), max(values)
        print(
            f"{size:>9,} work-items: {median:.2f} s ({low:.2f} to {high:.2f}) from change to page"
        )
    if arguments.json is not None:
        facts = {"machine": platform.platform(), "cltrace": cltrace.__version__}
        arguments.json.write_text(json.dumps({**facts, "seconds": seconds}, indent=1) + "\n")


def page_seconds(items: int) -> float:
    """Return the seconds from a changed source to its page."""
    arguments = [BufferArgument(4 * items), BufferArgument(4 * items // 64)]
    begin = time.perf_counter()
    program = parse(f"{SOURCE}// {time.time_ns()}\n")
    events = record_events(program, "total", (items,), (64,), arguments)
    render_inside_page(analyse_events(events))
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
