"""Times as logs of power supplies write them: local, to the second, in the order of some country."""

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
"""Digits of a time since 1970 in s, ms, µs, ns, and what power of ten makes ns of it."""
_TIME: Final = re.compile(
    r"(?P<date>\d+[./-]\d+[./-]\d+)[ T,]+(?P<hour>\d+)[:.](?P<minute>\d+)[:.](?P<second>\d+)"
    r"(?P<part>[.,]\d+)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_BACK: Final = timedelta(minutes=30)
"""A local time that goes back by more did so because clocks were put back."""


class DateOrder(StrEnum):
    """What comes first in a date that does not begin with its year."""

    DAY = "dmy"
    MONTH = "mdy"


@dataclass(frozen=True, slots=True)
class Times:
    """Times of lines in ns since 1970, None for those that are none.

    Lines that name the same second are spread over it, in their order. `doubtful` are those that do not
    ascend. `impossible` times do not exist in their zone.
    """

    times_ns: tuple[int | None, ...]
    doubtful: tuple[bool, ...]
    wrong: int
    impossible: int


def date_order(texts: Sequence[str]) -> DateOrder:
    """How dates are written: dots mean the day first; else a number above 12 tells, somewhere.

    Raises: `PowerError` where nothing tells.
    """
    dates = [match["date"] for text in texts if (match := _TIME.fullmatch(text.strip()))]
    ambiguous = [re.split(r"[/-]", one) for one in dates if "." not in one]
    ambiguous = [parts for parts in ambiguous if len(parts[0]) <= 2]
    if not ambiguous or any(int(parts[0]) > 12 for parts in ambiguous):
        return DateOrder.DAY
    if any(int(parts[1]) > 12 for parts in ambiguous):
        return DateOrder.MONTH
    raise PowerError(
        f"{dates[0]} can be two dates: say --reader corsair-csv:dmy or corsair-csv:mdy"
    )


def localised(texts: Sequence[str], order: DateOrder, zone_name: str) -> Times:
    """The times of lines, in the zone named where they tell none.

    An hour that clocks went through twice is told by times that go back. Raises: `PowerError` for a zone
    that is not known.
    """
    zone = _zone(zone_name)
    times: list[int | None] = []
    fold, impossible, latest = 0, 0, datetime(1, 1, 1)  # noqa: DTZ001 - local
    for text in texts:
        parsed = _parsed(text.strip(), order)
        if isinstance(parsed, datetime) and parsed.tzinfo is None:
            if latest - parsed > _BACK:
                fold = 1
            latest = max(latest, parsed) if not fold else latest
            local = parsed.replace(tzinfo=zone, fold=fold)
            impossible += local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != parsed
            times.append(_ns(local))
        else:
            times.append(_ns(parsed) if isinstance(parsed, datetime) else parsed)
    spread = _spread(times)
    return Times(
        tuple(spread), tuple(_doubtful(spread)), sum(one is None for one in times), impossible
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise PowerError(
            f"--tz {name}: there is no such time zone, as in Europe/Helsinki"
        ) from None


def _parsed(text: str, order: DateOrder) -> datetime | int | None:
    """A moment: local without a zone; ns since 1970 for a plain number; None for none."""
    if _EPOCH.fullmatch(text):
        return _since_1970(text)
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
    micros = int(float(f"0{(match['part'] or '.0').replace(',', '.')}") * 1e6)
    zone = (match["zone"] or "").replace("Z", "+00:00")
    try:
        moment = datetime(  # noqa: DTZ001 - the zone is put to it by the caller
            *_date(match["date"], order), hour, int(match["minute"]), int(match["second"]), micros
        )
        return datetime.fromisoformat(moment.isoformat() + zone) if zone else moment
    except ValueError:
        return None


def _since_1970(text: str) -> int | None:
    """A plain number in ns; its unit is told by how many digits it has."""
    whole, _, part = text.partition(".")
    for digits, exponent in _EPOCH_UNITS:
        if len(whole) <= digits:
            scale = int(10**exponent)
            return int(whole) * scale + int(float(f"0.{part or 0}") * scale)
    return None


def _date(text: str, order: DateOrder) -> tuple[int, int, int]:
    """Year, month and day."""
    first, second, third = (int(one) for one in re.split(r"[./-]", text))
    if first > 31:
        return first, second, third
    day, month = (second, first) if order is DateOrder.MONTH else (first, second)
    return third + 2000 if third < 100 else third, month, day


def _ns(moment: datetime) -> int:
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _S_NS + since.microseconds * _US_NS


def _spread(times: Sequence[int | None]) -> list[int | None]:
    """Times with those that are the same whole second spread over it."""
    counts = Counter(time for time in times if time is not None and time % _S_NS == 0)
    met: Counter[int] = Counter()
    spread: list[int | None] = []
    for time in times:
        if time is None or counts[time] < 2:
            spread.append(time)
        else:
            spread.append(time + met[time] * _S_NS // counts[time])
            met[time] += 1
    return spread


def _doubtful(times: Sequence[int | None]) -> list[bool]:
    """Which times lie before one that stands above them."""
    found, latest = [], None
    for time in times:
        is_back = time is not None and latest is not None and time <= latest
        found.append(is_back)
        if time is not None and not is_back:
            latest = time
    return found
