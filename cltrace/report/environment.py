"""Report of `cltrace doctor`: what can be traced on a machine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cltrace.report.document import Column, Document, Fact, Table, Unit, Value


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check: whether it passed, what it saw, and what to do if it failed.

    What is not needed may be absent: something else then does its work.
    """

    name: str
    is_ok: bool
    detail: str
    remedy: str = ""
    is_needed: bool = True

    @property
    def word(self) -> str:
        """The result in a word."""
        if self.is_ok:
            return "ok"
        return "missing" if self.is_needed else "absent"


def environment_report(
    results: Sequence[CheckResult], survey: Mapping[str, Any] | None
) -> Document:
    """Return the report on the checks, and on the devices of a survey."""
    rows = [(result.name, result.word, result.detail) for result in results]
    checks = Table(
        key="checks",
        title="Checks",
        columns=(
            Column("what", "what"),
            Column("result", "result"),
            Column("found", "found", Unit.PROSE),
        ),
        rows=rows,
    )
    return Document("", _facts(survey), [checks, _devices(survey)], _remedies(results))


def _facts(survey: Mapping[str, Any] | None) -> list[Fact]:
    return [Fact("pyopencl", "pyopencl", str(survey["pyopencl_version"]))] if survey else []


def _devices(survey: Mapping[str, Any] | None) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            device["name"],
            platform["name"],
            device["driver_version"],
            device["timer_resolution_ns"],
            _timer(device),
            _stamps(device),
            _surcharge(device),
        )
        for platform in (survey["platforms"] if survey else ())
        for device in platform["devices"]
    ]
    return Table(
        key="devices",
        title="Devices",
        columns=(
            Column("device", "device", Unit.PROSE),
            Column("platform", "platform", Unit.PROSE, 95),
            Column("driver", "driver", keep=55),
            Column("timer_resolution_ns", "timer step", Unit.NS, 60),
            Column("host_timer", "host timer", keep=60),
            Column("stamps", "stamps", keep=80),
            Column("surcharge_ns", "profiling costs", Unit.NS, 70),
        ),
        rows=rows,
        note="host timer: clGetDeviceAndHostTimer; without it cltrace aligns clocks by the events "
        "themselves",
        why_empty="no OpenCL device",
    )


def _timer(device: Mapping[str, Any]) -> str:
    return "yes" if device["device_and_host_timer"][0] else "no"


def _stamps(device: Mapping[str, Any]) -> str:
    """Return whether the stamps of a marker can be right, in words."""
    is_ok, text = device["profiling"]
    if not is_ok:
        return f"none: {text}"
    queued, submit, start, end = (int(stamp) for stamp in str(text).split(","))
    if end < 1_000_000:
        return f"fake ({queued}, {submit}, {start}, {end})"
    return "ok" if queued <= start <= end else "out of order"


def _surcharge(device: Mapping[str, Any]) -> float | None:
    is_ok, text = device.get("surcharge", (False, ""))
    if not is_ok:
        return None
    plain_ns, profiling_ns, _ = json.loads(text)
    return max(float(profiling_ns) - float(plain_ns), 0.0)


def _remedies(results: Sequence[CheckResult]) -> list[str]:
    return [
        f"{result.name}: {result.remedy}"
        for result in results
        if not result.is_ok and result.remedy
    ]
