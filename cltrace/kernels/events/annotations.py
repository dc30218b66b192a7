"""Annotations in comments of a source: memory to watch, values to emit, and charts of them.

    //@watch sums
    //@emit float partial[l] = sums[l]
    //@bind line partial
    //@bind image out 256

Other compilers ignore them. An emission becomes a call at its place, without which the source stays as
it is; no line is added or moved.

Source: Klein, "Towards Interactive Visual Exploration of Parallel Programs", chapter 5.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from cltrace.errors import KernelSourceError
from cltrace.kernels.builtins.function_kinds import EMISSION_PREFIX
from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.ir.source_places import Place

_VECTOR_TYPES: Final = (
    "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half",
)  # fmt: skip
_TYPES: Final = ("bool", "size_t", *_VECTOR_TYPES)
_WIDTHS: Final = (2, 3, 4, 8, 16)
_TOKEN: Final = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_EMISSION: Final = re.compile(
    rf"(?:(?P<type>{'|'.join(_TYPES)}|(?:{'|'.join(_VECTOR_TYPES)})(?:{'|'.join(map(str, _WIDTHS))}))"
    r"\s+)?(?P<name>[A-Za-z_]\w*)\s*(?:\[(?P<index>[^=]*)\])?"
    r"\s*=(?!=)\s*(?P<value>.+)",
    re.DOTALL,
)
_AT_LINE: Final = re.compile(r"(?P<text>.+)@(?P<line>\d+)", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_VALUE_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")
_CONDITION: Final = re.compile(r"\?|&&|\|\|")
_CHANGE: Final = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|\batom(?:ic)?_")
_DIRECTIVE: Final = re.compile(r"(?:^|\n)[ \t]*#(?:[^\n\\]|\\.|\\\n)*\Z")
"""A preprocessor directive at the end of a text."""
_WORDS: Final = ("watch", "emit", "bind")
_NO_INDEX: Final = "~(ulong)0"
_MAX_WIDTH: Final = 1 << 22


class Chart(StrEnum):
    """Kind of a chart of emitted values."""

    LINE = "line"
    SCATTER = "scatter"
    MULTI_BAR = "multibar"
    STACKED_AREA = "stackedarea"
    IMAGE = "image"
    """A picture of memory, by which work-items write each element."""


@dataclass(frozen=True, slots=True)
class Emission:
    """A value to record, by the name under which it is kept. Components of a vector are values.

    Attributes:
        name: the name; that of a component ends with `.x` or `.s0`.
        type: the type of the value, which is a scalar.
        line: the line at which it is computed.
    """

    name: str
    type: str
    line: int


@dataclass(frozen=True, slots=True)
class Binding:
    """A chart of emitted values, or a picture of memory with `width` elements per row; 0: as it fits."""

    chart: Chart
    names: tuple[str, ...]
    width: int = 0


@dataclass(frozen=True, slots=True)
class AnnotatedSource:
    """A source with what its annotations ask for.

    Attributes:
        text: the source, with calls in place of emissions.
        watched: names of arguments and variables.
        emissions: the emitted values, in the order of the calls' numbers.
        bindings: the charts.
        added: by line, the column from which on the text is a call that was added.
    """

    text: str
    watched: tuple[str, ...]
    emissions: tuple[Emission, ...]
    bindings: tuple[Binding, ...]
    added: Mapping[int, int]

    def is_added(self, place: Place) -> bool:
        """Return True for code of a call that was added."""
        return self.added_place(place) is not None

    def added_place(self, place: Place) -> Place | None:
        """Return the place in the added call that code is from; None for other code."""
        current: Place | None = place
        while current is not None:  # a function that a call's expression uses
            if self._is_here(current):
                return current
            current = current.called_from
        return None

    def _is_here(self, place: Place) -> bool:
        if place.file != SOURCE_NAME or place.line not in self.added:
            return False
        return place.column >= self.added[place.line]


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A call to insert in place of a part of the source. `width` is 1 for the value of a scalar."""

    begin: int
    end: int
    emission: Emission
    width: int
    index: str
    value: str

    def emissions(self) -> Sequence[Emission]:
        """Return the value, or those of the vector's components."""
        names = _component_names(self.emission.name, self.width)
        return [replace(self.emission, name=name) for name in names]

    def call(self, number: int) -> str:
        """Return the call of the function with a number, that of its first value."""
        index = f"(ulong)({self.index})" if self.index else _NO_INDEX
        kind = self._vector(self.emission.type)
        value = f"({kind})({self.value})"
        if self.emission.type == "half":  # exact in float, which needs no extension
            cast = f"convert_{self._vector('float')}" if self.width > 1 else "(float)"
            value = f"{cast}({self.value})"
        return f" {EMISSION_PREFIX}{number}({index}, {value});"

    def declaration(self, number: int) -> str:
        """Return the declaration of that function."""
        kind = {"bool": "int", "half": "float"}.get(self.emission.type, self.emission.type)
        return f"void {EMISSION_PREFIX}{number}(ulong, {self._vector(kind)});"

    def _vector(self, kind: str) -> str:
        return f"{kind}{self.width}" if self.width > 1 else kind


def read_annotations(source: str, emissions: Sequence[str] = ()) -> AnnotatedSource:
    """Return a source with its annotations, and with further `emissions` as `name=expression@line`.

    Raises: `KernelSourceError` with line and column of an annotation that is wrong.
    """
    code = blank_comments(source)
    watched: list[str] = []
    insertions: list[_Insertion] = []
    bindings: list[tuple[int, Binding]] = []
    for begin, end, word, text in _find_annotations(source):
        match word:
            case "watch":
                watched += _names(source, begin, text)
            case "bind":
                bindings.append((begin, _binding(source, begin, text)))
            case _:
                _check_statement(source, code, begin)
                insertions.append(_insertion(source, begin, end, text))
    insertions += [_insertion_at_line(source, code, text) for text in emissions]
    insertions.sort(key=lambda item: item.begin)
    _check_emitted(source, bindings, insertions)
    return AnnotatedSource(
        _insert(source, insertions),
        tuple(dict.fromkeys(watched)),
        tuple(emission for item in insertions for emission in item.emissions()),
        tuple(_with_components(binding, insertions) for _, binding in bindings),
        {_line(source, item.begin): _column(source, item.begin) for item in reversed(insertions)},
    )


def _check_emitted(
    source: str, bindings: Sequence[tuple[int, Binding]], insertions: Sequence[_Insertion]
) -> None:
    """Check that bound values are emitted. Raises: `KernelSourceError`."""
    emitted = {item.emission.name for item in insertions}
    emitted |= {emission.name for item in insertions for emission in item.emissions()}
    for begin, binding in bindings:
        missing = [name for name in binding.names if name not in emitted]
        if missing and binding.chart is not Chart.IMAGE:
            raise _error(source, begin, f"no value {missing[0]} is emitted")


def _with_components(binding: Binding, insertions: Sequence[_Insertion]) -> Binding:
    """Return a chart of values with the components of vectors in their place."""
    if binding.chart is Chart.IMAGE:
        return binding
    widths = {item.emission.name: item.width for item in insertions}
    names = [part for name in binding.names for part in _component_names(name, widths.get(name, 1))]
    return replace(binding, names=tuple(names))


def _component_names(name: str, width: int) -> Sequence[str]:
    if width == 1:
        return (name,)
    letters = "xyzw" if width <= 4 else [f"s{at:x}" for at in range(width)]
    return [f"{name}.{letter}" for letter in letters[:width]]


def _find_annotations(source: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield begin and end of each comment that is an annotation, its word and the text after that."""
    for token in _TOKEN.finditer(source):
        match = re.match(r"//\s*@(\w+)\b\s*(.*)", token[0])
        if match is None:
            continue
        if match[1] not in _WORDS and not get_close_matches(match[1], _WORDS, cutoff=0.75):
            continue  # other tools have words of their own, as `@param`
        if match[1] not in _WORDS:
            raise _error(
                source, token.start(), f"@{match[1]} is no annotation: watch, emit or bind"
            )
        yield token.start(), token.end(), match[1], match[2].strip().rstrip(";").rstrip()


def has_annotations(source: str) -> bool:
    """Return True for a text with a comment that looks like an annotation."""
    pattern = rf"//\s*@(?:{'|'.join(_WORDS)})\b"
    return any(re.match(pattern, token[0]) for token in _TOKEN.finditer(source))


def blank_comments(source: str) -> str:
    """Return the source with blanks in place of comments; line ends stay."""
    return _TOKEN.sub(
        lambda token: token[0] if token[0][0] in "\"'" else re.sub(r"[^\n]", " ", token[0]), source
    )


def _names(source: str, begin: int, text: str) -> list[str]:
    names = [name for name in re.split(r"[\s,]+", text) if name]
    if not names or not all(map(_NAME.fullmatch, names)):
        raise _error(source, begin, f"{text!r} is no name of a variable")
    return names


def _binding(source: str, begin: int, text: str) -> Binding:
    chart, *names = [word for word in re.split(r"[\s,]+", text) if word] or [""]
    charts = {kind.value: kind for kind in Chart}
    kind = charts.get(chart.lower().removesuffix("chart"))
    if kind is None:
        raise _error(source, begin, f"{chart!r} is no chart: {', '.join(charts)}")
    if kind is Chart.IMAGE:
        return _picture(source, begin, names)
    wrong = [name for name in names if not _VALUE_NAME.fullmatch(name)]
    if wrong or not names:
        raise _error(source, begin, f"{' '.join(wrong)!r} is no name of a value")
    return Binding(kind, tuple(names))


def _picture(source: str, begin: int, words: Sequence[str]) -> Binding:
    """Return the picture of a memory object: its name, and the number of elements per row."""
    name, *widths = words or [""]
    is_valid = all(width.isdecimal() and 0 < int(width) <= _MAX_WIDTH for width in widths)
    if not _NAME.fullmatch(name) or len(widths) > 1 or not is_valid:
        raise _error(source, begin, f"{' '.join(words)!r} is not NAME [WIDTH] of memory")
    return Binding(Chart.IMAGE, (name,), *map(int, widths))


def _insertion(source: str, begin: int, end: int, text: str) -> _Insertion:
    match = _EMISSION.fullmatch(text)
    if match is None or match["name"] in _TYPES:
        raise _error(source, begin, f"{text!r} is not TYPE NAME[INDEX] = EXPRESSION")
    if _CONDITION.search(match["value"] + (match["index"] or "")):
        raise _error(
            source,
            begin,
            "an emitted expression has no condition of its own: compute it in a statement before",
        )
    if _CHANGE.search(match["value"] + (match["index"] or "")):
        raise _error(source, begin, "an emitted expression changes nothing")
    named = match["type"] or "float"
    kind = named.rstrip("0123456789")
    emission = Emission(match["name"], kind, _line(source, begin))
    index = (match["index"] or "").strip()
    return _Insertion(
        begin, end, emission, int(named[len(kind) :] or 1), index, match["value"].strip()
    )


def _insertion_at_line(source: str, code: str, text: str) -> _Insertion:
    """Return the insertion of a value given beside the source: at the end of its line's code."""
    match = _AT_LINE.fullmatch(" ".join(text.split("\n")).strip())
    lines = source.split("\n")
    if match is None or not 1 <= int(match["line"]) <= len(lines):
        raise KernelSourceError(
            SOURCE_NAME, f"{text!r} is not NAME=EXPRESSION@LINE with a line of the source", ""
        )
    number = int(match["line"])
    first = sum(len(line) + 1 for line in lines[: number - 1])
    own = code[first : first + len(lines[number - 1])].rstrip()
    if not own:
        raise KernelSourceError(
            f"{SOURCE_NAME}:{number}", f"{text!r} is behind a line without code", ""
        )
    end = first + len(own)
    _check_statement(source, code, end)
    return replace(_insertion(source, end, end, match["text"].strip()), begin=end, end=end)


def _check_statement(source: str, code: str, begin: int) -> None:
    """Check that a statement has ended before a place, so that a call changes no other statement."""
    if _DIRECTIVE.search(code[:begin]):
        raise _error(source, begin, "a value is emitted outside of preprocessor directives")
    before = code[:begin].rstrip()
    while directive := _DIRECTIVE.search(before):
        before = before[: directive.start()].rstrip()
    if not before.endswith((";", "{", "}", ":")):
        raise _error(source, begin, "a value is emitted after the end of a statement")


def _insert(source: str, insertions: Sequence[_Insertion]) -> str:
    if not insertions:
        return source
    parts: list[str] = []
    declarations: list[str] = []
    position = number = 0
    for item in insertions:
        parts += [source[position : item.begin], item.call(number)]
        declarations.append(item.declaration(number))
        position = item.end
        number += len(item.emissions())
    return " ".join(declarations) + "\n#line 1\n" + "".join(parts) + source[position:]


def _line(source: str, position: int) -> int:
    return source.count("\n", 0, position) + 1


def _column(source: str, position: int) -> int:
    """Return the column of a position as the compiler counts it, in bytes from 1."""
    begin = source.rfind("\n", 0, position) + 1
    return len(source[begin:position].encode("utf-8", "surrogateescape")) + 1


def _error(source: str, position: int, message: str) -> KernelSourceError:
    place = f"{SOURCE_NAME}:{_line(source, position)}:{_column(source, position)}"
    return KernelSourceError(place, message, "")
