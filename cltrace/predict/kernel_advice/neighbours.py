"""What the model of neighbours says of launches at the same time, for rules about queues."""

from collections.abc import Mapping, Sequence
from typing import Final

from cltrace.predict.models import DEFAULT
from cltrace.predict.neighbours.traced import slower_beside_like
from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.timeline.advice.model import AloneShare, ModelledNeighbours

_MAX_GAIN: Final = 0.9
"""Gain of running at once below which kernels would be faster one after the other: models err."""
_MAX_LANES: Final = 8
_MIN_SHARE: Final = 0.01


def modelled_neighbours(
    predictions: Sequence[PredictedTrace], launches: Sequence[PredictedLaunch]
) -> ModelledNeighbours:
    """Return what the model says of the launches of some devices.

    `launches` are those for which it is worth to know how long they would take beside others.
    """
    slower: dict[int, Mapping[int, float]] = {}
    crowded: dict[int, AloneShare] = {}
    for prediction in predictions:
        if DEFAULT not in prediction.profile.parameters:
            continue
        own = {id(each) for each in prediction.launches}
        for each in launches:
            if id(each) in own:
                factors = slower_beside_like(each.counts, prediction.profile, _MAX_LANES)
                slower |= dict.fromkeys(each.launch_ids, factors)
        crowded |= _crowded(prediction)
    return ModelledNeighbours(slower, crowded)


def _crowded(prediction: PredictedTrace) -> Mapping[int, AloneShare]:
    """Return the shares of the launches that would have been faster one after another."""
    numbers = {
        number for each in prediction.at_once if each.gain < _MAX_GAIN for number in each.numbers
    }
    return {
        launch_id: share
        for number in numbers
        if (share := _alone_share(prediction.launches[number])) is not None
        for launch_id in prediction.launches[number].launch_ids
    }


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
