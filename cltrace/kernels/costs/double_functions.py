"""Instructions of functions of `double` that no series of the calibration measures, on a GPU.

The numbers are those of the loops that NVIDIA's assembler makes of the driver's PTX (sm_90, driver 580).
Constants of 64 bits take two issue slots of the uniform datapath each, so a polynomial has about as many
of them as products. Slots are fitted to the time of the loop on an H200, as are all numbers of
functions with rare branches (`benchmarks/double_functions.py`).
"""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.costs.functions import RECIPES, Recipe, of_vector
from cltrace.kernels.costs.operation import RECIPROCAL

DOUBLE_RECIPES: Final[Mapping[str, Recipe]] = {
    RECIPROCAL: Recipe(9, 2, 1, 5),
    "rsqrt": Recipe(14, 1, 1, 5),
    **dict.fromkeys(("pow", "powr"), Recipe(136, 22, 3, 112)),
    "pown": Recipe(117, 31, 5, 128),
    "rootn": Recipe(169, 24, 6, 131),
    **dict.fromkeys(("exp2", "exp10"), Recipe(23, 9, 0, 18)),
    "expm1": Recipe(38, 15, 0, 21),
    **dict.fromkeys(("log2", "log10"), Recipe(64, 10, 1, 32)),
    "log1p": Recipe(104, 14, 2, 53),
    "sinh": Recipe(19, 4, 1, 12),
    "cosh": Recipe(46, 4, 1, 21),
    "tanh": Recipe(74, 5, 6, 34),
    "asinh": Recipe(103, 24, 4, 87),
    "acosh": Recipe(71, 14, 2, 56),
    "atanh": Recipe(66, 14, 2, 53),
    "sincos": Recipe(60, 12, 2, 25),
    "tan": Recipe(55, 10, 2, 25),
    **dict.fromkeys(("sinpi", "cospi"), Recipe(38, 5, 3, 15)),
    "tanpi": Recipe(85, 13, 6, 41),
    **dict.fromkeys(("asin", "asinpi"), Recipe(55, 7, 1, 42)),
    **dict.fromkeys(("acos", "acospi"), Recipe(87, 5, 1, 46)),
    **dict.fromkeys(("atan", "atanpi"), Recipe(34, 5, 1, 28)),
    **dict.fromkeys(("atan2", "atan2pi"), Recipe(72, 23, 1, 40)),
    "cbrt": Recipe(34, 6, 6, 11),
    "hypot": Recipe(48, 18, 2, 25),
    "erf": Recipe(93, 3, 5, 42),
    "erfc": Recipe(91, 7, 5, 54),
    "tgamma": Recipe(45, 9, 2, 42),
    **dict.fromkeys(("lgamma", "lgamma_r"), Recipe(164, 20, 5, 58)),
    "fmod": Recipe(65, 46),
    **dict.fromkeys(("remainder", "remquo"), Recipe(73, 52)),
    **dict.fromkeys(
        ("fmin", "fmax", "min", "max", "llvm.minnum", "llvm.maxnum"), Recipe(5, 3, 0, 1)
    ),
    "clamp": Recipe(9, 6, 0, 2),
    **dict.fromkeys(("maxmag", "minmag"), Recipe(15, 4, 0, 3)),
    "fdim": Recipe(1, 2, 0, 2),
    "mix": Recipe(1, 0, 0, 3),
    "step": Recipe(1, 1, 0, 1),
    "sign": Recipe(5, 1, 0, 3),
    "smoothstep": Recipe(30, 8, 3, 11),
    "copysign": Recipe(2, 1),
    "round": Recipe(4, 2, 1, 2),
    "fract": Recipe(12, 8, 1, 6),
    "modf": Recipe(6, 5, 1, 3),
    "frexp": Recipe(4, 7, 0, 3),
    "ldexp": Recipe(5, 3, 0, 3),
    "logb": Recipe(11, 3, 2, 3),
    "ilogb": Recipe(12, 5, 2, 2),
    "nextafter": Recipe(19, 11, 0, 8),
    of_vector("length", 2): Recipe(39, 11, 2, 24),
    of_vector("distance", 2): Recipe(39, 11, 2, 26),
    of_vector("length", 3): Recipe(83, 11, 4, 50),
    of_vector("distance", 3): Recipe(84, 11, 4, 53),
    of_vector("normalize", 3): Recipe(74, 19, 7, 68),
}
"""Recipes of functions of `double`."""


def has_recipe(function: str, kind: str) -> bool:
    """Return True for a function of a type whose instructions are known."""
    return function in (DOUBLE_RECIPES if kind == "double" else RECIPES)
