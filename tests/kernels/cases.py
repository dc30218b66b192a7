"""What a case is: a kernel, its launch, its arguments, and what must come out."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

SOURCES = Path(__file__).parent / "sources"
UNIT = 2.0**-24  # the relative error of one correctly rounded float operation
UNIT_DOUBLE = 2.0**-53


@dataclass(frozen=True)
class Local:
    """Local memory of so many bytes."""

    size: int


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector or struct given by value: the array's bytes."""

    values: Array


Argument: TypeAlias = Array | np.generic | Vector | Local


class Kind(enum.Enum):
    EXACT = "exact"
    WITHIN = "within"
    ULPS = "ulps"
    AS_SET = "as set"


@dataclass(frozen=True)
class Comparison:
    """How found contents are held against the expected ones.

    EXACT: the same values; NaN equals NaN, and zeros have one sign.
    WITHIN: at most `relative` * |expected| + `absolute` apart.
    ULPS: the buffer is so many equal stretches, each with its bound in units in the last place of
    the buffer's type at the expected value; integers are exact, and a buffer of another length.
    AS_SET: the same values in any order.
    """

    kind: Kind
    relative: float = 0.0
    absolute: float = 0.0
    ulps: tuple[float, ...] = ()

    def differences(self, expected: Array, found: Array) -> Array:
        """Where the two disagree, as a flat boolean array."""
        if expected.dtype.names is not None:
            return np.concatenate(
                [
                    self.differences(np.ascontiguousarray(expected[name]), found[name])
                    for name in expected.dtype.names
                ]
            )
        wanted, got = expected.ravel(), found.ravel()
        if self.kind is Kind.AS_SET:
            return ~same(np.sort(wanted), np.sort(got))
        if self.kind is Kind.EXACT or not np.issubdtype(got.dtype, np.floating):
            return ~same(wanted.astype(got.dtype), got)
        return self._apart(wanted.astype(np.float64), got)

    def _apart(self, wanted: Array, got: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            as_found = wanted.astype(got.dtype)
            if self.kind is Kind.ULPS:
                each, rest = divmod(wanted.size, len(self.ulps))
                bounds = np.zeros(wanted.size) if rest else np.repeat(self.ulps, each)
                bound = bounds * unit_in_last_place(wanted, got.dtype)
            else:
                bound = np.abs(wanted) * self.relative + self.absolute
            near = np.abs(got.astype(np.float64) - wanted) <= bound
            close = near | (got == as_found) | (np.isnan(wanted) & np.isnan(got))
            # A result that may round to infinity may also stay at the largest number.
            edge = np.isinf(got) & (np.abs(wanted) + bound >= float(np.finfo(got.dtype).max))
        return np.asarray(~(close | (edge & (np.signbit(got) == np.signbit(wanted)))))


EXACT = Comparison(Kind.EXACT)
AS_SET = Comparison(Kind.AS_SET)


def within(relative: float, absolute: float = 0.0) -> Comparison:
    return Comparison(Kind.WITHIN, relative, absolute)


def rounded(operations: float, absolute: float = 0.0) -> Comparison:
    """So many float roundings, relative to the result."""
    return within(operations * UNIT, absolute)


def ulps(*bounds: float) -> Comparison:
    return Comparison(Kind.ULPS, ulps=bounds)


def unit_in_last_place(values: Array, dtype: npt.DTypeLike) -> Array:
    """The distance between neighbouring numbers of the type at float64 values."""
    information = np.finfo(dtype)
    magnitude = np.where(np.isfinite(values), np.abs(values), 0.0)
    magnitude = np.clip(magnitude, float(information.smallest_normal), float(information.max))
    _, exponent = np.frexp(magnitude)
    return np.asarray(np.ldexp(1.0, exponent - 1 - information.nmant))


def same(expected: Array, found: Array) -> Array:
    equal = np.asarray(expected == found)
    if np.issubdtype(found.dtype, np.floating):
        equal &= np.signbit(expected) == np.signbit(found)
        equal |= np.isnan(expected) & np.isnan(found)
    return equal


@dataclass(frozen=True)
class Case:
    """One launch of a kernel and its truth.

    `source` names a file of `sources`, or is empty where `code` is the source itself; `reference` gets
    the arguments and returns each buffer's final contents, None for what is no buffer; it is None
    itself where nothing but running the kernel says them.
    """

    name: str
    source: str
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    arguments: Callable[[np.random.Generator], list[Argument]]
    reference: Callable[..., list[Array | None]] | None
    comparison: Comparison
    options: str = ""
    family: str = ""
    code: str = ""
    # Why the oracle's result differs from numpy's and the others'.
    pocl_wrong: str = ""
    oclgrind_wrong: str = ""
    intel_wrong: str = ""
    unsupported_by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.code or (SOURCES / self.source).read_text(encoding="utf-8")

    def inputs(self) -> list[Argument]:
        """The arguments: the same ones each time."""
        seed = np.frombuffer(self.name.encode(), np.uint8).tolist()
        return self.arguments(np.random.default_rng(seed))

    @property
    def has_reference(self) -> bool:
        return self.reference is not None

    def expected(self) -> list[Array | None]:
        if self.reference is None:
            raise LookupError(f"{self.name} has no reference")
        with np.errstate(all="ignore"):
            return self.reference(*self.inputs())

    def disagreement(self, found: list[Array | None]) -> str:
        """Where found contents first differ from the reference's; empty where they do not."""
        return self.difference(self.expected(), found)

    def difference(self, expected: list[Array | None], found: list[Array | None]) -> str:
        """Where found contents first differ from expected ones; empty where they do not."""
        for position, (wanted, got) in enumerate(zip(expected, found, strict=True)):
            if wanted is None or got is None:
                if wanted is not got:
                    return f"argument {position}: a buffer on one side only"
                continue
            if wanted.size != got.size:
                return f"argument {position}: {wanted.size} expected, {got.size} found"
            wrong = np.flatnonzero(self.comparison.differences(wanted, got))
            if wrong.size:
                at = int(wrong[0]) % wanted.size
                return (
                    f"argument {position}: {wrong.size} differ, first [{at}]:"
                    f" expected {wanted.ravel()[at]!r}, found {got.ravel()[at]!r}"
                )
        return ""


def writes(
    function: Callable[..., Array | tuple[Array, ...]], *positions: int
) -> Callable[..., list[Array | None]]:
    """A reference: the function gives the buffers at these positions, the others stay."""

    def reference(*arguments: Argument) -> list[Array | None]:
        results = function(*arguments)
        contents: list[Array | None] = [
            argument if isinstance(argument, np.ndarray) else None for argument in arguments
        ]
        given = results if isinstance(results, tuple) else (results,)
        for position, result in zip(positions, given, strict=True):
            contents[position] = np.asarray(result)
        return contents

    return reference
