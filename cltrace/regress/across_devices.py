"""Times of one device held against those of another, through what the model says of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cltrace.regress.runs import DeviceIdentity, KernelKey, KernelTime, Modelled, Round, RunSample


def through_model(rounds: Sequence[Round]) -> tuple[tuple[Round, ...], Mapping[str, float]]:
    """Rounds with base as it would be on head's device, and how far off that may be, by kernel.

    A time of base is multiplied by what the model says of head's launch, by what it says of base's.
    Kernels that the model does not know on both devices are left out. The factors are by the kernel's
    name: those of both intervals together.
    """
    ratios = dict(_ratios(rounds))
    doubts: dict[str, float] = {}
    for old, (_, _, doubt) in ratios.items():
        doubts[old.kernel] = max(doubt, doubts.get(old.kernel, 1.0))
    moved = tuple(
        Round(
            tuple(_moved(run, ratios, one.head[0].devices) for run in one.base),
            tuple(_known(run, {new for new, _, _ in ratios.values()}) for run in one.head),
        )
        for one in rounds
        if one.pairs
    )
    return moved, doubts


def _ratios(rounds: Sequence[Round]) -> Iterator[tuple[KernelKey, tuple[KernelKey, float, float]]]:
    """Of each kernel of base: its name at head, head's time by base's, and the doubt in it."""
    bases: dict[KernelKey, Modelled] = {}
    heads: dict[tuple[str, str], tuple[KernelKey, Modelled]] = {}
    for one in rounds:
        for run in one.base:
            bases.update(run.modelled)
        for run in one.head:
            heads.update(
                {(key.kernel, key.global_size): (key, on) for key, on in run.modelled.items()}
            )
    for old, before in bases.items():
        found = heads.get((old.kernel, old.global_size))
        if found is not None:
            new, after = found
            yield old, (new, after.duration_ns / before.duration_ns, before.factor * after.factor)


def _moved(
    run: RunSample, ratios: Mapping[KernelKey, tuple[KernelKey, float, float]],
    devices: tuple[DeviceIdentity, ...],
) -> RunSample:  # fmt: skip
    kernels = {}
    for old, time in run.kernels.items():
        if old in ratios:
            new, ratio, _ = ratios[old]
            kernels[new] = KernelTime(
                time.launches, time.counted, time.median_ns * ratio, time.total_ns * ratio
            )
    return replace(run, devices=devices, kernels=kernels)


def _known(run: RunSample, known: set[KernelKey]) -> RunSample:
    return replace(run, kernels={key: one for key, one in run.kernels.items() if key in known})
