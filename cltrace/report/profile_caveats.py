"""Caveats of predictions, as facts at the head of a report."""

from collections.abc import Iterator, Sequence

from cltrace.predict.caveats import profile_caveats
from cltrace.predict.traces import PredictedTrace
from cltrace.profile import DeviceProfile
from cltrace.report.document import Fact


def caveat_facts(
    profile: DeviceProfile, differences: Sequence[str] = (), prefix: str = ""
) -> Iterator[Fact]:
    """Yield the caveats of predictions with a profile, after a `prefix` that names the device."""
    for caveat in profile_caveats(profile, differences):
        yield Fact(caveat.key, caveat.label, f"{prefix}{caveat.text}", caveat.text)


def prediction_caveats(predictions: Sequence[PredictedTrace]) -> list[Fact]:
    """Return the caveats of the predictions of a trace's devices."""
    return [
        fact
        for each in predictions
        for fact in caveat_facts(
            each.profile, each.differences, f"{each.label}: " if each.label else ""
        )
    ]
