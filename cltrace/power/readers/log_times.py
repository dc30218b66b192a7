"""Times in logs of power supplies: local, to the second, in the date order of some country."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cltrace.errors import PowerError

_S_NS: Final = 1_000_000_000
_US_NS: Final = 1000
_EPOCH: Final = re.compile(r"\d{9,19}(\.\d+)?")
_EPOCH_UNITS: Final = ((10, 9), (13, 6), (16, 3), (19, 0))
"""Maximum number of digits of a time since 1970 in s, ms, µs and ns, and the power of ten to ns."""
_TIME: Final = re.compile(
    r"(?P<date>\d+[./-]\d+[./-]\d+)[ T,]+(?P<hour>\d+)[:.](?P<minute>\d+)[:.](?P<second>\d+)"
    r"(?P<part>[.,]\d+)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_MIN_CLOCK_CHANGE: Final = timedelta(minutes=30)
"""A larger step back of local time is the end of daylight saving time."""


class DateOrder(StrEnum):
    """Order of a date that does not begin with its year."""

    DAY = "dmy"
    MONTH = "mdy"


@dataclass(frozen=True, slots=True)
class LogTimes:
    """Times of a log's lines in ns since 1970, `None` for a line without a readable time.

    Lines of the same second are spread over it, in their order. `is_doubtful` marks the times that do not
    ascend. `unreadable_count` is the number of `None`. `nonexistent_count` is the number of local times
    that do not exist in their zone, because clocks were put forward.
    """

    times_ns: tuple[int | None, ...]
    is_doubtful: tuple[bool, ...]
    unreadable_count: int
    nonexistent_count: int


def detect_date_order(texts: Sequence[str]) -> DateOrder:
    """Return the order of the dates: dots mean the day first; else a number above 12 decides.

    Raises: `PowerError` if all dates are ambiguous.
    """
    dates = [match["date"] for text in texts if (match := _TIME.fullmatch(text.strip()))]
    ambiguous = [re.split(r"[/-]", date) for date in dates if "." not in date]
    ambiguous = [parts for parts in ambiguous if len(parts[0]) <= 2]
    if not ambiguous or any(int(parts[0]) > 12 for parts in ambiguous):
        return DateOrder.DAY
    if any(int(parts[1]) > 12 for parts in ambiguous):
        return DateOrder.MONTH
    raise PowerError(f"{dates[0]} is ambiguous: choose --reader corsair-csv:dmy or corsair-csv:mdy")


_YEARS: Final = range(1971, 2200)
_MAX_NS: Final = (_YEARS.stop - 1970) * 365 * 86_400 * _S_NS
"""Bounds of the times that are read: others are mistakes, and later ones exceed 64 bits in ns."""


def parse_times(texts: Sequence[str], order: DateOrder, zone_name: str) -> LogTimes:
    """Return the times of lines. Times without a zone are in the named one.

    A step back in local time marks the second pass through a repeated hour. Raises: `PowerError` for an
    unknown zone.
    """
    zone = _zone(zone_name)
    times: list[int | None] = []
    fold, nonexistent_count, latest = 0, 0, datetime(1, 1, 1)  # noqa: DTZ001 - local
    for text in texts:
        parsed = _parse(text.strip(), order)
        if isinstance(parsed, datetime) and parsed.tzinfo is None:
            if latest - parsed > _MIN_CLOCK_CHANGE:
                fold = 1
            latest = max(latest, parsed) if not fold else latest
            local = parsed.replace(tzinfo=zone, fold=fold)
            exists = local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == parsed
            nonexistent_count += not exists
            times.append(_ns(local))
        else:
            times.append(_ns(parsed) if isinstance(parsed, datetime) else parsed)
    spread = _spread(times)
    return LogTimes(
        tuple(spread),
        tuple(_mark_doubtful(spread)),
        sum(time is None for time in times),
        nonexistent_count,
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise PowerError(
            f"--tz {name}: there is no such time zone; write it as in Europe/Helsinki"
        ) from None


def _parse(text: str, order: DateOrder) -> datetime | int | None:
    """Return a time, with a zone or local, ns since 1970 for a plain number, or `None` for no time."""
    if _EPOCH.fullmatch(text):
        return _parse_epoch(text)
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    micros = int(float(f"0{(match['part'] or '.0').replace(',', '.')}") * 1e6)
    zone = (match["zone"] or "").replace("Z", "+00:00")
    try:
        hour = int(match["hour"])
        if match["half"]:
            hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
        moment = datetime(  # noqa: DTZ001 - the caller adds the zone
            *_date(match["date"], order), hour, int(match["minute"]), int(match["second"]), micros
        )
        if moment.year not in _YEARS:
            return None
        return datetime.fromisoformat(moment.isoformat() + zone) if zone else moment
    except (ValueError, OverflowError):  # numbers of thousands of digits, and beyond 64 bits
        return None


def _parse_epoch(text: str) -> int | None:
    """Return a plain number in ns. Its number of digits determines its unit."""
    whole, _, part = text.partition(".")
    for digits, exponent in _EPOCH_UNITS:
        if len(whole) <= digits:
            scale = int(10**exponent)
            time_ns = int(whole) * scale + int(float(f"0.{part or 0}") * scale)
            return time_ns if time_ns < _MAX_NS else None
    return None


def _date(text: str, order: DateOrder) -> tuple[int, int, int]:
    """Return the year, month and day."""
    first, second, third = (int(part) for part in re.split(r"[./-]", text))
    if first > 31:
        return first, second, third
    day, month = (second, first) if order is DateOrder.MONTH else (first, second)
    return third + 2000 if third < 100 else third, month, day


def _ns(moment: datetime) -> int:
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _S_NS + since.microseconds * _US_NS


def _spread(times: Sequence[int | None]) -> list[int | None]:
    """Return the times, with repeated whole seconds spread over their second."""
    counts = Counter(time for time in times if time is not None and time % _S_NS == 0)
    previous: Counter[int] = Counter()
    spread: list[int | None] = []
    for time in times:
        if time is None or counts[time] < 2:
            spread.append(time)
        else:
            spread.append(time + previous[time] * _S_NS // counts[time])
            previous[time] += 1
    return spread


def _mark_doubtful(times: Sequence[int | None]) -> list[bool]:
    """Return a mark for each time that is not after all previous ones."""
    marks, latest = [], None
    for time in times:
        is_back = time is not None and latest is not None and time <= latest
        marks.append(is_back)
        if time is not None and not is_back:
            latest = time
    return marks
