"""Costs that one family of probes isolates: of launches, operations and reads that follow each other."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.events.cost_names import CostName
from cltrace.kernels.demand.operations import ACCESS, Pipe, pipe_of
from cltrace.predict.curves import require_scipy
from cltrace.predict.models.defaults import Gaps
from cltrace.predict.models.overlap.arrivals import ARRIVAL_COSTS, ARRIVAL_FAMILIES, arrival_costs
from cltrace.predict.models.overlap.costs import operation_key, wait_key
from cltrace.predict.models.overlap.probes import MeasuredProbe, by_series, longer_loops
from cltrace.predict.models.overlap.processor_caches import CACHE_COSTS, cache_costs
from cltrace.predict.models.overlap.processor_costs import PROCESSOR_COSTS, processor_costs
from cltrace.profile import Parameter

SLOT: Final = CostName("float", "add")
"""Name of an operation that takes an issue slot and nothing else."""
_SMALL_ITEMS: Final = 1 << 14
"""Empty launches of no more work-items take the launch overhead."""
_SLOWER: Final = 1.02
"""Factor from which larger work-groups take longer to dispatch."""
_MIN_POINTS: Final = 4
_FIRST_WALKS: Final = 8.0
"""Walks through up to so many times the memory of the first one that misses the nearest cache."""
_LAUNCHES: Final = ("launch", "doubling", "group", "warp")
_NEAR_CACHE: Final = ("l1 size", "l1 sharpness")
_SHARPNESSES: Final = np.geomspace(2.0, 16.0, 43)
_CACHE_STEPS: Final = 121
_MIN_SLOWER: Final = 1.5
"""Factor by which reads that miss the near cache have to take longer, for its size to show."""
_LATENCIES: Final = ("wait l1", "wait l2", "wait local")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Costs that families isolate: their names, and their fit."""

    families: Sequence[str]
    names: Sequence[str]
    fit: Callable[[], Iterable[tuple[str, Parameter]]]


def isolated_costs(
    probes: Sequence[MeasuredProbe], gaps: Gaps, *, is_cpu: bool
) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs that families isolate; defaults for those that were left out."""
    for piece in (
        *_pieces(probes, gaps, is_cpu=is_cpu),
        *(_cpu_pieces if is_cpu else _gpu_pieces)(probes),
    ):
        fitted = gaps.fit_or_default(piece.families, piece.names, piece.fit)
        unfitted = (name for name in piece.names if name not in fitted)
        yield from gaps.defaults_of(_without_probes(unfitted, probes, gaps)).items()
        yield from fitted.items()


def _pieces(probes: Sequence[MeasuredProbe], gaps: Gaps, *, is_cpu: bool) -> tuple[_Piece, ...]:
    """Return the pieces of all devices."""
    return (
        _Piece(
            ("throughput",),
            gaps.names_of("throughput"),
            lambda: _operations(
                probes, "throughput", operation_key, _throughput if is_cpu else _own_pipe
            ).items(),
        ),
        _Piece(
            ("latency",),
            gaps.names_of("latency"),
            lambda: _operations(probes, "latency", wait_key, _waits).items(),
        ),
        _Piece(ARRIVAL_FAMILIES, ARRIVAL_COSTS, lambda: arrival_costs(probes)),
    )


def _cpu_pieces(probes: Sequence[MeasuredProbe]) -> tuple[_Piece, ...]:
    return (
        _Piece(("base", "groups"), _LAUNCHES, lambda: _cpu_launches(probes)),
        _Piece(("chases",), CACHE_COSTS, lambda: cache_costs(probes, _empty_launch_ns(probes))),
        *(
            _Piece((family,), tuple(costs), partial(processor_costs, probes, family))
            for family, costs in PROCESSOR_COSTS.items()
        ),
    )


def _gpu_pieces(probes: Sequence[MeasuredProbe]) -> tuple[_Piece, ...]:
    return (
        _Piece(("base", "groups"), _LAUNCHES, lambda: _gpu_launches(probes)),
        _Piece(("chases",), _LATENCIES, lambda: _read_latencies(probes)),
        _Piece(("images",), ("texel",), lambda: _texel_cost(probes)),
        _Piece(("near-sets",), _NEAR_CACHE, lambda: near_cache_costs(probes)),
    )


def _without_probes(
    names: Iterable[str], probes: Sequence[MeasuredProbe], gaps: Gaps
) -> Iterator[str]:
    """Yield the names of costs that no series shows at two points: others cost nothing."""
    points: dict[tuple[str, str], set[float]] = {}
    for probe in probes:
        points.setdefault((probe.family, probe.series), set()).add(probe.x)
    for name in names:
        family = gaps.defaults[name].own_family if name in gaps.defaults else ""
        if len(points.get((family, name.removeprefix("wait ")), ())) < 2:
            yield name


def _gpu_launches(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the launch overhead, the cost of a group, and that of each of its warps if it is larger."""
    small = [
        probe.time_ns for probe in probes if probe.family == "base" and probe.x <= _SMALL_ITEMS
    ]
    groups = [probe for probe in probes if probe.family == "groups"]
    if not small or not groups:
        raise ProfileError("the calibration has no empty launches")
    launch = median(small)
    spread = float(np.std(small)) / math.sqrt(len(small))
    yield "launch", Parameter(launch, "ns", spread, "base")
    max_groups = max(probe.demand.groups for probe in groups)
    per_group = {
        probe.demand.group_warps: max(probe.time_ns - launch, 0.0) / probe.demand.groups
        for probe in groups
        if probe.demand.groups == max_groups
    }
    fastest, largest = min(per_group.values()), max(per_group)
    yield "group", Parameter(fastest, "ns", 0.0, "groups")
    is_slower = per_group[largest] > _SLOWER * fastest
    per_warp = per_group[largest] / largest if is_slower else 0.0
    yield "warp", Parameter(per_warp, "ns", 0.0, "groups")


def _cpu_launches(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the cost of a launch, of each doubling of its work-groups, and of each work-group.

    Threads are woken and take several work-groups at a time, ever fewer towards the end: the number of
    these hand-outs grows with the logarithm of the number of work-groups.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    empty = [probe for probe in probes if probe.family in {"base", "groups"}]
    if len({probe.family for probe in empty}) < 2:
        raise ProfileError("the calibration has no empty launches")
    times = np.asarray([probe.time_ns for probe in empty])
    groups = np.asarray([float(probe.demand.groups) for probe in empty])
    columns = np.stack([np.ones(len(empty)), np.log2(groups), groups], axis=1)
    costs, residual = nnls(columns / times[:, None], np.ones(len(empty)))
    error = float(residual) / math.sqrt(len(empty))
    for name, cost in zip(("launch", "doubling", "group"), costs, strict=True):
        value = max(float(cost), 1.0) if name == "launch" else float(cost)
        yield name, Parameter(value, "ns", value * error, "groups")


def _empty_launch_ns(probes: Sequence[MeasuredProbe]) -> float:
    """Return the time of an empty launch of one work-group on a CPU, 0 if that was not measured."""
    with suppress(ProfileError):
        return dict(_cpu_launches(probes))["launch"].value
    return 0.0


def _read_latencies(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the latency of a read that depends on the last one, for each level of caches.

    Walks through the smallest memory stay in the nearest cache. The first walks that miss it hit the
    shared cache; longer ones also miss the translations of addresses that a single work-item keeps, which
    many share.
    """
    walks = sorted(
        (probe for probe in probes if probe.family == "chases" and probe.series != "local"),
        key=lambda probe: probe.x,
    )
    near = [probe for probe in probes if probe.family == "chases" and probe.series == "local"]
    if len(walks) < 3:
        raise ProfileError("the calibration has no family chases")
    latencies = [probe.time_ns / max(probe.demand.rounds, 1.0) for probe in walks]
    missing = [
        (probe.x, latency)
        for probe, latency in zip(walks, latencies, strict=True)
        if latency > 2.0 * latencies[0]
    ]
    first = [latency for x, latency in missing if x <= _FIRST_WALKS * missing[0][0]]
    yield "wait l1", Parameter(latencies[0], "ns", 0.0, "chases")
    yield "wait l2", Parameter(median(first or latencies), "ns", 0.0, "chases")
    for probe in near:
        yield "wait local", Parameter(probe.time_ns / probe.demand.rounds, "ns", 0.0, "chases")


def _texel_cost(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the cost of a warp's pass through a unit for images, by which more reads take longer.

    Nothing is yielded for a calibration without images.
    """
    costs: list[float] = []
    for points in by_series(probes, "images"):
        least, most = (
            choose(points, key=lambda probe: probe.demand.texels) for choose in (min, max)
        )
        passes = (most.demand.texels - least.demand.texels) / most.demand.units
        if passes > 0.0:
            costs.append((most.time_ns - least.time_ns) / passes)
    if costs:
        error = float(np.std(costs)) / math.sqrt(len(costs))
        yield "texel", Parameter(max(median(costs), 0.0), "ns", error, "images")


def near_cache_costs(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the size of the near cache and its sharpness, by least squares of the share of misses.

    Reads of the smallest memory hit it, and those of the largest miss it. Nothing is yielded where these
    take as long as those.
    """
    own = [probe for probe in probes if probe.family == "near-sets"]
    times = np.asarray([probe.time_ns for probe in own])
    if len(own) < _MIN_POINTS or times.max() < _MIN_SLOWER * times.min():
        return
    sizes = np.asarray([probe.x for probe in own])
    missed = (times - times.min()) / (times.max() - times.min())
    candidates = np.geomspace(sizes.min(), sizes.max(), _CACHE_STEPS)[:, None, None]
    sharpness = _SHARPNESSES[None, :, None]
    residuals = np.square(1.0 / (1.0 + (candidates / sizes) ** sharpness) - missed).sum(axis=2)
    best_size, best_sharpness = np.unravel_index(residuals.argmin(), residuals.shape)
    size = float(candidates[best_size, 0, 0])
    error = math.sqrt(float(residuals.min()) / len(own))
    yield "l1 size", Parameter(size, "B", size * error, "near-sets")
    yield "l1 sharpness", Parameter(float(_SHARPNESSES[best_sharpness]), "", 0.0, "near-sets")


_CountOperations = Callable[[MeasuredProbe], Mapping[CostName, float]]


def _throughput(probe: MeasuredProbe) -> Mapping[CostName, float]:
    demand = probe.demand
    return {work.name: work.warp_total / demand.units for work in demand.work}


def _own_pipe(probe: MeasuredProbe) -> Mapping[CostName, float]:
    """Return the operations in the pipe of the series, as the others work at the same time.

    Every operation takes an issue slot, so those of other pipes count as one that takes nothing else.
    """
    pipe = pipe_of(CostName.parse(probe.series))
    counts: dict[CostName, float] = {}
    for work in probe.demand.work:
        if work.pipe is pipe:
            name = work.name
        elif pipe is Pipe.ISSUE:
            name = SLOT
        else:
            continue
        counts[name] = counts.get(name, 0.0) + work.warp_total / probe.demand.units
    return counts


def _waits(probe: MeasuredProbe) -> Mapping[CostName, float]:
    demand = probe.demand
    return {wait.name: wait.per_warp * demand.serial_warps for wait in demand.waits}


def _operations(
    probes: Sequence[MeasuredProbe],
    family: str,
    key: Callable[[CostName], str],
    count: _CountOperations,
) -> Mapping[str, Parameter]:
    """Return the costs of operations, by `key` of their names.

    They explain the differences between a long and a short loop of each series, of all series at once.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    rows, times = _loop_differences(probes, family, count)
    names = sorted({name for row in rows for name in row} - {ACCESS}, key=str)
    matrix = np.asarray([[row.get(name, 0.0) for name in names] for row in rows])
    scale = np.asarray(times)
    if not len(scale):
        raise ProfileError(f"the calibration has no family {family}")
    costs, residual = nnls(matrix / scale[:, None], np.ones(len(scale)))
    error = float(residual) / math.sqrt(len(scale))
    return {
        key(name): Parameter(float(cost), "ns", float(cost) * error, family)
        for name, cost in zip(names, costs, strict=True)
        if cost > 0
    }


def _loop_differences(
    probes: Sequence[MeasuredProbe], family: str, count: _CountOperations
) -> tuple[list[dict[CostName, float]], list[float]]:
    """Return the operations and the ns by which the longest loop of each series exceeds the shortest."""
    rows: list[dict[CostName, float]] = []
    times: list[float] = []
    for shortest, longest in longer_loops(probes, family):
        base = count(shortest)
        longest_counts = count(longest).items()
        rows.append({name: number - base.get(name, 0.0) for name, number in longest_counts})
        times.append(longest.time_ns - shortest.time_ns)
    return rows, times
