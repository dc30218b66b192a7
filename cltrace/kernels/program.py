"""Programs in OpenCL C: parsing, and facts about kernels that need no execution."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerFailedError, KernelSourceError
from cltrace.kernels.compiler import (
    SOURCE_NAME,
    CodeForm,
    Compiler,
    CompileRequest,
    RegisterUse,
    Target,
    read_options,
    read_registers,
    user_file_name,
)
from cltrace.kernels.compiler.targets import BODY_PREFIX
from cltrace.kernels.execute.prepared_kernel import PreparedKernel, prepare_kernel
from cltrace.kernels.ir.module import Declaration, KernelFacts, Module
from cltrace.kernels.ir.reader import read_module
from cltrace.kernels.ir.types import SPACE_NAMES, OpaqueType, PointerType
from cltrace.kernels.limits import check_code_size, limit_reading

_NO_CONTRACTION: Final = re.compile(r"\bFP_CONTRACT\s+OFF\b")
_SUFFIXES: Final = frozenset({".h", ".cl", ".hpp", ".inc", ".clh"})
"""Suffixes of the files in an include directory that a source may include."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel as declared in its source.

    `space` is the address space of a pointer's target, "" for a parameter passed by value. `type` is
    the type as written. `access` is `read_only`, `write_only` or `read_write` for images, else
    `none`. `qualifiers` is a subset of `const`, `restrict` and `volatile`.
    """

    name: str
    type: str
    space: str
    access: str
    qualifiers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a program.

    `line` is its first line in the source. `required_local_size` is the value of
    `reqd_work_group_size`, or None.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    line: int
    file: str
    required_local_size: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class KernelCode:
    """The code of a kernel: its program's source, its place in it, and its registers by GPU.

    `line` is 0 if the kernel is in another file. The registers of a GPU are None if clang alone cannot
    determine them.
    """

    source: str
    line: int
    registers: Mapping[Target, RegisterUse | None]


class Program:
    """A parsed program. Each code form is compiled when it is first needed."""

    def __init__(self, request: CompileRequest, compiler: Compiler, options: str) -> None:
        self.source = request.source
        self.options = options
        self._request = request
        self._compiler = compiler
        self._modules: dict[CodeForm, Module] = {}
        self._prepared: dict[tuple[str, CodeForm], PreparedKernel] = {}
        self._registers: dict[Target, Mapping[str, RegisterUse]] = {}

    def with_source(self, source: str) -> "Program":
        """Return the program with another source, and the same options and headers."""
        request = replace(self._request, source=source)
        return Program(request, self._compiler, self.options)

    @property
    def headers(self) -> Mapping[str, str]:
        """The header files passed with the source, by name."""
        return self._request.headers

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels by name, in source order."""
        module = self.module(CodeForm.OPTIMISED)
        declarations = [
            module.declarations[name]
            for name in module.declarations
            if not name.startswith(BODY_PREFIX)
        ]
        return {
            declaration.name: _describe_kernel(declaration, declaration.kernel)
            for declaration in declarations
            if declaration.kernel is not None
        }

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions that are not kernels."""
        names = self.module(CodeForm.WRITTEN).functions
        return tuple(
            name for name in names if not name.startswith(BODY_PREFIX) and name not in self.kernels
        )

    def module(self, form: CodeForm) -> Module:
        """Return the compiled program in one code form."""
        module = self._modules.get(form)
        if module is None:
            with limit_reading():
                text = self._compiler.compile(self._request, form)
                check_code_size(text)
                module = self._modules[form] = read_module(text, user_file_name)
        return module

    def registers(self, kernel: str, target: Target) -> RegisterUse | None:
        """Return a kernel's register use on `target`, or None if clang alone cannot determine it."""
        uses = self._registers.get(target)
        if uses is None:
            assembly = self.assembly(target)
            uses = self._registers[target] = read_registers(target, assembly, user_file_name)
        return uses.get(kernel)

    def code(self, kernel: str, targets: Iterable[Target] = ()) -> KernelCode:
        """Return the code of a kernel, with its registers on `targets`."""
        facts = self.kernels[kernel]
        return KernelCode(
            self.source,
            facts.line if facts.file in {SOURCE_NAME, ""} else 0,
            {target: self.registers(kernel, target) for target in targets},
        )

    def assembly(self, target: Target) -> str:
        """Return the program's assembly for `target`; "" if clang alone cannot compile it."""
        try:
            return self._compiler.compile_assembly(self._request, target)
        except (KernelSourceError, CompilerFailedError):
            return ""

    def prepare(self, kernel: str, form: CodeForm) -> PreparedKernel:
        """Return a kernel ready to be executed.

        Raises: `UnsupportedKernelError`; `ValueError` if the program has no such kernel.
        """
        cached = self._prepared.get((kernel, form))
        if cached is None:
            if kernel not in self.kernels:
                names = ", ".join(self.kernels) or "none"
                raise ValueError(f"the program has no kernel {kernel!r}; it has {names}")
            module = self.module(form)
            body = BODY_PREFIX + kernel if form is CodeForm.WRITTEN else kernel
            name = body if body in module.functions else kernel
            with limit_reading():
                cached = prepare_kernel(module, name, contracts=not self._forbids_contraction())
            self._prepared[kernel, form] = cached
        return cached

    def _forbids_contraction(self) -> bool:
        return any(map(_NO_CONTRACTION.search, (self.source, *self.headers.values())))


def parse(
    source: str,
    options: str | Sequence[str] = "",
    *,
    include_dirs: Iterable[str | Path] = (),
    headers: Mapping[str, str] | None = None,
    compiler: Compiler | None = None,
) -> Program:
    """Parse the OpenCL C 1.0 to 3.0 program `source`, built with `options`.

    `headers` are the files that it includes, by name; `include_dirs` are directories whose files it
    may also include. No other file is ever read.

    Raises: `KernelSourceError` with file, line, column and the compiler's message,
    `BuildOptionError`, `CompilerMissingError`, `CompilerFailedError`.
    """
    files = dict(_read_headers(include_dirs))
    files.update(headers or {})
    request = CompileRequest(source, read_options(options), files)
    option_text = options if isinstance(options, str) else " ".join(options)
    program = Program(request, compiler if compiler is not None else Compiler(), option_text)
    program.module(CodeForm.OPTIMISED)
    return program


def _read_headers(directories: Iterable[str | Path]) -> Iterable[tuple[str, str]]:
    """Yield name and text of each file in the directories; the first file of a name wins."""
    seen = set()
    for directory in directories:
        root = Path(directory)
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if name not in seen and path.is_file() and path.suffix in _SUFFIXES:
                seen.add(name)
                yield name, path.read_text(encoding="utf-8", errors="surrogateescape")


def _describe_kernel(declaration: Declaration, facts: KernelFacts) -> Kernel:
    count = len(declaration.parameters)

    def at(values: Sequence[str], index: int, default: str = "") -> str:
        return values[index] if len(values) == count else default

    parameters = []
    for index, parameter in enumerate(declaration.parameters):
        space = ""
        if isinstance(parameter.type, PointerType) and parameter.pointee is None:
            space = SPACE_NAMES[parameter.type.space]
        elif isinstance(parameter.type, OpaqueType):
            space = "global"
        parameters.append(
            KernelParameter(
                name=at(facts.names, index, f"argument {index}"),
                type=at(facts.types, index),
                space=space,
                access=at(facts.access, index, "none"),
                qualifiers=tuple(at(facts.qualifiers, index).split()),
            )
        )
    return Kernel(
        declaration.name,
        tuple(parameters),
        declaration.place.line,
        declaration.place.file,
        facts.required_local_size,
    )
