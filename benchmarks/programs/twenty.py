"""Twenty kernels of several kinds, a few launches of each: what the gate is tried on.

    python twenty.py [--slower NAME=FACTOR] [--scattered NAME] [--again NAME] [--items N] [--longer N]

`--slower` makes a kernel do FACTOR times the trips, `--scattered` makes it touch twice the memory,
`--again` launches it once more. `--items` is the global size and `--longer` by how much all trips are
multiplied: a GPU needs more of both than a CPU for a launch to be more than its overhead.
"""

import argparse

import numpy as np
import pyopencl as cl

LAUNCHES = 12
ITEMS = 1 << 13
TABLE = 1 << 16  # what "walk" reads
SOURCE = """
kernel void NAME(global float *out, global const float *in, int trips, int stride) {
    size_t i = get_global_id(0);
    BODY
}
"""
BODIES = {
    "chain": "float a = in[i]; for (int n = 0; n < trips; ++n) a = a * 0.999f + 0.001f; out[i] = a;",
    "root": "float a = in[i]; for (int n = 0; n < trips; ++n) a = sqrt(a + 1.0f); out[i] = a;",
    "mixed": "uint a = i; for (int n = 0; n < trips; ++n) a = a * a + 12345u; out[i] = (float)a;",
    "walk": "float a = 0; for (int n = 0; n < trips; ++n) a += in[(i * stride + n * 64) & 0xffff];"
    " out[i] = a;",
    "ways": "float a = in[i]; for (int n = 0; n < trips; ++n)"
    " a = (i + n) & 1 ? a * 0.99f : a + 0.5f; out[i] = a;",
}
NAMES = {f"{kind}_{number}": number for kind in BODIES for number in range(4)}
TRIPS = {"chain": 128, "root": 28, "mixed": 128, "walk": 192, "ways": 96}
GROWTH = (1.0, 1.5, 2.0, 3.0)


def main() -> None:
    """Launch them all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slower", default="", help="NAME=FACTOR")
    parser.add_argument("--scattered", default="", help="NAME")
    parser.add_argument("--again", default="", help="NAME")
    parser.add_argument("--items", type=int, default=ITEMS, metavar="N")
    parser.add_argument("--longer", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    slower, _, factor = arguments.slower.partition("=")
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    queue = cl.CommandQueue(context)
    source = "".join(
        SOURCE.replace("NAME", name).replace("BODY", BODIES[name.partition("_")[0]])
        for name in NAMES
    )
    program = cl.Program(context, source).build()
    size = 4 * max(arguments.items, TABLE)
    out, values = (cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for _ in range(2))
    cl.enqueue_fill_buffer(queue, values, np.float32(0.5), 0, size)
    for name, number in NAMES.items():
        kernel = cl.Kernel(program, name)
        trips = TRIPS[name.partition("_")[0]] * GROWTH[number] * arguments.longer
        trips = round(trips * (float(factor) if name == slower else 1.0))
        stride = 2 if name == arguments.scattered else 1
        for _ in range(LAUNCHES + (name == arguments.again)):
            kernel(queue, (arguments.items,), (64,), out, values, np.int32(trips), np.int32(stride))
    queue.finish()


if __name__ == "__main__":
    main()
