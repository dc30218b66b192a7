"""OpenCL C for the instructions of LLVM IR that compute values."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.instrument.c_types import (
    as_signed,
    as_unsigned,
    c_type,
    is_truth,
    signed_type,
)
from cltrace.kernels.ir.instructions import (
    Binary,
    Compare,
    Convert,
    Copy,
    ExtractElement,
    InsertElement,
    Negate,
    Offset,
    Select,
    Shuffle,
)
from cltrace.kernels.ir.types import (
    FloatType,
    IntegerType,
    PointerType,
    Type,
    VectorType,
    element_of,
    is_float,
)

_UNSIGNED_SIGNS: Final[Mapping[str, str]] = {
    "add": "+", "sub": "-", "mul": "*", "udiv": "/", "urem": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "lshr": ">>",
}  # fmt: skip
_SIGNED_SIGNS: Final[Mapping[str, str]] = {"sdiv": "/", "srem": "%", "ashr": ">>"}
_FLOAT_SIGNS: Final[Mapping[str, str]] = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_ORDERS: Final[Mapping[str, str]] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_OPPOSITE: Final[Mapping[str, str]] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_PROMOTED_BITS: Final = 32
"""Integers with fewer bits are computed as `int` in C."""
_CONSTANT_INDEX: Final = re.compile(r"\(\(\w+\)(\d+)ul\)")

Computation = (
    Binary
    | Negate
    | Compare
    | Convert
    | Select
    | Copy
    | Offset
    | ExtractElement
    | InsertElement
    | Shuffle
)
"""Instructions that compute a value from others."""


class Computations:
    """Statements that compute values.

    `slot` returns the expression of a slot's value, `type_of` its type.
    """

    def __init__(self, slot: Callable[[int], str], type_of: Callable[[int], Type]) -> None:
        self._slot = slot
        self._type_of = type_of

    def assign(self, item: Computation) -> str:
        """Return the statement of an instruction. Raises: `UnsupportedKernelError`."""
        target = self._slot(item.result)
        match item:
            case InsertElement():
                return self._insert(item, target)
            case ExtractElement():
                return self._extract(item, target)
            case _:
                return f"{target} = {self._value(item)};"

    def expression(self, item: Binary) -> str:
        """Return an instruction as a part of another expression."""
        return f"({self._value(item)})"

    def _value(
        self, item: Binary | Negate | Compare | Convert | Select | Copy | Offset | Shuffle
    ) -> str:
        slot, text = self._slot, ""
        match item:
            case Binary():
                text = _binary(item, slot(item.left), slot(item.right))
            case Compare():
                text = _compare(item, slot(item.left), slot(item.right))
            case Convert():
                text = _convert(item, slot(item.operand))
            case Negate() | Copy():
                text = f"-{slot(item.operand)}" if isinstance(item, Negate) else slot(item.operand)
            case Select():
                text = self._select(item)
            case Offset():
                text = self._offset(item)
            case Shuffle():
                text = self._shuffle(item)
        return text

    def _select(self, item: Select) -> str:
        condition = self._type_of(item.condition)
        left, right, chosen = (self._slot(slot) for slot in (item.left, item.right, item.condition))
        if not isinstance(condition, VectorType):
            return f"{chosen} ? {left} : {right}"
        element = element_of(item.type)
        if isinstance(element, IntegerType | FloatType) and not is_truth(item.type):
            wide = signed_type(VectorType(condition.count, IntegerType(element.bits)))
            chosen = f"convert_{wide}({chosen})"
        return f"select({right}, {left}, {chosen})"

    def _offset(self, item: Offset) -> str:
        parts = [f"{item.constant_bytes}l"] if item.constant_bytes else []
        for (index, stride), kind in zip(item.terms, item.index_types, strict=True):
            if isinstance(kind, VectorType):
                raise UnsupportedKernelError(
                    f"{item.place}: a device records no vectors of pointers"
                )
            parts.append(f"(long){as_signed(self._slot(index), kind)} * {stride}l")
        return " + ".join([self._slot(item.pointer), *parts])

    def _extract(self, item: ExtractElement, target: str) -> str:
        kind = self._type_of(item.vector)
        bit = " & 1" if is_truth(kind) else ""
        index = _CONSTANT_INDEX.fullmatch(self._slot(item.index))
        if index is not None:
            return f"{target} = {_element(self._slot(item.vector), int(index[1]))}{bit};"
        copied = f"{c_type(kind)} copied = {self._slot(item.vector)};"
        chosen = f"((__private {_element_type(kind)} *)&copied)[{self._slot(item.index)}]"
        return f"{{ {copied} {target} = {chosen}{bit}; }}"

    def _insert(self, item: InsertElement, target: str) -> str:
        sign = "-" if is_truth(item.type) else ""
        index = _CONSTANT_INDEX.fullmatch(self._slot(item.index))
        place = f"((__private {_element_type(item.type)} *)&{target})[{self._slot(item.index)}]"
        if index is not None:
            place = f"{target}.s{int(index[1]):x}"
        return f"{target} = {self._slot(item.vector)}; {place} = {sign}{self._slot(item.element)};"

    def _shuffle(self, item: Shuffle) -> str:
        left, right, count = self._slot(item.left), self._slot(item.right), item.left_count
        parts = [
            _element(left, max(position, 0))
            if position < count
            else _element(right, position - count)
            for position in item.positions
        ]
        return f"({c_type(item.type)})({', '.join(parts)})"


def _element(vector: str, index: int) -> str:
    return f"({vector}).s{index:x}"


def _element_type(kind: Type) -> str:
    return "char" if is_truth(kind) else c_type(element_of(kind))


def _binary(item: Binary, left: str, right: str) -> str:
    operator, kind = item.operator, item.type
    if operator in _FLOAT_SIGNS:
        return f"{left} {_FLOAT_SIGNS[operator]} {right}"
    if operator == "frem":
        return f"fmod({left}, {right})"
    if operator in _SIGNED_SIGNS:
        numbers = f"{as_signed(left, kind)} {_SIGNED_SIGNS[operator]} {as_signed(right, kind)}"
        return as_unsigned(numbers, kind)
    if operator not in _UNSIGNED_SIGNS:
        raise UnsupportedKernelError(f"{item.place}: a device records no operation {operator!r}")
    sign = _UNSIGNED_SIGNS[operator]
    if isinstance(kind, IntegerType) and kind.bits < _PROMOTED_BITS:
        bit = " & 1u" if is_truth(kind) else ""
        return f"({c_type(kind)})(((uint){left} {sign} (uint){right}){bit})"
    return f"{left} {sign} {right}"


def _compare(item: Compare, left: str, right: str) -> str:
    kind, predicate = item.type, item.predicate
    if is_float(kind):
        text = _compare_floats(predicate, left, right, is_vector=isinstance(kind, VectorType))
    else:
        if isinstance(kind, PointerType):
            left, right = f"(ulong){left}", f"(ulong){right}"
        elif predicate.startswith("s"):
            left, right = as_signed(left, kind), as_signed(right, kind)
        text = f"{left} {_ORDERS[predicate[-2:]]} {right}"
    return f"convert_char{kind.count}({text})" if isinstance(kind, VectorType) else f"({text})"


def _compare_floats(predicate: str, left: str, right: str, *, is_vector: bool) -> str:
    both, either, negation = ("&", "|", "~") if is_vector else ("&&", "||", "!")
    ordered = f"(({left} == {left}) {both} ({right} == {right}))"
    different = f"(({left} < {right}) {either} ({left} > {right}))"
    texts = {
        "ord": ordered,
        "uno": f"{negation}{ordered}",
        "one": different,
        "ueq": f"{negation}{different}",
        "oeq": f"({left} == {right})",
        "une": f"({left} != {right})",
    }
    order = predicate[1:]
    if predicate in texts:
        return texts[predicate]
    if predicate.startswith("u"):
        return f"{negation}({left} {_ORDERS[_OPPOSITE[order]]} {right})"
    return f"({left} {_ORDERS[order]} {right})"


def _convert(item: Convert, operand: str) -> str:
    kind, source, operator = item.type, item.source, item.operator
    if operator == "bitcast" and not isinstance(kind, PointerType):
        if is_truth(kind) or is_truth(source):
            raise UnsupportedKernelError(f"{item.place}: a device records no cast of truth values")
        return f"as_{c_type(kind)}({operand})"
    if operator in {"bitcast", "addrspacecast", "ptrtoint", "inttoptr"}:
        through = "(ulong)" if operator in {"ptrtoint", "inttoptr"} else ""
        return f"({c_type(kind)}){through}{operand}"
    if is_truth(kind) or is_truth(source):
        return _convert_truth(item, operand)
    if operator in {"sext", "sitofp"}:
        operand = as_signed(operand, source)
    if operator in {"sext", "fptosi"}:
        return as_unsigned(f"convert_{signed_type(kind)}({operand})", kind)
    return f"convert_{c_type(kind)}({operand})"


def _convert_truth(item: Convert, operand: str) -> str:
    """Return a conversion from or to truth values."""
    kind, source = item.type, item.source
    is_vector = isinstance(kind, VectorType)
    if is_truth(kind):
        bit = f"{operand} & ({c_type(source)})1"
        return f"-convert_{c_type(kind)}({bit})" if is_vector else f"(int)({bit})"
    is_signed = item.operator in {"sext", "sitofp"}
    if not is_vector:
        return f"({c_type(kind)})({'-' if is_signed else ''}{operand})"
    if is_signed and not is_float(kind):
        return as_unsigned(f"convert_{signed_type(kind)}({operand})", kind)
    number = operand if is_signed else f"{operand} & ({c_type(source)})1"
    return f"convert_{c_type(kind)}({number})"
