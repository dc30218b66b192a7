"""Logs of power supplies: Corsair Link's, and other tables of a time and values.

Such logs have a line per second, the clock of another machine, and the number and date formats of some
country. Delimiter, decimal mark and date format are detected from the file; the user is asked for what
is ambiguous. Without a header the columns are those of the log of an AX760i in Piispanen, Timing and
energy of accelerated processing (2014), section 6.1.3:

    15.7.2013 11:36:16,20,7W,89,8766315921014,151,9921875,136,605458408151

After the time, this line has the graphics card's supplementary rail in W, the efficiency in per cent,
and power in and power out in W (136.6 W are 89.88 % of 152.0 W). The comma is both delimiter and decimal
mark.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final, Literal

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, SampleFlag, Scope
from cltrace.files import read_input
from cltrace.power.protocol import API, Channel, Log, LogClock, LogRequest, Probe, Sample
from cltrace.power.readers.log_times import DateOrder, LogTimes, detect_date_order, parse_times

_MAX_BYTES: Final = 256 << 20
_MICRO: Final = 1e-6
_HALF_S_NS: Final = 500_000_000
_PERIOD_S: Final = 1.0
_NUMBER: Final = re.compile(r"\s*([-+]?\d[\d.,' ]*)\s*([A-Za-z%°+/]*)\s*")
_AX760I: Final = ("time", "PCIe supplementary", "efficiency", "power in", "power out")
_SCOPES: Final = (
    (r"power.*\bin\b|\bin\b.*power|input power|wall|mains", Scope.WALL),
    (r"power.*\bout\b|\bout\b.*power|output power|total power", Scope.PSU),
    (r"supplementary|pci-?e|12 ?v.*power|5 ?v.*power|3\.3 ?v.*power|rail", Scope.RAIL),
    (r"power|watt|\bw\b", Scope.OTHER),
)
_NOT_POWER: Final = re.compile(
    r"efficien|volt|\bamp|current|temp|fan|rpm|speed|time|date|load", re.IGNORECASE
)
_UNITS: Final = {"": 0, "w": 0, "watt": 0, "watts": 0, "kw": 3, "mW": -3, "MW": 6, "uW": -6}
"""Units of power with their power of ten. Values in other units are not powers."""
_MAX_UNREADABLE: Final = 0.2
"""Maximum share of unreadable lines. A file with more is not such a log."""


@dataclass(frozen=True, slots=True)
class _LogTable:
    """Log as text: names of columns, rows with a word per column, and the count of unreadable lines."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    unreadable_count: int


class CorsairCsvReader:
    """Reader of logs of Corsair Link and similar. Its argument is `dmy` or `mdy` for ambiguous dates."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["log"]] = "log"

    def __init__(self, argument: str = "") -> None:
        self._order = argument

    def probe(self) -> Probe:
        """Return ok: the reader needs no sensor."""
        return Probe(ProbeState.OK, "reads logs of power supplies: a time and watts on each line")

    def read_log(self, request: LogRequest) -> Log:
        """Return the powers in a log, a sample per line. Raises: `PowerError`."""
        if self._order not in {"", *DateOrder}:
            raise PowerError(f"corsair-csv:{self._order}: write dmy or mdy for the order of dates")
        table = _read_table(request)
        order = (
            DateOrder(self._order)
            if self._order
            else detect_date_order([row[0] for row in table.rows])
        )
        times = parse_times([row[0] for row in table.rows], order, request.time_zone)
        unreadable_count = table.unreadable_count + times.unreadable_count
        line_count = len(table.rows) + table.unreadable_count
        if unreadable_count > _MAX_UNREADABLE * line_count:
            raise PowerError(
                f"{request.path}: {unreadable_count} of {line_count} lines cannot be read"
            )
        columns = _choose_columns(table.names, request.columns)
        channels = _channels(table.names, columns)
        _warn(request, unreadable_count, times)
        samples = [
            sample
            for (place, _), channel in zip(columns, channels, strict=True)
            for sample in _samples(table, times, place, channel.key)
        ]
        if not samples:
            raise PowerError(f"{request.path}: no line has a time and a power")
        return Log(channels, tuple(samples), LogClock.WALL)


def _warn(request: LogRequest, unreadable_count: int, times: LogTimes) -> None:
    if unreadable_count:
        request.warn(f"{request.path}: {unreadable_count} lines cannot be read and are left out")
    if times.nonexistent_count:
        request.warn(
            f"{request.path}: {times.nonexistent_count} times do not exist in {request.time_zone} "
            "(clocks are put forward then): check --tz"
        )


def _read_table(request: LogRequest) -> _LogTable:
    """Return the rows of a log. Raises: `PowerError`."""
    path = request.path
    try:
        text = read_input(path, _MAX_BYTES)
    except OSError as error:
        raise PowerError(f"{path} cannot be read: {error.strerror}") from error
    encoding = "utf-16" if text[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    lines = [line for line in text.decode(encoding, "replace").splitlines() if line.strip()]
    if not lines:
        raise PowerError(f"{path} is empty")
    delimiter = max("\t;,", key=lambda mark: (mark in lines[-1], "\t;,".index(mark) * -1))
    try:
        cells = [tuple(map(str.strip, row)) for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error as error:
        raise PowerError(f"{path} is no table: {error}") from error
    has_header = not re.search(r"\d", cells[0][0])
    names = cells[0] if has_header else ()
    return _fit_rows(names, cells[int(has_header) :], delimiter)


def _fit_rows(
    names: tuple[str, ...], cells: Sequence[tuple[str, ...]], delimiter: str
) -> _LogTable:
    """Return rows with a word per column: numbers that were split at decimal commas are joined."""
    width = len(names)
    if not width:
        widths = [len(row) for row in cells]
        usual = max(set(widths), key=widths.count)
        is_split = delimiter == "," and usual % 2 == 1 and usual >= 3
        width = (usual - 1) // 2 + 1 if is_split else usual
        names = (
            _AX760I
            if width == len(_AX760I)
            else tuple("time" if not place else f"power {place}" for place in range(width))
        )
    rows = []
    for row in cells:
        if len(row) == width:
            rows.append(row)
        elif delimiter == "," and len(row) == 2 * width - 1:
            pairs = zip(row[1::2], row[2::2], strict=True)
            rows.append((row[0], *(f"{whole},{part}" for whole, part in pairs)))
        elif len(row) == width + 1 and not row[-1]:
            rows.append(row[:-1])  # a delimiter at the end of each line
    return _LogTable(tuple(names), tuple(rows), len(cells) - len(rows))


def _choose_columns(
    names: Sequence[str], requested: Sequence[tuple[str, str]]
) -> list[tuple[int, Scope]]:
    """Return the columns of power with their scopes. Raises: `PowerError`."""
    if requested:
        return [_requested_column(names, column, scope) for column, scope in requested]
    columns = []
    for place, name in enumerate(names):
        if place and not _NOT_POWER.search(name):
            scopes = (scope for words, scope in _SCOPES if re.search(words, name, re.IGNORECASE))
            scope = next(scopes, None)
            if scope is not None:
                columns.append((place, scope))
    if not columns:
        raise PowerError(
            f"no column looks like power; there are: {', '.join(names)}. "
            "Name one, for example with --column NAME=psu"
        )
    return columns


def _requested_column(names: Sequence[str], column: str, scope: str) -> tuple[int, Scope]:
    if scope not in set(Scope):
        raise PowerError(f"--column {column}={scope}: the scope is one of {', '.join(Scope)}")
    if column not in names:
        raise PowerError(f"--column {column}: the log has the columns {', '.join(names)}")
    return names.index(column), Scope(scope)


def _channels(names: Sequence[str], columns: Sequence[tuple[int, Scope]]) -> tuple[Channel, ...]:
    """Return columns as channels: the wall contains the supply, and the supply contains its rails."""
    keys: dict[int, str] = {}
    for place, _ in columns:
        key = re.sub(r"[^a-z0-9.+]+", "-", names[place].lower()).strip("-") or "power"
        keys[place] = f"{key}-{place}" if key in keys.values() else key
    by_scope = {scope: keys[place] for place, scope in reversed(columns)}
    return tuple(_channel(names[place], keys[place], scope, by_scope) for place, scope in columns)


def _channel(name: str, key: str, scope: Scope, by_scope: Mapping[Scope, str]) -> Channel:
    outer = {Scope.PSU: (Scope.WALL,), Scope.RAIL: (Scope.PSU, Scope.WALL)}.get(scope, ())
    inside = next((by_scope[container] for container in outer if container in by_scope), "")
    return Channel(
        key=f"corsair-csv:{key}",
        label=name,
        quantity=Quantity.POWER,
        scope=scope,
        unit_per_step=_MICRO,
        inside=f"corsair-csv:{inside}" if inside else "",
        period_s=_PERIOD_S,
        gain_error=0.02,
        note="the supply's own reading in steps of 0.5 to 2 W; AXi models estimate below about 125 W",
    )


def _samples(table: _LogTable, times: LogTimes, place: int, key: str) -> Iterator[Sample]:
    for row, time_ns, is_doubtful in zip(
        table.rows, times.times_ns, times.is_doubtful, strict=True
    ):
        raw = _micro(row[place])
        if time_ns is not None and raw is not None:
            flags = SampleFlag.DOUBTFUL if is_doubtful else SampleFlag(0)
            yield Sample(key, time_ns, raw, _HALF_S_NS, flags)


def _micro(text: str) -> int | None:
    """Return a power in µW from a number with any decimal mark and unit, `None` for no power."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    digits = re.sub(r"[' ]", "", match[1])
    if "," in digits and "." in digits:
        thousands = "." if digits.rindex(",") > digits.rindex(".") else ","
        digits = digits.replace(thousands, "")
    digits = digits.replace(",", ".")
    if digits.count(".") > 1:
        return None
    unit = match[2]
    exponent = _UNITS.get(unit, _UNITS.get(unit.lower()))
    if exponent is None:
        return None
    value = Decimal(digits.rstrip(".") or "0").scaleb(6 + exponent)
    return int(value.to_integral_value()) if abs(value) < Decimal(10) ** 15 else None
