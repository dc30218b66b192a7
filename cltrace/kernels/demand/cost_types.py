"""The cost types of Pöppl 2014 (section 6.1), derived from counts instead of from the syntax tree.

Operations and private accesses are those of the code as written. Accesses to other memory are those
that are left when repeated ones are done once. Their class follows from the addresses that lanes access;
the thesis estimates these addresses from the index expression (5.5.2).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.kernels.counts.records import AccessSite, KernelCounts, Pattern
from cltrace.kernels.ir.instructions import Access


class CostType(StrEnum):
    """Cost type of the thesis."""

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
    """Mean number of times that a work-item does something of a cost type."""

    type: CostType
    per_item: float


CACHE_BYTES: Final = 16_384
"""Reads of an argument are of the class cached if they touch no more bytes than this."""
_CONTINUOUS: Final = 1.5
"""Reads are continuous if they touch at most this many times the sectors that their bytes fill."""
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
    """Return the counts of all cost types that occur in a launch, per work-item."""
    totals = dict.fromkeys(CostType, 0.0)
    totals[CostType.BASE] = 1.0
    for operator, number in counts.written_operators:
        for cost_type in _types_of_operator(operator):
            totals[cost_type] += number
    totals[CostType.PRIVATE] = counts.private_accesses
    for site in counts.sites:
        site_type = _type_of_site(site)
        if site_type is not None:
            totals[site_type] += site.accesses.value / counts.work_items
    return tuple(TypeCount(cost_type, number) for cost_type, number in totals.items() if number)


def _types_of_operator(operator: str) -> Iterable[CostType]:
    if operator == "fmuladd":
        return (CostType.FLOAT_TIMES, CostType.FLOAT_PLUS)
    return (_OPERATORS[operator],) if operator in _OPERATORS else ()


def _type_of_site(site: AccessSite) -> CostType | None:
    if site.space == "local":
        return CostType.LOCAL
    if site.space == "private":
        return None
    if site.access is not Access.READ:
        return CostType.WRITE
    return read_class(site)


def read_class(site: AccessSite) -> CostType:
    """Return the class of a read of global memory."""
    touched = site.footprint.launch_sectors
    sector = site.access_bytes * site.accesses.value / max(site.sectors.value, 1.0)
    if touched <= 1.0 or (touched <= 2.0 and site.pattern is Pattern.UNIFORM):
        return CostType.READ_CONSTANT
    if touched * 32 <= CACHE_BYTES:
        return CostType.READ_CACHED
    if site.pattern is Pattern.UNIFORM or sector * _CONTINUOUS >= 32:
        return CostType.READ_CONTINUOUS
    return CostType.READ_COMPLEX
