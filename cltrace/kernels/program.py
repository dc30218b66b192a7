"""Programs in OpenCL C: what `parse` reads, and what is known of kernels without running them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerFailedError, KernelSourceError
from cltrace.kernels.compiler import (
    Compiler,
    CompileRequest,
    Form,
    RegisterUse,
    Target,
    read_options,
    read_registers,
    source_name,
)
from cltrace.kernels.compiler.targets import BODY
from cltrace.kernels.execute.prepared_kernel import Prepared, prepare
from cltrace.kernels.ir.module import Head, KernelFacts, Module
from cltrace.kernels.ir.reader import read_module
from cltrace.kernels.ir.types import SPACE_NAMES, OpaqueType, PointerType

_SUFFIXES: Final = frozenset({".h", ".cl", ".hpp", ".inc", ".clh"})
"""The files of a directory that a source may include."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel, as its source declares it.

    `space` is the address space of what it points to, "" for what is passed by value; `type` the
    source's words; `access` is `read_only`, `write_only`, `read_write` or none, for images; qualifiers
    are those of `const`, `restrict`, `volatile` that it has.
    """

    name: str
    type: str
    space: str
    access: str
    qualifiers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel. `line` is where it begins in the source; `required_local_size` its attribute or None."""

    name: str
    parameters: tuple[KernelParameter, ...]
    line: int
    file: str
    required_local_size: tuple[int, ...] | None


class Program:
    """A program that was read. Forms of it are compiled when something first needs them."""

    def __init__(self, request: CompileRequest, compiler: Compiler, options: str) -> None:
        self.source = request.source
        self.options = options
        self._request = request
        self._compiler = compiler
        self._modules: dict[Form, Module] = {}
        self._prepared: dict[tuple[str, Form], Prepared] = {}
        self._registers: dict[Target, Mapping[str, RegisterUse]] = {}

    @property
    def headers(self) -> Mapping[str, str]:
        """The files that came with the source, by name."""
        return self._request.headers

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels by name, in the order of the source."""
        module = self.module(Form.OPTIMISED)
        heads = [module.heads[name] for name in module.heads if not name.startswith(BODY)]
        return {head.name: _kernel(head, head.kernel) for head in heads if head.kernel is not None}

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions that are no kernels."""
        names = self.module(Form.WRITTEN).functions
        return tuple(
            name for name in names if not name.startswith(BODY) and name not in self.kernels
        )

    def module(self, form: Form) -> Module:
        """The program, compiled."""
        module = self._modules.get(form)
        if module is None:
            text = self._compiler.compile(self._request, form)
            module = self._modules[form] = read_module(text, source_name)
        return module

    def registers(self, kernel: str, target: Target) -> RegisterUse | None:
        """What a kernel needs of the registers of `target`, or None where clang alone cannot tell."""
        known = self._registers.get(target)
        if known is None:
            known = self._registers[target] = read_registers(target, self.assembly(target))
        return known.get(kernel)

    def assembly(self, target: Target) -> str:
        """The program in the instructions of `target`; "" where clang alone cannot compile it."""
        try:
            return self._compiler.assembly(self._request, target)
        except (KernelSourceError, CompilerFailedError):
            return ""

    def prepared(self, kernel: str, form: Form) -> Prepared:
        """A kernel ready to be executed. Raises: `UnsupportedKernelError`, `ValueError` for no kernel."""
        known = self._prepared.get((kernel, form))
        if known is None:
            if kernel not in self.kernels:
                names = ", ".join(self.kernels) or "none"
                raise ValueError(f"the program has no kernel {kernel!r}; it has {names}")
            module = self.module(form)
            body = BODY + kernel if form is Form.WRITTEN else kernel
            name = body if body in module.functions else kernel
            known = self._prepared[kernel, form] = prepare(module, name)
        return known


def parse(
    source: str,
    options: str | Sequence[str] = "",
    *,
    include_dirs: Iterable[str | Path] = (),
    headers: Mapping[str, str] | None = None,
    compiler: Compiler | None = None,
) -> Program:
    """The program that `source` is, OpenCL C 1.0 to 3.0, built with `options`.

    `headers` are files that it includes, by name; `include_dirs` are directories whose files it may
    include besides. No other file is ever read.

    Raises: `KernelSourceError` with file, line, column and the compiler's own words,
    `BuildOptionError`, `CompilerMissingError`, `CompilerFailedError`.
    """
    found = dict(_files(include_dirs))
    found.update(headers or {})
    request = CompileRequest(source, read_options(options), found)
    words = options if isinstance(options, str) else " ".join(options)
    program = Program(request, compiler if compiler is not None else Compiler(), words)
    program.module(Form.OPTIMISED)
    return program


def _files(directories: Iterable[str | Path]) -> Iterable[tuple[str, str]]:
    """The files of directories, by the names under which a source includes them; the first wins."""
    seen = set()
    for directory in directories:
        root = Path(directory)
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if name not in seen and path.is_file() and path.suffix in _SUFFIXES:
                seen.add(name)
                yield name, path.read_text(encoding="utf-8", errors="surrogateescape")


def _kernel(function: Head, facts: KernelFacts) -> Kernel:
    count = len(function.parameters)

    def at(values: Sequence[str], index: int, default: str = "") -> str:
        return values[index] if len(values) == count else default

    parameters = []
    for index, parameter in enumerate(function.parameters):
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
        function.name,
        tuple(parameters),
        function.place.line,
        function.place.file,
        facts.required_local_size,
    )
