"""Shares of a run that its kernels take, which decide about whose work advice is worth giving."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import MIN_SHARE, UncountedKernel

_MIN_OWN_SHARE: Final = 0.1
"""Share of its kernel's time from which a launch is examined."""


def long_launches(prediction: PredictedTrace, activity: Activity) -> Iterator[PredictedLaunch]:
    """Yield the launches of kernels that take a share of the run, but for those that add little."""
    span_ns = _span_ns(activity)
    if not span_ns:
        return
    total_ns: Counter[str] = Counter()
    for each in prediction.launches:
        total_ns[each.launch.kernel] += round(each.total_ns)
    for each in prediction.launches:
        of_kernel = total_ns[each.launch.kernel]
        if of_kernel >= MIN_SHARE * span_ns and each.total_ns >= _MIN_OWN_SHARE * of_kernel:
            yield each


def uncounted_kernels(
    predictions: Sequence[PredictedTrace], activity: Activity
) -> tuple[UncountedKernel, ...]:
    """Return the kernels that could not be counted, each once per reason."""
    shares = _kernel_shares(activity)
    refused = [row for prediction in predictions for row in prediction.refused]
    return tuple(
        UncountedKernel(kernel, why, shares.get(kernel, 0.0))
        for kernel, why in dict.fromkeys((kernel, why) for kernel, _, why in refused)
    )


def _kernel_shares(activity: Activity) -> Mapping[str, float]:
    """Return the share of the run that all launches of each kernel take, by its name."""
    commands, names = activity.commands, activity.names.kernels
    span_ns = _span_ns(activity)
    if not span_ns:
        return {}
    took_ns = np.where(commands.is_placed, np.maximum(commands.duration_ns, 0), 0)
    totals = np.bincount(commands.kernel, weights=took_ns, minlength=len(names))
    shares: Counter[str] = Counter()
    for name, total in zip(names, totals.tolist(), strict=True):
        shares[name] += total / span_ns
    return shares


def _span_ns(activity: Activity) -> int:
    """Return the time from the first enqueue to the last end, 0 if no command has a time."""
    commands = activity.commands
    if not commands.is_placed.any():
        return 0
    return max(int(commands.end_ns[commands.is_placed].max() - commands.enter_ns.min()), 0)
