"""Demangling of the names of OpenCL builtins (Itanium C++ ABI).

LLVM integers have no sign; the mangled name tells whether a function takes signed or unsigned ones.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

_BASIC_TYPES: Final = frozenset("abchstijlmxyfdvz")


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """A parameter of a builtin function.

    `code` is the ABI's letter of its element type (`h` uchar, `i` int, `j` uint, `f` float, `Dh` half …)
    or a type's name; `count` is the number of vector elements; `space` is the address space of a pointer
    to that type, or None.
    """

    code: str
    count: int = 1
    space: int | None = None

    @property
    def is_unsigned(self) -> bool:
        """True for an unsigned integer."""
        return self.code in {"h", "t", "j", "m", "y", "b"}

    @property
    def is_float(self) -> bool:
        """True for a floating-point number."""
        return self.code in {"f", "d", "Dh"}


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a function and its parameters, which are empty for a name that is not mangled."""

    name: str
    parameters: tuple[ParameterKind, ...] = ()


@cache
def demangle(symbol: str) -> Signature:
    """Return the signature of a symbol. A symbol that cannot be demangled is its own name."""
    if not symbol.startswith("_Z"):
        return Signature(symbol)
    demangler = _Demangler(symbol)
    try:
        name = demangler.read_name()
        parameters = demangler.read_parameters()
    except (IndexError, ValueError, KeyError):
        return Signature(symbol)
    if len(parameters) == 1 and parameters[0].code == "v" and parameters[0].space is None:
        parameters = ()
    return Signature(name, parameters)


class _Demangler:
    """A position in a mangled name, with the types for later back-references."""

    def __init__(self, symbol: str) -> None:
        self._text = symbol
        self._position = 2
        self._substitutions: list[ParameterKind] = []

    def read_name(self) -> str:
        """Read a name that its length precedes."""
        begin = self._position
        while self._text[self._position].isdigit():
            self._position += 1
        end = self._position + int(self._text[begin : self._position])
        name = self._text[self._position : end]
        self._position = end
        return name

    def read_parameters(self) -> tuple[ParameterKind, ...]:
        """Read all parameters to the end."""
        parameters = []
        while self._position < len(self._text):
            parameters.append(self._read_type())
        return tuple(parameters)

    def _read_type(self) -> ParameterKind:
        letter = self._text[self._position]
        if letter in _BASIC_TYPES:
            self._position += 1
            return ParameterKind(letter)
        if letter.isdigit():
            return self._remember(ParameterKind(self.read_name()))
        if letter == "S":
            return self._read_back_reference()
        if letter == "P":
            self._position += 1
            space, pointee = self._read_qualified()
            return self._remember(ParameterKind(pointee.code, pointee.count, space))
        if letter == "D":
            return self._read_number_or_vector()
        if letter in "KVUr":
            return self._read_qualified()[1]
        raise ValueError(self._text)

    def _remember(self, kind: ParameterKind) -> ParameterKind:
        self._substitutions.append(kind)
        return kind

    def _read_back_reference(self) -> ParameterKind:
        end = self._text.index("_", self._position)
        digits = self._text[self._position + 1 : end]
        self._position = end + 1
        return self._substitutions[int(digits, 36) + 1 if digits else 0]

    def _read_qualified(self) -> tuple[int, ParameterKind]:
        """Read a type with its qualifiers, and return it with the address space among them.

        For back-references, `const` and `volatile` count once together, each extended qualifier once.
        """
        letter = self._text[self._position]
        if letter == "U":
            self._position += 1
            word = self.read_name()
            space, kind = self._read_qualified()
            space = int(word[2:]) if word.startswith("AS") else space
            return (4 if word == "CLgeneric" else space), self._remember(kind)
        if letter in "KVr":
            while self._text[self._position] in "KVr":
                self._position += 1
            space, kind = self._read_qualified()
            return space, self._remember(kind)
        return 0, self._read_type()

    def _read_number_or_vector(self) -> ParameterKind:
        kind = self._text[self._position : self._position + 2]
        self._position += 2
        if kind == "Dv":
            end = self._text.index("_", self._position)
            count = int(self._text[self._position : end])
            self._position = end + 1
            return self._remember(ParameterKind(self._read_type().code, count))
        return ParameterKind(kind)


def base_name(signature: Signature) -> str:
    """Return a function's name, without type suffixes: `llvm.fmuladd` for `llvm.fmuladd.f32`."""
    if signature.name.startswith("llvm."):
        parts = signature.name.split(".")
        words = [part for part in parts if not _is_type_suffix(part)]
        return ".".join(words)
    return signature.name


def _is_type_suffix(part: str) -> bool:
    return part[:1] in {"f", "i", "v", "p"} and part[1:2].isdigit()
