"""Reader of modules in LLVM IR text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeVar

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.ir.constant_reader import read_constant
from cltrace.kernels.ir.function_reader import FunctionReader
from cltrace.kernels.ir.metadata import Metadata
from cltrace.kernels.ir.module import Declaration, Function, Module, Variable
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.type_reader import read_type
from cltrace.kernels.ir.types import Type, alignment_bytes

_STRUCT: Final = re.compile(r"^(%[-\w.$\"]+) = type (.*)$", re.MULTILINE)
_DEFINITION: Final = re.compile(
    r"^define [^@\n]*@(\"[^\"]*\"|[-\w.$]+)\(.*?^}$", re.MULTILINE | re.DOTALL
)
_VARIABLE: Final = re.compile(r"^(@[-\w.$]+|@\"[^\"]*\") = (.*)$", re.MULTILINE)
_LINKAGE: Final = frozenset(
    {
        "private",
        "internal",
        "external",
        "dso_local",
        "unnamed_addr",
        "local_unnamed_addr",
        "linkonce",
        "linkonce_odr",
        "weak",
        "weak_odr",
        "common",
        "available_externally",
        "hidden",
        "protected",
    }
)


def read_module(text: str, file_name: Callable[[str], str] = str) -> Module:
    """Read a module from LLVM IR as clang writes it for `spir64`.

    `file_name` maps the compiler's file names to the user's.
    Raises: `UnsupportedKernelError` for IR that cannot be read.
    """
    metadata = Metadata(text, file_name)
    try:
        structures = _read_structures(text)
        variables = {variable.name: variable for variable in _read_variables(text, structures)}
    except UnreadableError as error:
        raise _unsupported(error) from error
    texts = {symbol_name(f"@{match[1]}"): match[0] for match in _DEFINITION.finditer(text)}

    def declaration(name: str) -> Declaration:
        return FunctionReader(structures, metadata).read_declaration(texts[name].split("\n", 1)[0])

    def function(name: str) -> Function:
        return FunctionReader(structures, metadata).read_function(texts[name].split("\n"))

    return Module(_LazyMapping(texts, declaration), _LazyMapping(texts, function), variables)


_Item = TypeVar("_Item")


class _LazyMapping(Mapping[str, _Item]):
    """An item per function of a module, by name, read on first access."""

    def __init__(self, names: Iterable[str], read: Callable[[str], _Item]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read
        self._items: dict[str, _Item] = {}

    def __getitem__(self, name: str) -> _Item:
        if name not in self._items:
            if name not in self._names:
                raise KeyError(name)
            try:
                self._items[name] = self._read(name)
            except UnreadableError as error:
                raise _unsupported(error) from error
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _unsupported(error: UnreadableError) -> UnsupportedKernelError:
    return UnsupportedKernelError(f"cannot read the compiled program: {error}")


def _read_structures(text: str) -> dict[str, Type]:
    """Read the named structure types. A structure may contain others that are defined after it."""
    structures: dict[str, Type] = {}
    waiting = {name: body for name, body in _STRUCT.findall(text) if body != "opaque"}
    while waiting:
        ready = [
            name
            for name, body in waiting.items()
            if not any(other in waiting for other in re.findall(r"%[-\w.$\"]+", body))
        ]
        if not ready:
            raise UnreadableError("structures contain each other")
        for name in ready:
            structures[name] = read_type(Tokens(waiting.pop(name)), structures)
    return structures


def _read_variables(text: str, structures: dict[str, Type]) -> Iterator[Variable]:
    for name, rest in _VARIABLE.findall(text):
        tokens = Tokens(rest.split(", !dbg", 1)[0])
        external = False
        while tokens.peek() in _LINKAGE:
            external |= tokens.take() == "external"
        space = 0
        if tokens.skip("addrspace"):
            tokens.expect("(")
            space = int(tokens.take())
            tokens.expect(")")
        tokens.skip("externally_initialized")
        if tokens.take() not in {"global", "constant"}:
            continue
        kind = read_type(tokens, structures)
        has_value = not external and tokens.peek() not in {
            "",
            ",",
            "undef",
            "poison",
            "zeroinitializer",
        }
        value = read_constant(tokens, kind, structures) if has_value else None
        yield Variable(symbol_name(name), kind, space, value, _alignment(tokens, kind))


def _alignment(tokens: Tokens, kind: Type) -> int:
    for word, number in pairwise(tokens.words):
        if word == "align" and number.isdigit():
            return int(number)
    return alignment_bytes(kind)
