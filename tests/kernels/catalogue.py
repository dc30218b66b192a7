"""All cases."""

from tests.kernels import (
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
