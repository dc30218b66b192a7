"""The cost types of Pöppl 2014 (section 6.1), derived from counts instead of from the syntax tree.

Operations and private accesses are those of the code as it is written. Accesses are those that are left
when equal ones are done once, classed by the addresses that lanes really have: where the thesis had to
tell from the index expression (5.5.2) what its values would be, they are known here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.kernels.counts.records import AccessSite, KernelCounts, Pattern
from cltrace.kernels.ir.instructions import Access


class CostType(StrEnum):
    """A cost type of the thesis."""

    INT_PLUS = "int +"
    INT_MINUS = "int -"
    INT_TIMES = "int *"
    INT_DIVIDE = "int /"
    FLOAT_PLUS = "float +"
    FLOAT_MINUS = "float -"
    FLOAT_TIMES = "float *"
    FLOAT_DIVIDE = "float /"
    BASE = "base"
    """The kernel itself, once."""
    PRIVATE = "private access"
    LOCAL = "local access"
    WRITE = "global write"
    READ_CONSTANT = "global read, constant"
    READ_CACHED = "global read, cached"
    READ_CONTINUOUS = "global read, continuous"
    READ_COMPLEX = "global read, complex"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """How often a work-item does something of a cost type, in the mean."""

    type: CostType
    per_item: float


CACHE_BYTES: Final = 16_384
"""Reads of an argument that touch no more than this are of the class cached."""
_CONTINUOUS: Final = 1.5
"""Reads that touch at most so many times the sectors that their bytes fill are continuous."""
_OPERATORS: Final[Mapping[str, CostType]] = {
    "add": CostType.INT_PLUS,
    "sub": CostType.INT_MINUS,
    "mul": CostType.INT_TIMES,
    **dict.fromkeys(("sdiv", "udiv", "srem", "urem"), CostType.INT_DIVIDE),
    "fadd": CostType.FLOAT_PLUS,
    "fsub": CostType.FLOAT_MINUS,
    "fmul": CostType.FLOAT_TIMES,
    **dict.fromkeys(("fdiv", "frem"), CostType.FLOAT_DIVIDE),
}


def cost_types(counts: KernelCounts) -> tuple[TypeCount, ...]:
    """How often a work-item does something of each cost type; types that do not occur are left out."""
    found = dict.fromkeys(CostType, 0.0)
    found[CostType.BASE] = 1.0
    for operator, number in counts.written_operators:
        for kind in _types_of(operator):
            found[kind] += number
    found[CostType.PRIVATE] = counts.private_accesses
    for site in counts.sites:
        class_of_site = _type_of(site)
        if class_of_site is not None:
            found[class_of_site] += site.accesses.value / counts.work_items
    return tuple(TypeCount(kind, number) for kind, number in found.items() if number)


def _types_of(operator: str) -> Iterable[CostType]:
    if operator == "fmuladd":
        return (CostType.FLOAT_TIMES, CostType.FLOAT_PLUS)
    return (_OPERATORS[operator],) if operator in _OPERATORS else ()


def _type_of(site: AccessSite) -> CostType | None:
    if site.space == "local":
        return CostType.LOCAL
    if site.space == "private":
        return None
    if site.access is not Access.READ:
        return CostType.WRITE
    return read_class(site)


def read_class(site: AccessSite) -> CostType:
    """The class of a read of global memory."""
    touched = site.footprint.launch_sectors
    sector = site.access_bytes * site.accesses.value / max(site.sectors.value, 1.0)
    if touched <= 1.0 or (touched <= 2.0 and site.pattern is Pattern.UNIFORM):
        return CostType.READ_CONSTANT
    if touched * 32 <= CACHE_BYTES:
        return CostType.READ_CACHED
    if site.pattern is Pattern.UNIFORM or sector * _CONTINUOUS >= 32:
        return CostType.READ_CONTINUOUS
    return CostType.READ_COMPLEX
