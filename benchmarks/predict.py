"""How long predicting takes: one launch whose counts are known, and whole traces.

python benchmarks/predict.py
"""

import statistics
import subprocess
import sys
import tempfile
import time
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


def main() -> None:
    """Print the medians."""
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
