"""What can be traced on a machine: the report of `cltrace doctor`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cltrace.report.document import Column, Document, Fact, Table, Unit, Value


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was looked at: whether it is well, what was found, and what to do if not."""

    what: str
    is_well: bool
    found: str
    remedy: str = ""


def readiness(findings: Sequence[Finding], survey: Mapping[str, Any] | None) -> Document:
    """The report on what was looked at, and on the devices of a survey."""
    rows = [(one.what, "ok" if one.is_well else "missing", one.found) for one in findings]
    checks = Table(
        "checks",
        "Checks",
        (Column("what", "what"), Column("result", "result"), Column("found", "found", Unit.PROSE)),
        rows,
    )
    return Document("", _facts(survey), [checks, _devices(survey)], _advice(findings))


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
        "devices",
        "Devices",
        (
            Column("device", "device", Unit.PROSE),
            Column("platform", "platform", Unit.PROSE, 95),
            Column("driver", "driver", keep=55),
            Column("timer_resolution_ns", "timer step", Unit.NS, 60),
            Column("host_timer", "host timer", keep=60),
            Column("stamps", "stamps", keep=80),
            Column("surcharge_ns", "profiling costs", Unit.NS, 70),
        ),
        rows,
        note="host timer: clGetDeviceAndHostTimer; without it cltrace aligns clocks by the events "
        "themselves",
        why_empty="no OpenCL device",
    )


def _timer(device: Mapping[str, Any]) -> str:
    return "yes" if device["device_and_host_timer"][0] else "no"


def _stamps(device: Mapping[str, Any]) -> str:
    """Whether the stamps of a marker can be stamps at all."""
    is_well, text = device["profiling"]
    if not is_well:
        return f"none: {text}"
    queued, submit, start, end = (int(one) for one in str(text).split(","))
    if end < 1_000_000:
        return f"fake ({queued}, {submit}, {start}, {end})"
    return "ok" if queued <= start <= end else "out of order"


def _surcharge(device: Mapping[str, Any]) -> float | None:
    is_well, text = device.get("surcharge", (False, ""))
    if not is_well:
        return None
    plain_ns, profiling_ns, _ = json.loads(text)
    return max(float(profiling_ns) - float(plain_ns), 0.0)


def _advice(findings: Sequence[Finding]) -> list[str]:
    return [f"{one.what}: {one.remedy}" for one in findings if not one.is_well and one.remedy]
