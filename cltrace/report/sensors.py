"""What the sensors of a device are like."""

from collections.abc import Sequence

from cltrace.power.characterise import Characteristic
from cltrace.profile import DeviceFacts
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value

_DISAGREE = 0.02
_NS = 1e9


def sensors_report(device: DeviceFacts, found: Sequence[Characteristic]) -> Document:
    """A row for each channel, and a warning for each that tells something else than the first."""
    return Document(
        title=f"power sensors of {device.name}",
        facts=[
            Fact("device", "device", f"{device.name}, {device.platform}, driver {device.driver}")
        ],
        tables=[
            Table(
                "sensors",
                "Channels",
                (
                    Column("key", "channel"),
                    Column("update_ns", "update", Unit.NS, 100),
                    Column("update_p5_ns", "5 %", Unit.NS, 40),
                    Column("update_p95_ns", "95 %", Unit.NS, 42),
                    Column("window_ns", "window", Unit.NS, 90),
                    Column("delay_ns", "delay", Unit.NS, 95),
                    Column("delay_within_ns", "±", Unit.NS, 60),
                    Column("lag_ns", "lag", Unit.NS, 92),
                    Column("idle_w", "idle", Unit.WATTS, 80),
                    Column("noise_w", "noise", Unit.WATTS, 50),
                    Column("load_w", "load", Unit.WATTS, 82),
                    Column("to_main", "to first", Unit.PLAIN, 70),
                ),
                [_row(one) for one in found],
                why_empty="no channel had readings",
            )
        ],
        notes=[
            f"warning: {one.label} tells {one.to_main:.3f} times what {found[0].label} tells under load"
            for one in found
            if one.to_main is not None
            and "memory" not in one.key
            and abs(one.to_main - 1) > _DISAGREE
        ],
    )


def _row(one: Characteristic) -> tuple[Value, ...]:
    middle, low, high = (value * _NS for value in one.update_s)
    follows = one.alignment
    return (
        one.key,
        middle,
        low,
        high,
        one.window_s * _NS if one.window_s is not None else None,
        follows.response.delay_s * _NS if follows.is_found else None,
        follows.within_s * _NS if follows.is_found else None,
        follows.response.lag_s * _NS if follows.is_found else None,
        one.idle_w,
        one.noise_w,
        one.load_w,
        round(one.to_main, 4) if one.to_main is not None else None,
    )
