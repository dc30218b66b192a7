"""A trace as a sample with all that can be told of it: its work, and what a model says of its times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cltrace.predict.trace_profile import own_predictions
from cltrace.regress.runs import DeviceIdentity, KernelKey, Modelled, RunSample
from cltrace.regress.samples import DROPPED, Depth, sample_of
from cltrace.trace.reader import Trace


def sampled(trace: Trace, drop: int = DROPPED, depth: Depth = Depth.WORK) -> RunSample:
    """What a trace says of its run, predictions included where it is deep. Raises: `TraceError`."""
    found = sample_of(trace, drop, depth)
    if depth is Depth.TIMES:
        return found
    return replace(found, modelled=modelled(trace, found.devices))


def modelled(
    trace: Trace, devices: Sequence[DeviceIdentity], most_s: float = 20.0
) -> Mapping[KernelKey, Modelled]:
    """What the launches of a trace should take on its own device; nothing without a profile of it.

    Configurations of one size are taken together, weighted by how often they were launched. What is not
    predicted after `most_s` seconds is left out. Raises: `TraceError`.
    """
    found = own_predictions(trace, most_s) if len(devices) == 1 else None
    if found is None:
        return {}
    groups: dict[KernelKey, list[tuple[int, float, float, float]]] = {}
    for one in found.launches:
        bounds = one.prediction.interval_ns
        if bounds is not None and one.launch.calls and min(bounds) > 0:
            size = str(list(one.launch.global_size))
            key = KernelKey(one.launch.kernel, size, devices[0].name)
            row = (one.launch.calls, one.prediction.duration_ns, *bounds)
            groups.setdefault(key, []).append(row)
    return {key: _mean(rows) for key, rows in sorted(groups.items())}


def _mean(rows: Sequence[tuple[int, float, float, float]]) -> Modelled:
    calls = sum(row[0] for row in rows)
    return Modelled(*(sum(row[0] * row[at] for row in rows) / calls for at in (1, 2, 3)))
