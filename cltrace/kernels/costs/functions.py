"""Instructions of functions that no series of the calibration measures, on a GPU.

The numbers are those that NVIDIA's assembler leaves of the driver's PTX (sm_90, driver 580) in a loop
that calls the function, without rare branches.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.costs.operation import LITERAL_POWER


@dataclass(frozen=True, slots=True)
class Recipe:
    """Instructions of one call, or of each element of it, by what executes them.

    `slots` take an issue slot alone, `logic` are bits, comparisons and selections, `special` are
    instructions of the special functions' pipe, `double` those of numbers of 64 bits.
    """

    slots: int
    logic: int
    special: int = 0
    double: int = 0


SATURATING: Final = frozenset(
    {"add_sat", "sub_sat", "llvm.sadd.sat", "llvm.ssub.sat", "llvm.uadd.sat", "llvm.usub.sat"}
)
"""Functions of sums that saturate."""


def of_vector(function: str, elements: int) -> str:
    """Return the function that stands for one of a whole vector, in place of those of its elements."""
    return f"{function} of {elements}"


def of_shuffle(elements: int) -> str:
    """Return the function of a shuffle of so many elements by a mask that the compiler does not know."""
    return f"shuffle of {elements}"


RECIPES: Final[Mapping[str, Recipe]] = {
    of_shuffle(2): Recipe(0, 2),
    of_shuffle(4): Recipe(0, 4),
    of_shuffle(8): Recipe(0, 8),
    of_shuffle(16): Recipe(0, 14),
    of_shuffle(32): Recipe(0, 26),
    **dict.fromkeys(("popcount", "llvm.ctpop", "clz", "llvm.ctlz"), Recipe(0, 0, 1)),
    **dict.fromkeys(("ctz", "llvm.cttz"), Recipe(0, 1, 1)),
    **dict.fromkeys(SATURATING, Recipe(2, 6)),
    LITERAL_POWER: Recipe(3, 1),
    "hadd": Recipe(1, 3),
    "rhadd": Recipe(1, 4),
    "clamp": Recipe(0, 2),
    "mix": Recipe(3, 0),
    "smoothstep": Recipe(9, 0),
    "sign": Recipe(6, 3),
    "fdim": Recipe(1, 2),
    "ldexp": Recipe(4, 5),
    "logb": Recipe(12, 6),
    "ilogb": Recipe(7, 9),
    "expm1": Recipe(17, 10, 2),
    "sinh": Recipe(22, 11, 3),
    "cosh": Recipe(10, 9, 3),
    "asin": Recipe(13, 6, 1),
    "acos": Recipe(15, 4, 1),
    "cbrt": Recipe(8, 5, 3),
    "hypot": Recipe(10, 8, 1),
    "fmod": Recipe(24, 12, 2),
    **dict.fromkeys(("remainder", "remquo"), Recipe(45, 14, 3)),
    "fract": Recipe(2, 3, 1),
    "modf": Recipe(3, 3, 1),
    "frexp": Recipe(5, 8),
    "nextafter": Recipe(8, 20),
    "erfc": Recipe(30, 9, 3),
    "tgamma": Recipe(100, 41, 5),
    "normalize": Recipe(24, 9, 1),
    of_vector("normalize", 2): Recipe(29, 9, 3),
    of_vector("normalize", 3): Recipe(56, 12, 5),
    of_vector("normalize", 4): Recipe(62, 14, 6),
    of_vector("length", 2): Recipe(16, 8, 3),
    of_vector("length", 3): Recipe(27, 9, 5),
    of_vector("length", 4): Recipe(30, 11, 6),
    of_vector("distance", 2): Recipe(18, 8, 3),
    of_vector("distance", 3): Recipe(30, 9, 5),
    of_vector("distance", 4): Recipe(34, 11, 6),
    "native_tan": Recipe(3, 0, 3),
}
"""Recipes of functions, but for those of numbers of 64 bits. A vector's elements have one each."""
BESIDE: Final[Mapping[str, Recipe]] = {
    **dict.fromkeys(("sqrt", "rsqrt", "native_rsqrt"), Recipe(2, 1)),
    "exp2": Recipe(2, 1),
    "native_exp": Recipe(3, 1),
    "native_sin": Recipe(1, 0),
}
"""Instructions beside that of the special functions' pipe, of functions which take as long as it does.

Loops that do nothing else hide them. They scale the argument and the result.
"""
NARROW_SATURATION: Final = Recipe(1, 3)
"""Recipe of a sum of 8 or 16 bits that saturates."""
