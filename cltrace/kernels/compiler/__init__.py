"""The compiler: OpenCL C in, LLVM IR or assembly out. Nothing above this package sees clang.

`Compiler.compile` turns source, options and headers into the text of a module, or raises an error with
file, line, column and the compiler's message.
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
from cltrace.kernels.compiler.confinement import (
    HEADERS,
    PRELUDE,
    ConfinedRun,
    ProcessLimits,
    run_confined,
)
from cltrace.kernels.compiler.options import BuildOptions, read_options
from cltrace.kernels.compiler.targets import (
    SHIM,
    TARGET_FLAGS,
    RegisterUse,
    Target,
    read_registers,
)

__all__ = [
    "BOTH_FORMS",
    "BuildOptions",
    "CodeForm",
    "CompileRequest",
    "Compiler",
    "RegisterUse",
    "Target",
    "read_options",
    "read_registers",
]

SOURCE_NAME: Final = "program.cl"
"""The name of the source itself in messages and line numbers."""
_PRELUDE: Final = Path(__file__).with_name("prelude.h")
_DIAGNOSTIC: Final = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$",
    re.MULTILINE,
)


class CodeForm(StrEnum):
    """Form of compiled code."""

    OPTIMISED = "optimised"
    """LLVM IR after the device-independent optimisations of a driver's compiler: loops are neither
    unrolled nor vectorised."""
    WRITTEN = "written"
    """LLVM IR of the program as it is written, without optimisation."""
    NVIDIA = "nvptx64"
    """PTX for an NVIDIA GPU."""
    AMD = "amdgcn"
    """Assembly for an AMD GPU."""


BOTH_FORMS: Final = frozenset({CodeForm.OPTIMISED, CodeForm.WRITTEN})
"""The forms of a program in LLVM IR."""
_COMMON: Final = (
    "-x", "cl", "-cl-no-stdinc", "-Xclang", "-fdeclare-opencl-builtins", "-include", PRELUDE,
    "-fno-color-diagnostics", "-fno-caret-diagnostics", "-ferror-limit=20", "-Wno-everything",
    "-Xclang", "-cl-ext=-cl_amd_media_ops,-cl_amd_media_ops2,-cl_intel_subgroups,"
    "-cl_intel_subgroups_short,-cl_intel_subgroups_char,-cl_intel_subgroups_long,"
    "-cl_intel_device_side_avc_motion_estimation", "-fmacro-backtrace-limit=1",
    "-ftemplate-backtrace-limit=1", "-fbracket-depth=512", "-fgnu89-inline", "-S",
)  # fmt: skip
_SHIM: Final = "cltrace-target.h"
_LINES: Final = ("-gline-tables-only", "-fdebug-compilation-dir=/cltrace")
_ASSEMBLY: Final = (
    *_COMMON,
    "-include",
    f"{HEADERS}/{_SHIM}",
    "-Xclang",
    "-cl-ext=+cl_khr_fp64,+cl_khr_fp16",
    "-nogpulib",
    "-O2",
    "-mllvm",
    "-inline-threshold=1000000",
    "-fapprox-func",
    *_LINES,
)
_IR: Final = (
    "-target",
    "spir64",
    "-emit-llvm",
    "-cl-kernel-arg-info",
    "-fdiscard-value-names",
    *_LINES,
    "-fno-strict-aliasing",  # drivers' compilers do not tell memory apart by types
)
_NO_CONVERGENT: Final = "-fno-convergent-functions"
_OPTIMISED: Final = (
    "-O2",
    # Of loops, only those are unrolled that the program says to: by 4 where trips are unknown and it does
    # not say how far, as NVIDIA's compiler does. -fno-unroll-loops would mark all others as never to be.
    "-mllvm",
    "-unroll-threshold=1",
    "-mllvm",
    "-unroll-max-percent-threshold-boost=100",
    "-mllvm",
    "-unroll-allow-peeling=0",
    "-mllvm",
    "-unroll-max-count=4",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    _NO_CONVERGENT,  # drivers know that functions such as get_local_id may be moved
    "-mllvm",
    "-inline-threshold=1000000",
    "-mllvm",
    "-disable-vector-combine",
    "-mllvm",
    "-disable-loop-idiom-all",  # GPUs' compilers call no functions that set or copy memory
)
_OWN_FUNCTION: Final = ("must have the 'overloadable' attribute", PRELUDE)
"""Words of clang about a program's own function or macro by the name of one that the prelude declares."""
_WITH_OWN_FUNCTIONS: Final = "-DCLTRACE_OWN_FUNCTIONS"
_FLAGS: Final[Mapping[CodeForm, tuple[str, ...]]] = {
    CodeForm.OPTIMISED: (*_COMMON, *_IR, *_OPTIMISED),
    CodeForm.WRITTEN: (*_COMMON, *_IR, "-O0"),
    CodeForm.NVIDIA: (*_ASSEMBLY, *TARGET_FLAGS[Target.NVIDIA]),
    CodeForm.AMD: (*_ASSEMBLY, *TARGET_FLAGS[Target.AMD]),
}


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Input of a compilation. `headers` are files by the names under which the source includes them."""

    source: str
    options: BuildOptions = field(default_factory=BuildOptions)
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    """Extra clang arguments from cltrace's own code; nothing from a trace may go here."""


class Compiler:
    """Compiles OpenCL C, each input once: outputs are cached on disk by content.

    Clang is looked up on the first compilation.
    """

    def __init__(self, cache: DiskCache | None = None, limits: ProcessLimits | None = None) -> None:
        self._cache = cache if cache is not None else DiskCache(cache_directory())
        self._limits = limits if limits is not None else ProcessLimits()

    def compile(self, request: CompileRequest, form: CodeForm) -> str:
        """Return the compiled text of `request` in `form`.

        Raises: `KernelSourceError`, `CompilerMissingError`, `CompilerFailedError`.
        """
        clang = find_clang()
        key = _cache_key(clang, request, form)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        run = self._run(_command(clang, request, form), request)
        if run.status != 0 and any(words in run.diagnostics for words in _OWN_FUNCTION):
            run = self._run([*_command(clang, request, form), _WITH_OWN_FUNCTIONS], request)
        if run.status != 0:
            raise _source_error(run.diagnostics)
        self._cache.put(key, run.output)
        return run.output

    def _run(self, command: list[str], request: CompileRequest) -> ConfinedRun:
        return run_confined(command, request.source, request.headers, _PRELUDE, self._limits)

    def compile_assembly(self, request: CompileRequest, target: Target) -> str:
        """Return `request` compiled to the assembly of `target`. Raises: as `compile`."""
        shim = SHIM.read_text(encoding="utf-8")
        headers = {**request.headers, _SHIM: shim}
        return self.compile(replace(request, headers=headers), CodeForm(target))


def _command(clang: Clang, request: CompileRequest, form: CodeForm) -> list[str]:
    options = request.options
    # Functions that are not inlined may contain barriers, and then may not be moved or copied.
    texts = (request.source, *request.headers.values(), *options.passed)
    keeps_calls = any("noinline" in text for text in texts)
    flags = [flag for flag in _FLAGS[form] if not (keeps_calls and flag == _NO_CONVERGENT)]
    include = [f"-I{HEADERS}/{name.lstrip('/')}" for name in options.include_directories]
    return [
        *clang.command,
        *flags,
        *options.passed,
        *include,
        f"-I{HEADERS}",
        *request.extra,
    ]


def _cache_key(clang: Clang, request: CompileRequest, form: CodeForm) -> str:
    """Return the hash of everything that the output depends on."""
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


def _source_error(diagnostics: str) -> Exception:
    """Return the first error of a compilation, with its place in terms of the program's own files."""
    match = _DIAGNOSTIC.search(diagnostics)
    if match is None:
        lines = [line for line in diagnostics.splitlines() if line.strip()]
        first = lines[0] if lines else "it printed no message"
        if "error: " in first:
            return KernelSourceError(SOURCE_NAME, first.partition("error: ")[2], diagnostics)
        return CompilerFailedError(f"the compiler failed: {first}")
    place = f"{user_file_name(match['file'])}:{match['line']}:{match['column']}"
    return KernelSourceError(place, match["message"], diagnostics.replace("<stdin>", SOURCE_NAME))


def user_file_name(name: str) -> str:
    """Return the user's name of a file that the compiler calls `name`."""
    if name in {"<stdin>", "-", "/cltrace/<stdin>"}:
        return SOURCE_NAME
    return name.removeprefix(f"{HEADERS}/")
