"""Files of readings: channels with all their samples, and the phases of a characterisation."""

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.events.power import PowerChannel
from cltrace.files import read_input, write_atomically
from cltrace.power.characterise import Phase
from cltrace.power.metering import MeteredChannel
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1
_MAX_BYTES: Final = 256 << 20
_COLUMNS: Final = ("time_ns", "within_ns", "raw", "flags")


def write_readings(
    device: DeviceFacts, channels: Sequence[MeteredChannel], phases: Sequence[Phase], path: Path
) -> None:
    """Write a gzipped JSON file. Raises: `OutputError`."""
    stored = {
        "cltrace_power_readings": SCHEMA,
        "device": device.to_json(),
        "phases": [
            [phase.name, phase.begin_ns, phase.end_ns, phase.on_ns.ravel().tolist()]
            for phase in phases
        ],
        "channels": [
            {
                "channel": asdict(metered.channel),
                # Differences of adjacent samples compress well.
                **{name: np.diff(getattr(metered, name), prepend=0).tolist() for name in _COLUMNS},
            }
            for metered in channels
        ],
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).encode()
    write_atomically(gzip.compress(text, mtime=0), path)


def read_readings(path: Path) -> tuple[DeviceFacts, tuple[MeteredChannel, ...], list[Phase]]:
    """Read a file of `write_readings`. Raises: `ProfileError` for another file."""
    try:
        text = zlib.decompressobj(31).decompress(read_input(path), _MAX_BYTES)
        stored: dict[str, Any] = json.loads(text)
        if stored["cltrace_power_readings"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        phases = [
            Phase(str(name), int(begin), int(end), np.array(on, np.int64).reshape(-1, 2))
            for name, begin, end, on in stored["phases"]
        ]
        channels = tuple(map(_metered, stored["channels"]))
        return DeviceFacts.from_json(stored["device"]), channels, phases
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
        raise ProfileError(
            f"{path} is not what `power characterise --measure-only` writes"
        ) from error


def _metered(stored: dict[str, Any]) -> MeteredChannel:
    channel = PowerChannel(
        **{field.name: stored["channel"][field.name] for field in fields(PowerChannel)}
    )
    columns = [np.cumsum(np.array(stored[name], np.int64)) for name in _COLUMNS]
    if len({len(column) for column in columns}) != 1:
        raise ValueError(f"the columns of {channel.key} have different lengths")
    return MeteredChannel(channel, *columns)
