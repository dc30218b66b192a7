"""Comparison of times across devices: base's times, projected to head's device by the model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cltrace.regress.run_records import (
    DeviceIdentity,
    KernelKey,
    KernelTime,
    PredictedTime,
    Round,
    RunSample,
)


@dataclass(frozen=True, slots=True)
class _Projection:
    """Projection of a kernel of base to head's device.

    Attributes:
        key: the kernel's key at head.
        ratio: head's predicted time by base's.
        doubt: the factor ≥ 1 that both predictions' intervals leave open.
    """

    key: KernelKey
    ratio: float
    doubt: float


def project_base(rounds: Sequence[Round]) -> tuple[tuple[Round, ...], Mapping[str, float]]:
    """Return rounds with base projected to head's device, and the doubt in it, a factor ≥ 1 by kernel.

    A time of base is multiplied by the predicted time of head's launch over that of base's. Kernels
    without a prediction on both devices are left out. The doubts are by the kernel's name: the product of
    both predictions' factors.
    """
    projections = dict(_find_projections(rounds))
    doubts: dict[str, float] = {}
    for key, projection in projections.items():
        doubts[key.kernel] = max(projection.doubt, doubts.get(key.kernel, 1.0))
    head_keys = {projection.key for projection in projections.values()}
    projected = tuple(
        Round(
            tuple(_project(run, projections, one_round.head[0].devices) for run in one_round.base),
            tuple(_select_kernels(run, head_keys) for run in one_round.head),
        )
        for one_round in rounds
        if one_round.num_pairs
    )
    return projected, doubts


def _find_projections(rounds: Sequence[Round]) -> Iterator[tuple[KernelKey, _Projection]]:
    """Yield the projection of each kernel of base that both sides predict."""
    bases: dict[KernelKey, PredictedTime] = {}
    heads: dict[tuple[str, str], tuple[KernelKey, PredictedTime]] = {}
    for one_round in rounds:
        for run in one_round.base:
            bases.update(run.modelled)
        for run in one_round.head:
            heads.update(
                {(key.kernel, key.global_size): (key, time) for key, time in run.modelled.items()}
            )
    for key, before in bases.items():
        match = heads.get((key.kernel, key.global_size))
        if match is not None:
            head_key, after = match
            ratio = after.duration_ns / before.duration_ns
            yield key, _Projection(head_key, ratio, before.factor * after.factor)


def _project(
    run: RunSample,
    projections: Mapping[KernelKey, _Projection],
    devices: tuple[DeviceIdentity, ...],
) -> RunSample:
    kernels = {}
    for key, time in run.kernels.items():
        if key in projections:
            projection = projections[key]
            kernels[projection.key] = KernelTime(
                time.launches,
                time.counted,
                time.median_ns * projection.ratio,
                time.total_ns * projection.ratio,
            )
    return replace(run, devices=devices, kernels=kernels)


def _select_kernels(run: RunSample, keys: set[KernelKey]) -> RunSample:
    return replace(run, kernels={key: time for key, time in run.kernels.items() if key in keys})
