"""The compiler seam: OpenCL C in, LLVM IR out. Nothing above this package sees clang.

`compile_source` is the seam: text, options and headers become the text of a module, or an error with
file, line, column and the compiler's words.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerFailedError, KernelSourceError
from cltrace.kernels.compiler.cache import DiskCache, cache_directory
from cltrace.kernels.compiler.clang import Clang, find_clang
from cltrace.kernels.compiler.confinement import HEADERS, PRELUDE, Limits, run_confined
from cltrace.kernels.compiler.options import BuildOptions, read_options
from cltrace.kernels.compiler.targets import (
    SHIM,
    TARGET_FLAGS,
    RegisterUse,
    Target,
    read_registers,
)

__all__ = [
    "BuildOptions",
    "CompileRequest",
    "Compiler",
    "Form",
    "RegisterUse",
    "Target",
    "read_options",
    "read_registers",
]

SOURCE_NAME: Final = "program.cl"
"""What the source itself is called in messages and line numbers."""
_PRELUDE: Final = Path(__file__).with_name("prelude.h")
_DIAGNOSTIC: Final = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)


class Form(StrEnum):
    """What of a program is asked for."""

    OPTIMISED = "optimised"
    """LLVM IR as a driver's compiler optimises it, but for what depends on the device: loops are
    neither unrolled nor vectorised."""
    WRITTEN = "written"
    """LLVM IR as the program is written: nothing is optimised."""
    NVIDIA = "nvptx64"
    """PTX for a GPU of NVIDIA's."""
    AMD = "amdgcn"
    """Assembly for a GPU of AMD's."""


_COMMON: Final = (
    "-x", "cl", "-cl-no-stdinc", "-Xclang", "-fdeclare-opencl-builtins", "-include", PRELUDE,
    "-fno-color-diagnostics", "-fno-caret-diagnostics", "-ferror-limit=20", "-Wno-everything",
    "-Xclang", "-cl-ext=-cl_amd_media_ops,-cl_amd_media_ops2,-cl_intel_subgroups,"
    "-cl_intel_subgroups_short,-cl_intel_subgroups_char,-cl_intel_subgroups_long,"
    "-cl_intel_device_side_avc_motion_estimation", "-fmacro-backtrace-limit=1",
    "-ftemplate-backtrace-limit=1", "-fbracket-depth=512", "-fgnu89-inline", "-S",
)  # fmt: skip
_SHIM: Final = "cltrace-target.h"
_TARGET: Final = (
    *_COMMON, "-include", f"{HEADERS}/{_SHIM}", "-Xclang", "-cl-ext=+cl_khr_fp64,+cl_khr_fp16",
    "-nogpulib", "-O2", "-mllvm", "-inline-threshold=1000000", "-fapprox-func",
)  # fmt: skip
_IR: Final = (
    "-target", "spir64", "-emit-llvm", "-gline-tables-only", "-cl-kernel-arg-info",
    "-fdiscard-value-names", "-fdebug-compilation-dir=/cltrace",
)  # fmt: skip
_OPTIMISED: Final = (
    "-O2", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize",
    "-mllvm", "-inline-threshold=1000000", "-mllvm", "-disable-vector-combine",
)  # fmt: skip
_FLAGS: Final[Mapping[Form, tuple[str, ...]]] = {
    Form.OPTIMISED: (*_COMMON, *_IR, *_OPTIMISED),
    Form.WRITTEN: (*_COMMON, *_IR, "-O0"),
    Form.NVIDIA: (*_TARGET, *TARGET_FLAGS[Target.NVIDIA]),
    Form.AMD: (*_TARGET, *TARGET_FLAGS[Target.AMD]),
}


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What is to be compiled. `headers` are files by the names under which the source finds them."""

    source: str
    options: BuildOptions = field(default_factory=BuildOptions)
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    """Words for clang from cltrace's own code; nothing of a trace comes here."""


class Compiler:
    """Compiles OpenCL C, each text once: results are kept on disk by their content.

    The clang is looked for when something has to be compiled.
    """

    def __init__(self, cache: DiskCache | None = None, limits: Limits | None = None) -> None:
        self._cache = cache if cache is not None else DiskCache(cache_directory())
        self._limits = limits if limits is not None else Limits()

    def compile(self, request: CompileRequest, form: Form) -> str:
        """The text of `request` in `form`.

        Raises: `KernelSourceError`, `CompilerMissingError`, `CompilerFailedError`.
        """
        clang = find_clang()
        key = _key(clang, request, form)
        known = self._cache.get(key)
        if known is not None:
            return known
        outcome = run_confined(
            _command(clang, request, form), request.source, request.headers, _PRELUDE, self._limits
        )
        if outcome.status != 0:
            raise _source_error(outcome.said)
        self._cache.put(key, outcome.output)
        return outcome.output

    def assembly(self, request: CompileRequest, target: Target) -> str:
        """The text of `request` in the instructions of `target`. Raises as `compile`."""
        shim = SHIM.read_text(encoding="utf-8")
        headers = {**request.headers, _SHIM: shim}
        return self.compile(replace(request, headers=headers), Form(target))


def _command(clang: Clang, request: CompileRequest, form: Form) -> list[str]:
    options = request.options
    include = [f"-I{HEADERS}/{name.lstrip('/')}" for name in options.include_directories]
    return [
        *clang.command,
        *_FLAGS[form],
        *options.passed,
        *include,
        f"-I{HEADERS}",
        *request.extra,
    ]


def _key(clang: Clang, request: CompileRequest, form: Form) -> str:
    """A name for what is made: the same words make the same text."""
    digest = hashlib.sha256()
    parts = [clang.version, request.source, *_command(clang, request, form)[len(clang.command) :]]
    parts.append(_prelude_text())
    for name, text in sorted(request.headers.items()):
        parts += [name, text]
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def _prelude_text() -> str:
    return _PRELUDE.read_text(encoding="utf-8")


def _source_error(said: str) -> Exception:
    """The first error of a compilation, with its place as the program's author knows it."""
    found = _DIAGNOSTIC.search(said)
    if found is None:
        first = next((line for line in said.splitlines() if line.strip()), "it said nothing")
        if "error: " in first:
            return KernelSourceError(SOURCE_NAME, first.partition("error: ")[2], said)
        return CompilerFailedError(f"the compiler failed: {first}")
    place = f"{source_name(found['file'])}:{found['line']}:{found['column']}"
    return KernelSourceError(place, found["text"], said.replace("<stdin>", SOURCE_NAME))


def source_name(name: str) -> str:
    """What a file is called that the compiler calls `name`."""
    if name in {"<stdin>", "-"}:
        return SOURCE_NAME
    return name.removeprefix(f"{HEADERS}/")
