"""Distances between values that are known although the values are not.

Both ends of a window around a place that contents give, `ceil(x - r)` and `floor(x + r)`, depend on the
same unknown number, which their difference has no more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.flow.taint import Taint
from cltrace.kernels.ir.instructions import Binary, Call, Convert, Copy, Instruction, Select

_MAX_VALUES: Final = 150
"""Values that the forms of a kernel are made of, also one of another; others stand for themselves."""
_LINEAR: Final = frozenset({"add", "fadd", "sub", "fsub", "mul", "fmul", "shl"})
_SAME: Final = frozenset({"sext", "zext", "trunc", "sitofp", "uitofp", "fpext", "fptrunc"})
_TRUNCATING: Final = frozenset({"fptosi", "fptoui"})
_ROUNDING: Final = {
    "floor": (-1.0, 0.0),
    "trunc": (-1.0, 0.0),
    "ceil": (0.0, 1.0),
    "rint": (-0.5, 0.5),
    "round": (-0.5, 0.5),
}
"""Functions that round, with the bounds of what they add."""
_LIMITING: Final = frozenset(
    {"min", "max", "fmin", "fmax", "clamp", "smin", "smax", "umin", "umax"}
)
_LIMITING_INTRINSICS: Final = {"minnum": "fmin", "maxnum": "fmax", "nearbyint": "rint"}


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A sum of values times factors, and of a number between `low` and `high`."""

    terms: Mapping[int, float]
    low: float = 0.0
    high: float = 0.0

    @property
    def is_number(self) -> bool:
        """True if it depends on no value."""
        return not self.terms

    def plus(self, other: "LinearForm", times: float = 1.0) -> "LinearForm":
        """Return the sum with `times` the other."""
        terms = dict(self.terms)
        for slot, factor in other.terms.items():
            terms[slot] = terms.get(slot, 0.0) + times * factor
        ends = sorted((times * other.low, times * other.high))
        kept = {slot: factor for slot, factor in terms.items() if factor}
        return LinearForm(kept, self.low + ends[0], self.high + ends[1])


class LinearForms:
    """Linear forms of the values of a kernel.

    `numbers` are the values that are numbers, such as constants and arguments. Where a value is limited,
    as by the edges of an image, it is taken as within the limits if these are known and it is not.
    """

    def __init__(
        self, dependencies: DataDependencies, numbers: Mapping[int, float], taint: Taint
    ) -> None:
        self._definitions = dependencies.definitions
        self._numbers = numbers
        self._tainted = taint.slots
        self._forms: dict[int, LinearForm] = {}

    def of(self, slot: int) -> LinearForm:
        """Return the form of a value: the value itself if it is not a sum of others."""
        if slot in self._numbers:
            return LinearForm({}, self._numbers[slot], self._numbers[slot])
        item = self._definitions.get(slot)
        if slot not in self._forms and item is not None and len(self._forms) < _MAX_VALUES:
            self._forms[slot] = LinearForm({slot: 1.0})  # of a value that needs itself
            form = self._form(item)
            if form is not None:
                self._forms[slot] = form
        return self._forms.get(slot, LinearForm({slot: 1.0}))

    def _form(self, item: Instruction) -> LinearForm | None:
        match item:
            case Binary(_, operator, _, left, right) if operator in _LINEAR:
                return self._binary(operator, self.of(left), self.of(right))
            case Convert(_, operator, _, _, operand) if operator in _SAME:
                return self.of(operand)
            case Convert(_, operator, _, _, operand) if operator in _TRUNCATING:
                return self.of(operand).plus(LinearForm({}, *_ROUNDING["trunc"]))
            case Copy(_, _, operand):
                return self.of(operand)
            case Select(_, _, _, left, right):
                return self._limited((left, right))
            case Call():
                return self._call(item)
            case _:
                return None

    def _binary(self, operator: str, left: LinearForm, right: LinearForm) -> LinearForm | None:
        match operator:
            case "add" | "fadd":
                return left.plus(right)
            case "sub" | "fsub":
                return left.plus(right, -1.0)
            case "mul" | "fmul" if left.is_number or right.is_number:
                form, number = (right, left) if left.is_number else (left, right)
                return LinearForm({}).plus(form, (number.low + number.high) / 2)
            case "shl" if right.is_number and 0 <= right.low < 32:
                return LinearForm({}).plus(left, 2.0**right.low)
            case _:
                return None

    def _call(self, call: Call) -> LinearForm | None:
        name = _plain_name(call.callee)
        if name in _ROUNDING:
            return self.of(call.arguments[0]).plus(LinearForm({}, *_ROUNDING[name]))
        if name in _LIMITING:
            return self._limited(call.arguments)
        if name in ("mad", "fma", "fmuladd"):
            left, right, added = map(self.of, call.arguments)
            product = self._binary("fmul", left, right)
            return None if product is None else product.plus(added)
        return None

    def _limited(self, operands: Iterable[int]) -> LinearForm | None:
        """Return the form of the one operand that is unknown; None where several are, or none."""
        unknown = [operand for operand in operands if operand in self._tainted]
        return self.of(unknown[0]) if len(unknown) == 1 else None


def _plain_name(callee: str) -> str:
    """Return the name of a function or an intrinsic without its types."""
    if callee.startswith("llvm."):
        name = callee.split(".")[1]
        return _LIMITING_INTRINSICS.get(name, name)
    return base_name(demangle(callee))
