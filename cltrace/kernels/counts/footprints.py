"""How many different sectors of memory are touched: by a group, by a wave, by the launch.

A sample of groups spread over the launch says how often groups touch the same; groups next to each
other say how much neighbours share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.observer import Touched
from cltrace.kernels.counts.records import Footprint

_PARTS: Final = (8, 4, 2, 1)
"""The sample is looked at in an eighth, a quarter, a half and as a whole."""


_SCALES: Final = np.geomspace(0.01, 100.0, 41)
_Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Distinct:
    """The different sectors of a sample: their number by first so many groups, and by group."""

    by_part: tuple[tuple[float, float], ...]
    """Pairs of a number of groups and the different sectors they touch together. The number is in groups
    of a mean size: what a part's groups touch by themselves, by the mean."""
    group_mean: float


def distinct(touched: Touched, groups: int) -> Distinct:
    """The different sectors that a site touched in a sample of `groups`."""
    if not touched.sectors:
        return Distinct(((float(groups), 0.0),), 0.0)
    sectors = np.concatenate(touched.sectors)
    owner = np.concatenate(touched.groups)
    lengths = [len(part) for part in touched.sectors]
    weights = np.repeat(np.asarray(touched.weights), lengths)
    order = np.argsort(sectors, kind="stable")
    sectors, owner, weights = sectors[order], owner[order], weights[order]
    pair = np.lexsort((owner, sectors))
    new = np.ones(len(pair), np.bool_)
    new[1:] = (np.diff(sectors[pair]) != 0) | (np.diff(owner[pair]) != 0)
    own = np.bincount(owner[pair][new], weights[pair][new], minlength=groups)
    group_mean = float(own.mean())
    parts: list[tuple[float, float]] = []
    for size in dict.fromkeys(max(groups // part, 1) for part in _PARTS):
        chosen = _drawn(groups, size)
        number = float(own[chosen].sum()) / group_mean
        if number:
            inside = chosen[owner]
            parts.append((number, _weighed(sectors[inside], weights[inside])))
    return Distinct(tuple(parts), group_mean)


def _drawn(groups: int, size: int) -> NDArray[np.bool_]:
    """Which groups of a sample belong to its part: drawn at random, the same each time."""
    chosen = np.zeros(groups, np.bool_)
    chosen[np.random.default_rng(groups).permutation(groups)[:size]] = True
    return chosen


def _weighed(sectors: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Different sectors, each with the weight of its first record."""
    if not len(sectors):
        return 0.0
    first = np.ones(len(sectors), np.bool_)
    first[1:] = np.diff(sectors) != 0
    return float(weights[first].sum())


def growth(touched: Touched, groups: int) -> Callable[[float], float]:
    """The different sectors of so many groups that follow each other, from a sample of such.

    Beyond the sample they grow as in its second half.
    """
    if not touched.sectors or groups < 2:
        return lambda number: number * distinct(touched, max(groups, 1)).group_mean
    sectors = np.concatenate(touched.sectors)
    owner = np.concatenate(touched.groups)
    lengths = [len(part) for part in touched.sectors]
    weights = np.repeat(np.asarray(touched.weights), lengths)
    order = np.argsort(sectors, kind="stable")
    sectors, owner, weights = sectors[order], owner[order], weights[order]
    half = owner < groups // 2
    first, whole = _weighed(sectors[half], weights[half]), _weighed(sectors, weights)
    slope = (whole - first) / (groups - groups // 2)
    return lambda number: whole + (number - groups) * slope


def extrapolated(found: Distinct, groups: float, cap: float) -> tuple[float, float]:
    """The different sectors of `groups`, and a relative error.

    Of the sample's parts, n groups touch `a n + F (1 - exp(-n / m))` different sectors: what each has
    of its own, and what they share. `cap` is how many there are at all.
    """
    size, whole = found.by_part[-1]
    if groups <= size + 0.5 or whole == 0:
        return _within(found.by_part, groups), 0.0
    parts = [(n, value) for n, value in found.by_part if value]
    if len(parts) < 2:
        return min(whole * groups / size, cap), 0.5
    numbers = np.asarray([float(n) for n, _ in parts])
    values = np.asarray([value for _, value in parts])
    best, error = _fit(numbers, values)
    predicted = float(best(np.asarray([float(groups)]))[0])
    return min(max(predicted, whole), cap), error


def _within(by_part: Sequence[tuple[float, float]], groups: float) -> float:
    """The different sectors of no more groups than the sample has."""
    numbers, values = zip((0.0, 0.0), *by_part, strict=True)
    return float(np.interp(groups, numbers, values))


def _fit(numbers: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[_Curve, float]:
    """The curve of the form above that fits best, and how far off it is, relatively."""
    scales = numbers[-1] * _SCALES
    own = np.broadcast_to(numbers / values, (len(scales), len(values)))
    shared = (1.0 - np.exp(-numbers / scales[:, None])) / values
    aa, bb, ab = ((a * b).sum(axis=1) for a, b in ((own, own), (shared, shared), (own, shared)))
    a, b = own.sum(axis=1), shared.sum(axis=1)
    none = np.zeros(len(scales))
    determinant = np.maximum(aa * bb - ab * ab, 1e-300)
    both = ((a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant)
    usable = (both[0] > 0) & (both[1] > 0) & (determinant > 1e-12 * aa * bb)
    alone = np.concatenate([a / aa, none, np.where(usable, both[0], 0.0)])
    together = np.concatenate([none, b / bb, np.where(usable, both[1], 0.0)])
    off = alone[:, None] * np.tile(own, (3, 1)) + together[:, None] * np.tile(shared, (3, 1)) - 1.0
    miss = np.sqrt((off * off).mean(axis=1))
    best = int(np.argmin(miss + 0.01 * np.repeat([0.1, 0.1, 1.0], len(scales))))
    scale = float(scales[best % len(scales)])

    def curve(n: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = alone[best] * n + together[best] * (1.0 - np.exp(-n / scale))
        return found

    return curve, float(miss[best])


def footprint(
    spread: Distinct, near: Distinct, groups: int, wave_groups: int, cap: float
) -> Footprint:
    """A site's footprint from a sample spread over the launch and one of neighbouring groups."""
    launch, error = extrapolated(spread, groups, cap)
    wave, wave_error = extrapolated(near, min(wave_groups, groups), max(launch, 0.0))
    return Footprint(
        min(spread.group_mean, cap), min(wave, cap), min(launch, cap), max(error, wave_error)
    )
