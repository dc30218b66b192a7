"""Predicted times of the transfers of a trace."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.workloads import DIRECTION_OF, Direction, HostMemory, Transfer
from cltrace.predict.models import Prediction
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile
from cltrace.trace.reader import Trace

_TRANSFERS: Final = """
    SELECT kind, size_bytes, duration_ns FROM v_command
    WHERE kind IN ('read', 'write') AND size_bytes > 0 {on_devices} ORDER BY command_id
"""


@dataclass(frozen=True, slots=True)
class PredictedTransfers:
    """Transfers of one direction and size: their number, median measured time, and prediction."""

    direction: Direction
    size_bytes: int
    calls: int
    measured_ns: float | None
    total_ns: float
    prediction: Prediction


def predict_transfers(
    trace: Trace, profile: DeviceProfile, on_devices: str
) -> Iterator[PredictedTransfers]:
    """Yield reads and writes by direction and size. Host memory is assumed pageable, as it mostly is.

    `on_devices` is an SQL condition of commands, or "".
    """
    if not profile.points("transfers", f"{HostMemory.PAGEABLE} {Direction.TO_DEVICE}"):
        return
    model = TransferModel.of(profile)
    times: dict[tuple[Direction, int], list[int]] = {}
    for kind, size, duration in trace.iterate(_TRANSFERS.format(on_devices=on_devices)):
        if isinstance(size, int):
            durations = times.setdefault((DIRECTION_OF[str(kind)], size), [])
            durations.append(duration if isinstance(duration, int) and duration > 0 else 0)
    for (direction, size), durations in times.items():
        timed = [duration for duration in durations if duration]
        yield PredictedTransfers(
            direction=direction,
            size_bytes=size,
            calls=len(durations),
            measured_ns=float(np.median(timed)) if timed else None,
            total_ns=float(sum(timed)),
            prediction=model.predict(Transfer(direction, HostMemory.PAGEABLE, size)),
        )
