"""Data that a trace lacks, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cltrace.events import NS_PER_S
from cltrace.events.kinds import RECORDED_BY_LAYER
from cltrace.events.records import Diagnostic, ProcessEnded
from cltrace.events.tables import CALLS, LAUNCHES
from cltrace.spool.layout import NOT_STARTED
from cltrace.spool.reader import ProcessSpool
from cltrace.spool.settings import CommandOutcome, SessionFacts
from cltrace.spool.stop_page import StopReport


@dataclass(frozen=True, slots=True)
class MissingData:
    """Data that a trace lacks.

    Attributes:
        reasons: why the trace is incomplete; empty if it is complete.
        stops: those of them that say why a recording stopped before its process did.
        commands: number of missing commands; None if it is not known, as after a kill.
    """

    reasons: tuple[str, ...]
    stops: tuple[str, ...]
    commands: int | None


def find_missing_data(
    spools: Sequence[ProcessSpool],
    session: SessionFacts,
    outcome: CommandOutcome | None,
    damaged_rows: int,
    untraced: Mapping[int, Sequence[str]],
    removed: Sequence[int] = (),
) -> MissingData:
    """Return what the trace of some spools will lack, `damaged_rows` among it.

    `untraced` are the reasons for which processes are not traced, by process number, and `removed` the
    numbers of processes whose directories were removed.
    """
    reasons: list[str] = []
    stops: list[str] = []
    is_recording = any(spool.identity.is_alive and not spool.is_complete for spool in spools)
    if outcome is None and not is_recording:
        reasons.append("the recording process ended before it recorded the command's exit status")
    for spool in spools:
        name = f"process {spool.identity.pid}"
        stops += (f"{name}: {text}" for text in _stops(spool.stop or StopReport(), session))
        reasons += (f"{name}: {text}" for text in _gaps(spool))
    if damaged_rows:
        reasons.append(f"{damaged_rows} damaged host calls were left out")
    faults = [
        f"process {pid}: {text}"
        for pid, texts in sorted(untraced.items())
        for text in texts
        if text.startswith(NOT_STARTED)
    ]
    faults += (f"process {pid}: its part of the recording was removed" for pid in removed)
    stops += faults
    commands = None if faults else _count_missing(spools, damaged_rows)
    return MissingData((*stops, *reasons), tuple(stops), commands)


def _count_missing(spools: Sequence[ProcessSpool], damaged_rows: int) -> int | None:
    """Return the number of missing commands, None where a process did not tell."""
    is_damaged = any(spool.damaged_lines or _count_lost_calls(spool) for spool in spools)
    if damaged_rows or is_damaged or not all(map(_has_told, spools)):
        return None
    return sum(spool.stop.missing for spool in spools if spool.stop is not None)


def _has_told(spool: ProcessSpool) -> bool:
    """Return True if a process recorded its end, or that its recording stopped."""
    has_stopped = spool.stop is not None and spool.stop.stopped_host_ns != 0
    return spool.is_complete or has_stopped or not spool.all_records


def _count_lost_calls(spool: ProcessSpool) -> int:
    """Return the number of calls that a process recorded before its end, and whose rows are gone."""
    if spool.stop is not None and spool.stop.stopped_host_ns:
        return 0
    recorded = max((ended.hook_calls for ended in spool.records(ProcessEnded)), default=0)
    return max(recorded - spool.row_count(LAUNCHES) - spool.row_count(CALLS), 0)


def _stops(stop: StopReport, session: SessionFacts) -> Iterator[str]:
    are_missing = _missing_text(stop.missing)
    if stop.stopped_host_ns:
        after_s = max(stop.stopped_host_ns - session.origin_host_ns, 0) / NS_PER_S
        yield f"recording stopped after {after_s:.1f} s: {stop.reason}; {are_missing} after that"
    elif stop.missing:
        yield f"{are_missing}, enqueued after the end of its recording"
    if stop.unrecorded_forks:
        forks = "1 fork" if stop.unrecorded_forks == 1 else f"{stop.unrecorded_forks:,} forks"
        yield f"{forks} of it could not be recorded"


def _missing_text(commands: int) -> str:
    if not commands:
        return "no command is missing"
    return "1 command is missing" if commands == 1 else f"{commands:,} commands are missing"


def _gaps(spool: ProcessSpool) -> Iterator[str]:
    has_stopped = spool.stop is not None and spool.stop.stopped_host_ns != 0
    if spool.damaged_lines:
        yield f"{spool.damaged_lines} damaged records were left out"
    if lost := _count_lost_calls(spool):
        calls = "1 recorded call is" if lost == 1 else f"{lost:,} recorded calls are"
        yield f"{calls} missing: files of its recording were cut off or removed"
    if spool.is_complete or has_stopped:
        return
    if spool.identity.is_alive:
        yield "it was still running when this trace was made"
    elif spool.all_records:
        yield (
            f"it did not record its end: it was killed, and up to its last {_loss_text(spool)} may be "
            "missing, or it could not write any more"
        )
    elif spool.stop is not None:
        yield "it was killed before it wrote its first record"


def _loss_text(spool: ProcessSpool) -> str:
    """Return how much of its work a killed process loses at most, by who recorded it: measured times."""
    codes = {record.code for record in spool.records(Diagnostic)}
    return "20 ms" if RECORDED_BY_LAYER in codes else "150 ms"
