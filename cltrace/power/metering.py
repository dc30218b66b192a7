"""Reading power while something is measured on purpose, and what it was between two times."""

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
from cltrace.power.mean_power import Observations, observations
from cltrace.power.sampler import ChosenReader, Sampler
from cltrace.spool.layout import ProcessIdentity, power_directory
from cltrace.spool.reader import read_process
from cltrace.timeline.clock_fit.points import Int64s

_S: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Metered:
    """A channel with all its samples, on the host's clock. Columns are of shape (n,)."""

    channel: PowerChannel
    time_ns: Int64s
    within_ns: Int64s
    raw: Int64s
    flags: Int64s

    @property
    def seen(self) -> Observations:
        """What it tells; times in s on the host's clock."""
        return observations(self.channel, self.time_ns, self.raw, self.within_ns, self.flags)


class Meter:
    """Readers that read within a `with` block; `channels` afterwards. Single use."""

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

    def channels(self) -> tuple[Metered, ...]:
        """What was read. Raises: `PowerError` when nothing was."""
        spool = read_process(power_directory(self._parts), ProcessIdentity(0, 0))
        columns = dict(zip(POWER_SAMPLES.columns, spool.rows(POWER_SAMPLES).copy().T, strict=True))
        channels = spool.records(PowerChannel)
        shutil.rmtree(self._parts, ignore_errors=True)
        if not channels:
            said = "; ".join(f"{one.reader}: {one.ended or one.evidence}" for one in self.probes)
            raise PowerError(f"no reader is available, because {said or 'none was asked for'}")
        found = []
        for channel in channels:
            mine = columns["channel_id"] == channel.id
            names = ("host_ns", "within_ns", "raw", "flags")
            found.append(Metered(channel, *(columns[name][mine] for name in names)))
        return tuple(found)


def between(seen: Observations, begin_ns: int, end_ns: int) -> Observations:
    """The readings whose windows lie wholly between two host times."""
    return seen.chosen((seen.begin_s >= begin_ns * _S) & (seen.end_s <= end_ns * _S))
