"""Make PoCL's wheel build programs on processors that are newer than its LLVM.

`pocl-binary-distribution` 3.0 has LLVM 14, which calls a processor that it does not know "generic"; its
clang then refuses every program (pocl/pocl#1049). A Zen 4 it takes for a Zen 3 with instructions that
this does not have, and ends the process over vectors of 16 elements ("Do not know how to scalarize this
operator's operand"). No setting of PoCL's changes that. Where it is so, this replaces
`llvm::sys::getHostCPUName` in the copy of PoCL in this virtual environment by a function that names an
older processor with the same vector instructions. `make test` runs it first.
"""

import subprocess
import sys
from pathlib import Path

import pyopencl

_SYMBOL = "_ZN4llvm3sys14getHostCPUNameEv"
_TRIAL = """
import warnings
warnings.simplefilter("ignore")
import pyopencl as cl
for platform in cl.get_platforms():
    if platform.name == "Portable Computing Language":
        context = cl.Context(platform.get_devices())
        queue = cl.CommandQueue(context)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
        source = "__kernel void k(__global int *a) { vstore16(vload16(1, a) + (int)%dL, 0, a); }"
        cl.Kernel(cl.Program(context, source).build(), "k")(queue, (1,), None, buffer)
        queue.finish()
"""


def main() -> None:
    """Patch this environment's PoCL if it builds too little, and say so."""
    if _works():
        return
    for library in _libraries():
        _patch(library, _known_name())
    if not _works():
        sys.exit("PoCL runs no program on this processor, not even as a known one")
    print(f"PoCL now takes this processor, which is newer than its LLVM, for {_known_name()!r}")


def is_patched() -> bool:
    """Whether this environment's PoCL takes the processor for another."""
    return any(_mark(library).exists() for library in _libraries())


def _mark(library: Path) -> Path:
    return library.with_suffix(".known-processor")


def _works() -> bool:
    """Whether PoCL builds and runs a program that is not in its cache."""
    number = Path("/proc/uptime").read_text(encoding="ascii").split()[0].replace(".", "")
    trial = _TRIAL.replace("%d", number)
    return subprocess.run([sys.executable, "-c", trial], capture_output=True).returncode == 0


def _libraries() -> list[Path]:
    return sorted((Path(pyopencl.__file__).parent / ".libs").glob("libpocl-*.so"))


def _known_name() -> str:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return "skylake-avx512" if "avx512bw" in flags else "haswell" if "avx2" in flags else "x86-64"


def _patch(library: Path, name: str) -> None:
    """Overwrite the function by one that returns a constant: `lea rax, [rip+6]; mov edx, n; ret`."""
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    place = next(int(line.split()[0], 16) for line in symbols.splitlines() if _SYMBOL in line)
    code = bytes.fromhex("488d0506000000ba") + len(name).to_bytes(4, "little") + b"\xc3"
    with library.open("r+b") as file:
        file.seek(place)  # the library's code is mapped where it lies in the file
        file.write(code + name.encode() + b"\0")
    _mark(library).write_text(name)


if __name__ == "__main__":
    main()
