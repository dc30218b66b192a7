"""The evaluation suite: real kernels with references. Nothing is fitted to them."""

from collections.abc import Mapping
from typing import Final

from cltrace.suite.evaluation import detection, grids, linear_algebra, many_bodies, orders
from cltrace.suite.evaluation.cases import Case, CasesOf, Scale

__all__ = ["APPLICATION", "EVALUATION", "Case", "Scale"]

EVALUATION: Final[Mapping[str, CasesOf]] = {
    "vectors": linear_algebra.vectors,
    "vector-products": linear_algebra.vector_products,
    "products": linear_algebra.products,
    "transposes": linear_algebra.transposes,
    "sparse": linear_algebra.sparse,
    "five-points": grids.five_points,
    "seven-points": grids.seven_points,
    "convolution": grids.convolution,
    "sobel": grids.sobel,
    "median": grids.median,
    "blur": grids.blur,
    "bodies": many_bodies.bodies,
    "nearest": many_bodies.nearest,
    "options": many_bodies.options,
    "fractal": many_bodies.fractal,
    "random-points": many_bodies.random_points,
    "searching": many_bodies.searching,
    "polynomials": many_bodies.polynomials,
    "reductions": orders.reductions,
    "scans": orders.scans,
    "sorting": orders.sorting,
    "histograms": orders.histograms,
    "fourier": orders.fourier,
    "paths": orders.paths,
}
"""Generators of cases by their subject. A case names its family."""

APPLICATION: Final[Mapping[str, CasesOf]] = {"detection": detection.detection}
"""The launches of a whole program, in order, for the evaluation of energy."""
