"""Readings that were kept: channels with all their samples, and what went on meanwhile."""

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import OutputError, ProfileError
from cltrace.events.power import PowerChannel
from cltrace.power.characterise import Phase
from cltrace.power.metering import Metered
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1
_MOST_BYTES: Final = 256 << 20
_COLUMNS: Final = ("time_ns", "within_ns", "raw", "flags")


def write_readings(
    device: DeviceFacts, channels: Sequence[Metered], phases: Sequence[Phase], path: Path
) -> None:
    """Write a gzipped JSON file. Raises: `OutputError`."""
    stored = {
        "cltrace_power_readings": SCHEMA,
        "device": asdict(device),
        "phases": [
            [one.name, one.begin_ns, one.end_ns, one.on_ns.ravel().tolist()] for one in phases
        ],
        "channels": [
            {
                "channel": asdict(one.channel),
                # Differences of neighbours pack well.
                **{name: np.diff(getattr(one, name), prepend=0).tolist() for name in _COLUMNS},
            }
            for one in channels
        ],
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).encode()
    try:
        path.write_bytes(gzip.compress(text, mtime=0))
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def read_readings(path: Path) -> tuple[DeviceFacts, tuple[Metered, ...], list[Phase]]:
    """Raises: `ProfileError` for what is not such a file."""
    try:
        text = zlib.decompressobj(31).decompress(path.read_bytes(), _MOST_BYTES)
        stored: dict[str, Any] = json.loads(text)
        if stored["cltrace_power_readings"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        phases = [
            Phase(str(name), int(begin), int(end), np.array(on, np.int64).reshape(-1, 2))
            for name, begin, end, on in stored["phases"]
        ]
        channels = tuple(map(_metered, stored["channels"]))
        return DeviceFacts(**stored["device"]), channels, phases
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
        raise ProfileError(
            f"{path} is not what `power characterise --measure-only` writes"
        ) from error


def _metered(stored: dict[str, Any]) -> Metered:
    names = {one.name for one in fields(PowerChannel)}
    channel = PowerChannel(
        **{key: value for key, value in stored["channel"].items() if key in names}
    )
    columns = [np.cumsum(np.array(stored[name], np.int64)) for name in _COLUMNS]
    if len({len(one) for one in columns}) != 1:
        raise ValueError(f"the columns of {channel.key} are not of one length")
    return Metered(channel, *columns)
