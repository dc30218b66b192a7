"""What the model of neighbours says of launches at the same time, for rules about queues."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cltrace.predict.models import DEFAULT
from cltrace.predict.neighbours.traced import slower_beside_like
from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.timeline.advice.model import AloneShare, DeviceLaunch, ModelledNeighbours

_MAX_GAIN: Final = 0.92
"""Gain of running at once below which kernels would be faster one after the other: models err."""
_MAX_LANES: Final = 8
_MIN_SHARE: Final = 0.01


def modelled_neighbours(
    predictions: Sequence[PredictedTrace],
    launches: Sequence[PredictedLaunch],
    devices: Iterable[int],
) -> ModelledNeighbours:
    """Return what the model says of the launches of some devices.

    `launches` are those for which it is worth to know how long they would take beside others, `devices`
    the numbers of those for which a prediction is that names none.
    """
    slower: dict[DeviceLaunch, Mapping[int, float]] = {}
    crowded: dict[DeviceLaunch, AloneShare] = {}
    every = tuple(devices)
    for prediction in predictions:
        if DEFAULT not in prediction.profile.parameters:
            continue
        own = {id(each) for each in prediction.launches}
        on_devices = prediction.device_ids or every
        for each in launches:
            if id(each) in own:
                factors = slower_beside_like(each.counts, prediction.profile, _MAX_LANES)
                slower |= dict.fromkeys(_on(on_devices, each), factors)
        for number in _crowded_numbers(prediction):
            each = prediction.launches[number]
            share = _alone_share(each)
            if share is not None:
                crowded |= dict.fromkeys(_on(on_devices, each), share)
    return ModelledNeighbours(slower, crowded)


def _on(devices: Iterable[int], launch: PredictedLaunch) -> list[DeviceLaunch]:
    return [
        DeviceLaunch(device, launch_id) for device in devices for launch_id in launch.launch_ids
    ]


def _crowded_numbers(prediction: PredictedTrace) -> list[int]:
    """Return the positions of launches that would have been faster one after another, all in all."""
    time_ns: Counter[int] = Counter()
    alone_ns: dict[int, float] = {}
    for each in prediction.at_once:
        for number in each.numbers:
            time_ns[number] += each.time_ns
            alone_ns[number] = alone_ns.get(number, 0.0) + each.gain * each.time_ns
    return [number for number, own in alone_ns.items() if own < _MAX_GAIN * time_ns[number]]


def _alone_share(launch: PredictedLaunch) -> AloneShare | None:
    cost = launch.neighbours
    if cost is None or launch.total_ns <= 0:
        return None
    low_ns, high_ns = cost.interval_ns
    expected, low, high = (
        max(1.0 - longer_ns / launch.total_ns, _MIN_SHARE)
        for longer_ns in (cost.longer_ns, high_ns, low_ns)
    )
    return AloneShare(expected, low, high)
