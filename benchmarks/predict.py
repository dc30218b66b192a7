"""How long predicting takes: one launch whose counts are known, and whole traces.

    python benchmarks/predict.py
    python benchmarks/predict.py TRACE... --before CHECKOUT

With traces, it measures the first call of `cltrace predict` and of `cltrace kernel` on each of them, with
empty caches, and the second call: wall seconds, and CPU seconds of all processes. `--before` is the root
of another version, which takes turns with this one.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from cltrace.kernels import BufferArgument, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.profile import load_profile

KERNEL = """
__kernel void k{n}(__global float *a, float f) {{
    a[get_global_id(0)] = a[get_global_id(0) / {n}] * f + {n};
}}
"""
PROGRAM = """
import numpy as np, pyopencl as cl
platform = next(p for p in cl.get_platforms() if "Portable" in p.name)
context = cl.Context(platform.get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''{source}''').build()
a = cl.Buffer(context, 0, 1 << 16)
kernels = [cl.Kernel(program, "k%d" % (n + 1)) for n in range({kernels})]
for step in range({launches}):
    kernels[step % len(kernels)](queue, (1 << 14,), (64,), a, np.float32(step))
queue.finish()
"""


ROOT = Path(__file__).parents[1]
VERBS = {
    "predict": ("--profile", "nvidia-h200"),
    "kernel": ("--format", "json", "--top", "0"),
}
"""The flags of the verbs that are measured on traces."""


def main() -> None:
    """Measure traces, or print the medians without one."""
    parser = argparse.ArgumentParser(description="Measure how long predicting takes.")
    parser.add_argument("traces", type=Path, nargs="*", metavar="TRACE")
    parser.add_argument("--before", type=Path, help="the root of another version to compare with")
    parser.add_argument("--verbs", default="predict", help=f"some of {', '.join(VERBS)}")
    arguments = parser.parse_args()
    if not arguments.traces:
        print_medians()
        return
    versions = [("before", arguments.before)] if arguments.before else []
    versions.append(("now", ROOT))
    for verb in arguments.verbs.split(","):
        for trace in arguments.traces:
            for name, root in versions:
                for call, wall_s, cpu_s in calls(root, verb, trace.absolute()):
                    print(
                        f"{verb} {trace.name}, {name}, {call}: {wall_s:.2f} s ({cpu_s:.2f} s CPU)"
                    )


def calls(root: Path, verb: str, trace: Path) -> Iterator[tuple[str, float, float]]:
    """Yield name, wall seconds and CPU seconds of the first call of a version, and of the second."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(root), "XDG_CACHE_HOME": cache}
        command = [sys.executable, "-m", "cltrace", verb, str(trace), *VERBS[verb]]
        for name in ("first", "second"):
            yield name, *measured(command, environment)


def measured(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall seconds of a command, and the CPU seconds of it and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    # Another directory, so that the version is that of the environment.
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd="/")
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_medians() -> None:
    """Print the medians of a launch whose counts are known, and of two traces."""
    profile = load_profile("nvidia-h200")
    model = OVERLAP.for_device(profile)
    counts = count(
        parse(KERNEL.format(n=3)), "k3", (1 << 20,), (256,), [BufferArgument(4 << 20), 2.0],
        machine=machine_of(profile.device),
    )  # fmt: skip
    times = []
    for _ in range(2000):
        began = time.perf_counter()
        model.predict(counts)
        times.append(time.perf_counter() - began)
    print(f"a launch whose counts are known: {statistics.median(times) * 1e6:.0f} us")
    for kernels, launches in ((100, 100), (4, 100_000)):
        print(f"{kernels} kernels, {launches:,} launches: {whole(kernels, launches):.2f} s")


def whole(kernels: int, launches: int) -> float:
    """The median of three times that `cltrace predict` takes for a trace."""
    source = "\n".join(KERNEL.format(n=number + 1) for number in range(kernels))
    with tempfile.TemporaryDirectory() as place:
        app = Path(place) / "app.py"
        app.write_text(PROGRAM.format(source=source, kernels=kernels, launches=launches))
        trace = Path(place) / "app.cltrace"
        command = [sys.executable, "-m", "cltrace"]
        subprocess.run(
            [*command, "run", "-o", trace, sys.executable, app], check=True, capture_output=True
        )
        times = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run(
                [*command, "predict", trace, "--profile", "nvidia-h200"],
                check=True,
                capture_output=True,
            )
            times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    main()
