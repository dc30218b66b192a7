"""A module, from the text of LLVM IR."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeVar

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.ir.constant_reader import read_constant
from cltrace.kernels.ir.function_reader import FunctionReader
from cltrace.kernels.ir.metadata import Metadata
from cltrace.kernels.ir.module import Function, Head, Module, Variable
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
        "private", "internal", "external", "dso_local", "unnamed_addr",
        "local_unnamed_addr", "linkonce", "linkonce_odr", "weak", "weak_odr", "common",
        "available_externally", "hidden", "protected",
    }
)  # fmt: skip


def read_module(text: str, file_name: Callable[[str], str] = str) -> Module:
    """The module that `text` is, LLVM IR as clang writes it for `spir64`.

    `file_name` turns names of files as the compiler knows them into those users know.
    Raises: `UnsupportedKernelError` when something in it cannot be read.
    """
    metadata = Metadata(text, file_name)
    try:
        named = _structures(text)
        variables = {variable.name: variable for variable in _variables(text, named)}
    except UnreadableError as error:
        raise _unsupported(error) from error
    texts = {symbol_name(f"@{found[1]}"): found[0] for found in _DEFINITION.finditer(text)}

    def head(name: str) -> Head:
        return FunctionReader(named, metadata).head(texts[name].split("\n", 1)[0])

    def function(name: str) -> Function:
        return FunctionReader(named, metadata).read(texts[name].split("\n"))

    return Module(_WhenAsked(texts, head), _WhenAsked(texts, function), variables)


_Read = TypeVar("_Read")


class _WhenAsked(Mapping[str, _Read]):
    """Something of each function of a module, by name, read when it is first asked for."""

    def __init__(self, names: Iterable[str], read: Callable[[str], _Read]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read
        self._known: dict[str, _Read] = {}

    def __getitem__(self, name: str) -> _Read:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            try:
                self._known[name] = self._read(name)
            except UnreadableError as error:
                raise _unsupported(error) from error
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _unsupported(error: UnreadableError) -> UnsupportedKernelError:
    return UnsupportedKernelError(f"the compiled program cannot be read: {error}")


def _structures(text: str) -> dict[str, Type]:
    """The structures with names. One may hold others that come later."""
    named: dict[str, Type] = {}
    waiting = {name: body for name, body in _STRUCT.findall(text) if body != "opaque"}
    while waiting:
        ready = [
            name
            for name, body in waiting.items()
            if not any(other in waiting for other in re.findall(r"%[-\w.$\"]+", body))
        ]
        if not ready:
            raise UnreadableError("structures hold each other")
        for name in ready:
            named[name] = read_type(Tokens(waiting.pop(name)), named)
    return named


def _variables(text: str, named: dict[str, Type]) -> Iterator[Variable]:
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
        kind = read_type(tokens, named)
        has_value = not external and tokens.peek() not in {
            "",
            ",",
            "undef",
            "poison",
            "zeroinitializer",
        }
        value = read_constant(tokens, kind, named) if has_value else None
        yield Variable(symbol_name(name), kind, space, value, _alignment(tokens, kind))


def _alignment(tokens: Tokens, kind: Type) -> int:
    for word, number in pairwise(tokens.words):
        if word == "align" and number.isdigit():
            return int(number)
    return alignment_bytes(kind)
