"""Which products and sums NVIDIA's compilers make one instruction.

    python benchmarks/contraction.py --platform NVIDIA --json FILE      # needs ptxas and cuobjdump

The driver's PTX of each kernel goes through the assembler, and its products, sums and multiply-adds are
counted in the machine code.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file

OPTIONS: Final = ("", "-cl-mad-enable", "-cl-fast-relaxed-math")
OFF: Final = "\n#pragma OPENCL FP_CONTRACT OFF\n"
BODIES: Final = {
    "one sum": "float p = x * y; out[i] = p + z;",
    "two sums": "float p = x * y; out[i] = p + z; more[i] = p - x;",
    "a sum and a store": "float p = x * y; out[i] = p + z; more[i] = p;",
    "two products in one expression": "out[i] = x * y + z * b;",
    "two products": "float p = x * y; float r = z * b; out[i] = p + r;",
    "two products in two sums": "float p = x * y, r = z * b; out[i] = p - r; more[i] = p + r;",
    "a product of a product": "float p = x * y; float r = p * z; out[i] = r + x; more[i] = p - y;",
    "subtracted": "float p = x * y; out[i] = z - p;",
    "added twice": "float p = x * 0.5f; out[i] = z + p + p;",
    "doubled": "float p = (x + y) * 2.0f, r = (x - y) * 4.0f; out[i] = p + r; more[i] = r - p;",
    "squared": "float d = x - y; float e = d * d; out[i] = e + b;",
    "vectors": "float2 v = (float2)(x, y); float2 w = v * b; w += v; out[i] = w.x * w.y;",
    "of a function": "float p = product(x, y); out[i] = p + z;",
    "a sum and a product": "float p = x * y; float s = p + z; float r = p * b; out[i] = s * r;",
    "distances": "float dx = x - y, dy = y - z, dz = z - b;"
    " float d = dx * dx + dy * dy + dz * dz; float e = d * x; out[i] = e + d; more[i] = e - d;",
    "one after another": "float p = x * y; p += z * b; p -= x * z; p = p * b; p += y; out[i] = p;",
    "forbidden": f"{OFF}float p = x * y; out[i] = p + z;",
}
_INSTRUCTION: Final = re.compile(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\d+ )?(FFMA|FMUL|FADD)\b")


def source(name: str) -> str:
    """Return the kernel `f` of a body."""
    return f"""float product(float x, float y) {{ return x * y; }}
__kernel void f(__global const float *in, __global float *out, __global float *more, float b) {{
    int i = get_global_id(0);
    float x = in[i], y = in[i + 1024], z = in[i + 2048];
    {{ {BODIES[name]} }}
}}"""


def _count(ptx: str) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        text, binary = Path(directory) / "f.ptx", Path(directory) / "f.cubin"
        text.write_text(ptx.rstrip("\0"), encoding="utf-8")
        subprocess.run(["ptxas", "-arch=sm_90", text, "-o", binary], check=True)
        listing = subprocess.run(
            ["cuobjdump", "-sass", binary],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return dict(Counter(_INSTRUCTION.findall(listing)))


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the instructions by options and body."""
    instructions: dict[str, dict[str, dict[str, int]]] = {}
    for options in OPTIONS:
        instructions[options] = {}
        for name in BODIES:
            program = cl.Program(queue.context, source(name)).build(options=options.split())
            ptx = program.get_info(cl.program_info.BINARIES)[0].decode()
            instructions[options][name] = _count(ptx)
    return {"instructions": instructions}


if __name__ == "__main__":
    measure_to_file("Which products and sums become one instruction.", _measure)
