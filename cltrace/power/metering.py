"""Power readings during a measurement, and selection of those between two times."""

import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from cltrace.errors import PowerError
from cltrace.events.power import POWER_SAMPLES, PowerChannel, PowerProbe
from cltrace.power.mean_power import Observations, compute_observations
from cltrace.power.sampler import ChosenReader, Sampler
from cltrace.spool.layout import ProcessIdentity, power_directory
from cltrace.spool.reader import read_process
from cltrace.timeline.columns import Int64s

_S: Final = 1e-9


@dataclass(frozen=True, slots=True)
class MeteredChannel:
    """Channel with all its samples, on the host's clock. Columns have the shape (n,)."""

    channel: PowerChannel
    time_ns: Int64s
    within_ns: Int64s
    raw: Int64s
    flags: Int64s

    @property
    def observations(self) -> Observations:
        """Mean powers from the samples; times in s on the host's clock."""
        return compute_observations(
            self.channel, self.time_ns, self.raw, self.within_ns, self.flags
        )


class Meter:
    """Power readers that read within a `with` block; `channels` returns the samples. Single use."""

    def __init__(self, readers: Sequence[ChosenReader]) -> None:
        self._parts = Path(tempfile.mkdtemp(prefix="cltrace-"))
        self._sampler = Sampler(self._parts, socket.gethostname(), readers)
        self.probes: Sequence[PowerProbe] = ()

    def __enter__(self) -> "Meter":
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self.probes = self._sampler.stop()
        if kind is not None:
            shutil.rmtree(self._parts, ignore_errors=True)

    def channels(self) -> tuple[MeteredChannel, ...]:
        """Return the channels with their samples. Raises: `PowerError` without any."""
        spool = read_process(power_directory(self._parts), ProcessIdentity(0, 0))
        columns = dict(zip(POWER_SAMPLES.columns, spool.rows(POWER_SAMPLES).copy().T, strict=True))
        channels = spool.records(PowerChannel)
        shutil.rmtree(self._parts, ignore_errors=True)
        if not channels:
            reasons = "; ".join(
                f"{probe.reader}: {probe.ended or probe.evidence}" for probe in self.probes
            )
            raise PowerError(f"no reader is available, because {reasons or 'none was requested'}")
        metered = []
        for channel in channels:
            mask = columns["channel_id"] == channel.id
            names = ("host_ns", "within_ns", "raw", "flags")
            metered.append(MeteredChannel(channel, *(columns[name][mask] for name in names)))
        return tuple(metered)


def select_between(observations: Observations, begin_ns: int, end_ns: int) -> Observations:
    """Return the observations whose windows are entirely between two host times."""
    begin_s, end_s = begin_ns * _S, end_ns * _S
    return observations.select((observations.begin_s >= begin_s) & (observations.end_s <= end_s))
