"""Names of OpenCL's functions as the compiler mangles them (Itanium C++ ABI), taken apart.

LLVM's integers have no sign; the mangled name says how a function reads them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

_NUMBERS: Final = frozenset("abchstijlmxyfdvz")


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """A parameter of a builtin function.

    `code` is the ABI's letter of its element (`h` uchar, `i` int, `j` uint, `f` float, `Dh` half …) or
    a type's name; `count` the elements of a vector; `space` the address space of a pointer to such.
    """

    code: str
    count: int = 1
    space: int | None = None

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an integer without sign."""
        return self.code in {"h", "t", "j", "m", "y", "b"}

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.code in {"f", "d", "Dh"}


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a function and its parameters. One that is not mangled has none."""

    name: str
    parameters: tuple[ParameterKind, ...] = ()


@cache
def demangled(symbol: str) -> Signature:
    """What a symbol names. What cannot be taken apart is a name as it stands."""
    if not symbol.startswith("_Z"):
        return Signature(symbol)
    reader = _Reader(symbol)
    try:
        name = reader.name()
        parameters = reader.parameters()
    except (IndexError, ValueError, KeyError):
        return Signature(symbol)
    if len(parameters) == 1 and parameters[0].code == "v" and parameters[0].space is None:
        parameters = ()
    return Signature(name, parameters)


class _Reader:
    """A position in a mangled name, and the types that it may refer back to."""

    def __init__(self, symbol: str) -> None:
        self._text = symbol
        self._at = 2
        self._seen: list[ParameterKind] = []

    def name(self) -> str:
        """A name with its length before it."""
        begin = self._at
        while self._text[self._at].isdigit():
            self._at += 1
        end = self._at + int(self._text[begin : self._at])
        found = self._text[self._at : end]
        self._at = end
        return found

    def parameters(self) -> tuple[ParameterKind, ...]:
        """All parameters to the end."""
        found = []
        while self._at < len(self._text):
            found.append(self._type())
        return tuple(found)

    def _type(self) -> ParameterKind:
        letter = self._text[self._at]
        if letter in _NUMBERS:
            self._at += 1
            return ParameterKind(letter)
        if letter.isdigit():
            return self._remember(ParameterKind(self.name()))
        if letter == "S":
            return self._back_reference()
        if letter == "P":
            self._at += 1
            space, pointee = self._qualified()
            return self._remember(ParameterKind(pointee.code, pointee.count, space))
        if letter == "D":
            return self._number_or_vector()
        if letter in "KVUr":
            return self._qualified()[1]
        raise ValueError(self._text)

    def _remember(self, kind: ParameterKind) -> ParameterKind:
        self._seen.append(kind)
        return kind

    def _back_reference(self) -> ParameterKind:
        end = self._text.index("_", self._at)
        digits = self._text[self._at + 1 : end]
        self._at = end + 1
        return self._seen[int(digits, 36) + 1 if digits else 0]

    def _qualified(self) -> tuple[int, ParameterKind]:
        """A type with its qualifiers, and the address space among them.

        `const` and `volatile` are one thing to refer back to, each extended qualifier is one by itself.
        """
        letter = self._text[self._at]
        if letter == "U":
            self._at += 1
            word = self.name()
            space, kind = self._qualified()
            space = int(word[2:]) if word.startswith("AS") else space
            return (4 if word == "CLgeneric" else space), self._remember(kind)
        if letter in "KVr":
            while self._text[self._at] in "KVr":
                self._at += 1
            space, kind = self._qualified()
            return space, self._remember(kind)
        return 0, self._type()

    def _number_or_vector(self) -> ParameterKind:
        kind = self._text[self._at : self._at + 2]
        self._at += 2
        if kind == "Dv":
            end = self._text.index("_", self._at)
            count = int(self._text[self._at : end])
            self._at = end + 1
            return self._remember(ParameterKind(self._type().code, count))
        return ParameterKind(kind)


def base_name(signature: Signature) -> str:
    """A function's name, of an intrinsic without its types: `llvm.fmuladd.f32` is `llvm.fmuladd`."""
    if signature.name.startswith("llvm."):
        parts = signature.name.split(".")
        kept = [part for part in parts if not _is_type_word(part)]
        return ".".join(kept)
    return signature.name


def _is_type_word(part: str) -> bool:
    return part[:1] in {"f", "i", "v", "p"} and part[1:2].isdigit()
