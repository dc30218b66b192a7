"""All cases."""

from tests.kernels import (
    atomics,
    blas,
    builtins,
    control,
    conversions,
    filters,
    generated,
    graphs,
    hashes,
    integers,
    modern,
    physics,
    scans,
    sorting,
    stencils,
    structs,
    vectors,
    workitems,
)
from tests.kernels.cases import Case

MODULES = (
    atomics,
    blas,
    builtins,
    control,
    conversions,
    filters,
    graphs,
    hashes,
    integers,
    modern,
    physics,
    scans,
    sorting,
    stencils,
    structs,
    vectors,
    workitems,
)

CASES: list[Case] = [case for module in MODULES for case in module.CASES]
_BY_NAME = {case.name: case for case in CASES}


def case_named(name: str) -> Case:
    """The case of a name, hand-written or generated."""
    known = _BY_NAME.get(name)
    return known if known is not None else generated.case_named(name)
