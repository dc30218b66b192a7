"""Column of words on predicted launches, with an explanation of those that occur."""

from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.predict.models import Cache
from cltrace.predict.traces import PredictedLaunch
from cltrace.report.document import Column

_MEANINGS: Final = {
    "outside": "measured outside of the predicted interval",
    "assumed": "depends on unknown contents of buffers",
    "cold": "its memory is not in the caches",
}


def launch_flags(predicted: PredictedLaunch, *, is_what_if: bool = False) -> str:
    """Return words on a launch: outside of its interval, on assumptions, with cold caches."""
    return ", ".join(_words(predicted, is_what_if=is_what_if))


def flags_column(
    launches: Sequence[PredictedLaunch], *, keep: int, is_what_if: bool = False
) -> Column:
    """Return the column of the words on some launches."""
    words = {word for each in launches for word in _words(each, is_what_if=is_what_if)}
    meanings = (f"{word}: {meaning}" for word, meaning in _MEANINGS.items() if word in words)
    return Column("flags", "flags", keep=keep, meaning="; ".join(meanings))


def _words(predicted: PredictedLaunch, *, is_what_if: bool) -> Iterator[str]:
    if predicted.is_outside and not is_what_if:
        yield "outside"
    if predicted.counts.assumptions:
        yield "assumed"
    if predicted.cache is Cache.COLD:
        yield "cold"
