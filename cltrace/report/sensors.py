"""Report on the characteristics of a device's power sensors."""

from collections.abc import Sequence

from cltrace.power.characterise import SensorCharacteristic
from cltrace.profile import DeviceFacts
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value

_DISAGREE = 0.02
_NS = 1e9


def sensors_report(device: DeviceFacts, channels: Sequence[SensorCharacteristic]) -> Document:
    """Return a row per channel, and a warning for each that disagrees with the first."""
    return Document(
        title=f"power sensors of {device.name}",
        facts=[
            Fact("device", "device", f"{device.name}, {device.platform}, driver {device.driver}")
        ],
        tables=[
            Table(
                key="sensors",
                title="Channels",
                columns=(
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
                rows=[_row(channel) for channel in channels],
                why_empty="no channel had readings",
            )
        ],
        notes=[
            f"warning: {channel.label} reads {channel.to_main:.3f} times as much as {channels[0].label} "
            "under load"
            for channel in channels
            if channel.to_main is not None
            and "memory" not in channel.key
            and abs(channel.to_main - 1) > _DISAGREE
        ],
    )


def _row(channel: SensorCharacteristic) -> tuple[Value, ...]:
    median, low, high = (value * _NS for value in channel.update_s)
    alignment = channel.alignment
    return (
        channel.key,
        median,
        low,
        high,
        channel.window_s * _NS if channel.window_s is not None else None,
        alignment.response.delay_s * _NS if alignment.is_measured else None,
        alignment.within_s * _NS if alignment.is_measured else None,
        alignment.response.lag_s * _NS if alignment.is_measured else None,
        channel.idle_w,
        channel.noise_w,
        channel.load_w,
        round(channel.to_main, 4) if channel.to_main is not None else None,
    )
