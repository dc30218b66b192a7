"""What the page of the inside of a launch costs, from a changed source to the page: docs/explore.md.

    python benchmarks/inside.py [--items 256,25600,1000000] [--rounds 7] [--json FILE]

Each round compiles a source that no cache knows, executes a reduction's work-groups, analyses the events
and makes the page with both views, as `cltrace kernel --live` does on each change. The last page of each
size is opened in headless Chromium, as often; without Chromium or playwright it is not.
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path

from browsers import chromium, open_tab

import cltrace
from cltrace.kernels import BufferArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.recording_request import KernelLaunch
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

DRAWN = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
    () => done(performance.now()))))"""


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description="What the page of a launch's inside costs.")
    parser.add_argument("--items", default="256,25600,1000000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.items.split(",")]
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    opened: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        pages = {size: Path(scratch, f"{size}.html") for size in sizes}
        page_seconds(sizes[0], pages[sizes[0]])  # imports, and the compiler in the system's cache
        for _ in range(arguments.rounds):
            for size, page in pages.items():
                seconds[size].append(page_seconds(size, page))
        for size, page in pages.items():
            opened[size] = opening_seconds(page, arguments.rounds)
    for size in sizes:
        line = f"{size:>9,} work-items: {spread(seconds[size])} from change to page"
        print(line + (f", {spread(opened[size])} to open it" if opened[size] else ""))
    if arguments.json is not None:
        facts = {"machine": platform.platform(), "cltrace": cltrace.__version__}
        measured = {"seconds": seconds, "seconds_to_open": opened}
        arguments.json.write_text(json.dumps({**facts, **measured}, indent=1) + "\n")


def spread(values: list[float]) -> str:
    """Return the median and the range of some seconds."""
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


def opening_seconds(page: Path, rounds: int) -> list[float]:
    """Return the seconds until a browser has drawn the page; none without a browser."""
    seconds = []
    with chromium() as browser:
        for _ in range(rounds if browser is not None else 0):
            tab = open_tab(browser)
            tab.goto(page.as_uri(), timeout=120_000)
            seconds.append(tab.evaluate(DRAWN) / 1000)
            tab.close()
    return seconds


def page_seconds(items: int, page: Path) -> float:
    """Return the seconds from a changed source to its page."""
    arguments = [BufferArgument(4 * items), BufferArgument(4 * items // 64)]
    begin = time.perf_counter()
    program = parse(f"{SOURCE}// {time.time_ns()}\n")
    events = record_events(KernelLaunch(program, "total", (items,), (64,), arguments))
    page.write_text(render_inside_page(analyse_events(events)))
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
