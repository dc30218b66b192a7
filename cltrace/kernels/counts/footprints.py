"""Numbers of distinct sectors that are touched by a group, by a wave and by the launch.

A sample of groups spread over the launch shows how much distant groups share; a sample of
neighbouring groups shows how much neighbours share.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.records import Footprint
from cltrace.kernels.counts.sorted_numbers import is_first
from cltrace.kernels.counts.touched_sectors import DistinctSectors, TouchedSectors
from cltrace.kernels.limits import check_cpu_limit

_PART_DIVISORS: Final = (8, 4, 2, 1)
"""Distinct sectors are counted in an eighth, a quarter, a half and all of the sample."""
_SCALES: Final = np.geomspace(0.01, 100.0, 41)
"""Candidate scales of the shared term of the fit, in sample sizes."""
_SPAN_MARGIN: Final = 2.0
"""Groups beyond both ends of a sample, by the distance of its neighbours."""
_Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def count_distinct(touched: TouchedSectors, groups: int) -> DistinctSectors:
    """Count the distinct sectors that a site touched in a sample of `groups`, once."""
    counted = touched.distinct.get(groups)
    if counted is None:
        counted = touched.distinct[groups] = _count_parts(touched, groups)
    return counted


def _count_parts(touched: TouchedSectors, groups: int) -> DistinctSectors:
    check_cpu_limit()
    if not touched.sectors:
        return DistinctSectors(((float(groups), 0.0),), 0.0)
    records = _SortedRecords(touched, groups)
    sectors_per_group = records.sectors_per_group
    group_mean = float(sectors_per_group.mean())
    parts: list[tuple[float, float]] = []
    for size in dict.fromkeys(max(groups // part, 1) for part in _PART_DIVISORS):
        in_part = _draw_part(groups, size)
        part_size = float(sectors_per_group[in_part].sum()) / group_mean
        if part_size:
            parts.append((part_size, records.count(in_part)))
    return DistinctSectors(tuple(parts), group_mean, records.span, records.paired_share)


class _SortedRecords:
    """The pairs of a sector and a group that touched it, sorted by sector, each with its weight.

    A sector's weight among some groups is that of the first record of them.
    """

    def __init__(self, touched: TouchedSectors, groups: int) -> None:
        sectors = np.concatenate(touched.sectors)
        owner = np.concatenate(touched.groups)
        begin = int(sectors.min())
        weights = set(touched.weights)
        pairs = (sectors - begin) * groups + owner
        if len(weights) == 1:
            pairs.sort()
            pairs = pairs[is_first(pairs)]
            self._rank: NDArray[np.int64] | None = None
            self._weights: NDArray[np.float64] = np.broadcast_to(
                weights.pop() or 1.0,  # 0 if only the last trips touch any: nothing represents them
                len(pairs),
            )
        else:
            order = np.argsort(pairs, kind="stable")
            self._rank = order[is_first(pairs[order])]
            pairs = pairs[self._rank]
            lengths = [len(part) for part in touched.sectors]
            self._weights = np.repeat(np.asarray(touched.weights), lengths)[self._rank]
        self._sectors = pairs // groups
        self.paired_share = _paired_share(self._sectors, begin)
        self._owner = pairs - self._sectors * groups
        self.sectors_per_group = np.bincount(self._owner, self._weights, minlength=groups)
        is_whole = touched.shows_reach or len(set(touched.weights)) == 1
        self.span = float(self._sectors[-1] - self._sectors[0] + 1) if is_whole else math.inf
        self._reach: _Reach | None = None
        if len(weights) > 1 and touched.shows_reach:
            self._reach = _Reach(self._sectors, self._owner, groups)
            self.sectors_per_group = np.minimum(self.sectors_per_group, self._reach.lengths)

    def count(self, in_part: NDArray[np.bool_]) -> float:
        """Count the distinct sectors that some groups touched, by their weights."""
        is_included = in_part[self._owner]
        sectors, weights = self._sectors[is_included], self._weights[is_included]
        if self._rank is not None:
            order = np.lexsort((self._rank[is_included], sectors))
            sectors, weights = sectors[order], weights[order]
        number = _weighted_count(sectors, weights)
        return number if self._reach is None else min(number, self._reach.covered(in_part))


class _Reach:
    """The sectors between the lowest and the highest one of each group.

    They limit the sectors that records of some trips represent: addresses that wrap around, and table
    look-ups, come back to the same sectors.
    """

    def __init__(self, sectors: NDArray[np.int64], owner: NDArray[np.int64], groups: int) -> None:
        self._begin = np.full(groups, np.iinfo(np.int64).max)
        self._end = np.zeros(groups, np.int64)
        np.minimum.at(self._begin, owner, sectors)
        np.maximum.at(self._end, owner, sectors + 1)
        self.lengths = np.maximum(self._end - self._begin, 0)

    def covered(self, in_part: NDArray[np.bool_]) -> float:
        """Return the number of sectors that the reach of some groups covers together."""
        begin, end = self._begin[in_part], self._end[in_part]
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
        before = np.maximum.accumulate(np.concatenate([[0], end[:-1]]))
        return float(np.maximum(end - np.maximum(begin, before), 0).sum())


def _paired_share(sectors: NDArray[np.int64], begin: int) -> float:
    """Return the share of distinct sectors whose neighbour in the same 64 B is among them.

    `sectors` are in order, from `begin` on.
    """
    distinct = sectors[is_first(sectors)] + begin
    paired = (np.diff(distinct) == 1) & (distinct[:-1] % 2 == 0)
    return 2.0 * float(paired.sum()) / len(distinct)


@lru_cache(1024)
def _draw_part(groups: int, size: int) -> NDArray[np.bool_]:
    """Return a mask of groups drawn at random with a fixed seed."""
    in_part = np.zeros(groups, np.bool_)
    in_part[np.random.default_rng(groups).permutation(groups)[:size]] = True
    in_part.flags.writeable = False
    return in_part


def _weighted_count(sectors: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Count distinct sectors in sorted records, each with the weight of its first record."""
    if not len(sectors):
        return 0.0
    return float(weights[is_first(sectors)].sum())


def fit_growth(touched: TouchedSectors, groups: int) -> Callable[[float], float]:
    """Return the number of distinct sectors of n consecutive groups as a function of n.

    The sample consists of consecutive groups. Beyond it, the number grows as in its second half.
    """
    if not touched.sectors or groups < 2:
        return lambda number: number * count_distinct(touched, max(groups, 1)).group_mean
    sectors = np.concatenate(touched.sectors)
    owner = np.concatenate(touched.groups)
    lengths = [len(part) for part in touched.sectors]
    weights = np.repeat(np.asarray(touched.weights), lengths)
    order = np.argsort(sectors, kind="stable")
    sectors, owner, weights = sectors[order], owner[order], weights[order]
    half = owner < groups // 2
    first, whole = _weighted_count(sectors[half], weights[half]), _weighted_count(sectors, weights)
    slope = (whole - first) / (groups - groups // 2)
    return lambda number: whole + (number - groups) * slope


def extrapolate_distinct(sample: DistinctSectors, groups: float, cap: float) -> tuple[float, float]:
    """Return the number of distinct sectors of `groups` groups, and its relative error.

    In the sample's parts, n groups touch `a n + F (1 - exp(-n / m))` distinct sectors: their own
    ones, and shared ones. `cap` is the number of sectors of the memory. Groups spread over the launch
    span nearly all that it touches, however large the memory is.
    """
    size, whole = sample.by_part[-1]
    cap = min(cap, sample.span * (1.0 + _SPAN_MARGIN / size))
    if groups <= size + 0.5 or whole == 0:
        return _interpolate(sample.by_part, groups), 0.0
    parts = [(n, value) for n, value in sample.by_part if value]
    if len(parts) < 2:
        return min(whole * groups / size, cap), 0.5
    numbers = np.asarray([float(n) for n, _ in parts])
    values = np.asarray([value for _, value in parts])
    curve, error = _fit_curve(numbers, values)
    predicted = float(curve(np.asarray([float(groups)]))[0])
    return min(max(predicted, whole), cap), error


def _interpolate(by_part: Sequence[tuple[float, float]], groups: float) -> float:
    """Interpolate the number of distinct sectors of at most as many groups as the sample has."""
    numbers, values = zip((0.0, 0.0), *by_part, strict=True)
    return float(np.interp(groups, numbers, values))


def _fit_curve(numbers: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[_Curve, float]:
    """Fit the curve of `extrapolate_distinct`. Return it with its relative error."""
    scales = numbers[-1] * _SCALES
    own = np.broadcast_to(numbers / values, (len(scales), len(values)))
    shared = (1.0 - np.exp(-numbers / scales[:, None])) / values
    aa, bb, ab = ((a * b).sum(axis=1) for a, b in ((own, own), (shared, shared), (own, shared)))
    a, b = own.sum(axis=1), shared.sum(axis=1)
    zeros = np.zeros(len(scales))
    determinant = np.maximum(aa * bb - ab * ab, 1e-300)
    coefficients = ((a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant)
    is_usable = (coefficients[0] > 0) & (coefficients[1] > 0) & (determinant > 1e-12 * aa * bb)
    own_coefficients = np.concatenate([a / aa, zeros, np.where(is_usable, coefficients[0], 0.0)])
    shared_coefficients = np.concatenate([zeros, b / bb, np.where(is_usable, coefficients[1], 0.0)])
    residuals = (
        own_coefficients[:, None] * np.tile(own, (3, 1))
        + shared_coefficients[:, None] * np.tile(shared, (3, 1))
        - 1.0
    )
    errors = np.sqrt((residuals * residuals).mean(axis=1))
    best = int(np.argmin(errors + 0.01 * np.repeat([0.1, 0.1, 1.0], len(scales))))
    scale = float(scales[best % len(scales)])

    def curve(n: NDArray[np.float64]) -> NDArray[np.float64]:
        sectors: NDArray[np.float64] = own_coefficients[best] * n + shared_coefficients[best] * (
            1.0 - np.exp(-n / scale)
        )
        return sectors

    return curve, float(errors[best])


def estimate_footprint(
    launch_sample: DistinctSectors,
    wave_sample: DistinctSectors,
    groups: int,
    wave_groups: int,
    cap: float,
) -> Footprint:
    """Estimate a site's footprint from a sample spread over the launch and a sample of one wave."""
    launch, error = extrapolate_distinct(launch_sample, groups, cap)
    wave, wave_error = extrapolate_distinct(wave_sample, min(wave_groups, groups), max(launch, 0.0))
    return Footprint(
        min(launch_sample.group_mean, cap),
        min(wave, cap),
        min(launch, cap),
        max(error, wave_error),
        launch_sample.paired_share,
    )
