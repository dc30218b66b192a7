"""Tracer of one process: the place where all parts are created, installed and removed."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyopencl as cl

from cltrace.events.kinds import RELEASES_UNSEEN, Severity
from cltrace.events.records import ProcessEnded, Redaction, Surcharge
from cltrace.events.tables import ROW_TABLES, arguments_table
from cltrace.intercept.drain.drain import Drain
from cltrace.intercept.drain.reader_thread import ReaderThread
from cltrace.intercept.hooks import hook_table
from cltrace.intercept.hooks.bare_launches import BareLaunches
from cltrace.intercept.hooks.calls import CallHooks
from cltrace.intercept.hooks.constructors import ConstructorHookError
from cltrace.intercept.hooks.contents import ContentCapture, HostWriteCapture
from cltrace.intercept.hooks.late_calls import count_late_calls
from cltrace.intercept.hooks.launch_contents import LaunchContents
from cltrace.intercept.hooks.launch_paths import LaunchPaths
from cltrace.intercept.hooks.memory import MemoryHooks
from cltrace.intercept.hooks.patching import Patch, PatchSet
from cltrace.intercept.hooks.programs import ProgramHooks
from cltrace.intercept.hooks.queues import QueueHooks
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.hooks.reference_counts import ReferenceCounts
from cltrace.intercept.hooks.single_launches import SingleLaunches
from cltrace.intercept.hooks.svm import SvmHooks
from cltrace.intercept.import_watch import ImportWatch
from cltrace.intercept.objects.slots import NoDestructorCallbackError, ReleaseSlots
from cltrace.intercept.process_facts import process_started
from cltrace.intercept.schedule import Schedule
from cltrace.intercept.sink import Sink
from cltrace.intercept.stop_teller import StopTeller
from cltrace.intercept.tallies import entry_cost_ns
from cltrace.spool.settings import Settings
from cltrace.spool.writer import SpoolWriter

_PERIOD_S: Final = 0.04
"""Period of emptying the sink: a killed program loses at most the rows of this time and of a flush."""

_MAX_READING_NS: Final = 20_000_000
"""Time for which stamps are read before new rows are written again."""

_MAX_STOP_S: Final = 5.0

_OTHER_LIBRARIES: Final = ("pyvkfft", "gpyfft", "pyclblast", "arrayfire", "pyclblas")
"""Python packages that call OpenCL without pyopencl."""

_CALLBACK_PATIENCE_S: Final = 0.5
"""Time for which the end of a process waits for pending callbacks."""

_PATIENCE_S: Final = 0.25
"""Time without progress for which the end of a process waits for commands to complete."""
_MAX_OPENED_WORDS: Final = 6
_OPENED_TABLES: Final = (*ROW_TABLES, *map(arguments_table, range(_MAX_OPENED_WORDS + 1)))
"""Tables whose files are opened at the start, those of longer argument lists are not."""


class Tracer:
    """Tracer of this process into `directory`, from `install` to `finish`. Single use.

    `began_ns` is the begin of the recording that this process belongs to, in host ns.

    Raises: `OSError` when the directory cannot be written.
    """

    records_forks: Final = False
    """A fork of this process needs a tracer of its own."""

    def __init__(self, directory: Path, settings: Settings, began_ns: int) -> None:
        self._settings = settings
        sink = Sink()
        slots, slots_problem = _release_slots(directory)
        self.recorder: Final = Recorder(settings, sink, slots, self._limit_unread_events)
        self._writer = SpoolWriter(directory, _OPENED_TABLES)
        self._drain = Drain(self.recorder, self._writer)
        self._stops = StopTeller(directory, self.recorder, self._drain.losses)
        self.fork_failed: Final = self._stops.add_fork
        self._patches = PatchSet()
        self._watch: ImportWatch | None = None
        self._is_over = False
        self._thread = ReaderThread(self._read, _PERIOD_S)
        self._schedule = Schedule(self.recorder, settings, began_ns)
        self._writer.records([process_started(settings, cl.VERSION_TEXT), *_redactions(settings)])
        if slots_problem:
            self.recorder.note(Severity.WARNING, RELEASES_UNSEEN, slots_problem)

    def install(self) -> None:
        """Install the hooks and start to record."""
        recorder = self.recorder
        capture = _content_capture(recorder, self._writer)
        single_launches = SingleLaunches(recorder, capture)
        bare = BareLaunches(recorder, single_launches)
        paths = LaunchPaths(recorder, single_launches, bare)
        counts = ReferenceCounts(recorder, self._drain.release_complete)
        self._install([*_patches(recorder, capture, bare), *hook_table.count_patches(counts)])
        self._watch = ImportWatch(hook_table.INVOKER, lambda: self._install_invoker(paths))
        self._schedule.follow(time.perf_counter_ns())
        self._thread.start()

    @property
    def installed_names(self) -> list[str]:
        """The names that are replaced now."""
        return self._patches.installed_names

    def pause(self) -> None:
        """Record nothing until `resume`."""
        self._schedule.pause()

    def resume(self) -> None:
        """Record again."""
        self._schedule.resume()

    def record_region(self, name: str, entered_ns: int) -> None:
        """Record a region of the program that began at `entered_ns`, in host ns, and ends now."""
        self.recorder.record_region(name, entered_ns)

    def outlives(self, _: str) -> bool:
        """Return `False`: every ending is the end of the recording."""
        return False

    def flush(self) -> None:
        """Write all rows that were recorded so far. A full disk ends the recording."""
        try:
            self._drain.flush()
            self._schedule.limit(self._drain.commands_written)
        except Exception as fault:
            self._stop_recording(fault)

    def finish(self, ending: str) -> None:
        """Remove the hooks and write the last rows and records. `ending` names what ended the tracing."""
        if self._is_over:
            return
        self._is_over = True
        self._cancel_watch()
        _note_other_libraries(self.recorder)
        for name in self._patches.remove():
            message = f"{name} was replaced again by the program: cltrace leaves it as it is"
            self.recorder.note(Severity.NOTE, "hook-left", message)
        self._thread.stop(_MAX_STOP_S)
        if self.recorder.completions is not None:
            self.recorder.completions.settle(_CALLBACK_PATIENCE_S)
        try:
            self._drain.settle(_PATIENCE_S)
            if self._settings.measure_overhead and not self.recorder.is_closed:
                self.recorder.close()
                _measure_surcharge(self.recorder, self._writer)
            self.recorder.close()
            self._drain.flush()
            self._writer.records([self._process_ended(ending)])
        except Exception as fault:
            self._stop_recording(fault)
        if ending == "exit":
            with contextlib.suppress(OSError, ValueError):  # the program may have cut the file off
                words = self._stops.map_words("the interpreter was ending")
                count_late_calls(words, self.recorder.tallies)
        self._stops.close()
        self._writer.close()

    def about_to_exec(self) -> None:
        """Write all rows and an end record: this process image may be about to end."""
        try:
            self._drain.flush()
            self._writer.records([self._process_ended("exec")])
        except Exception as fault:
            self._stop_recording(fault)
        self._stops.tell()

    def prepare_fork(self) -> None:
        """Take the drain's lock, so that the process is not copied during a flush."""
        self._drain.lock.acquire()

    def forked_in_parent(self) -> None:
        """Continue after the process was copied."""
        self._drain.lock.release()

    def forked_in_child(self) -> None:
        """Drop everything that belongs to the parent. This tracer has ended in the child."""
        self._is_over = True
        self._cancel_watch()
        self._patches.remove()
        self.recorder.close()
        self.recorder.sink.abandon()
        if self.recorder.completions is not None:
            self.recorder.completions.abandon()
        self.recorder.memory.detach()
        self._drain.abandon()

    def _cancel_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def _install_invoker(self, paths: LaunchPaths) -> None:
        try:
            self._patches.install([hook_table.invoker_patch(paths)])
        except Exception as fault:
            self.recorder.stop_on_fault(fault)

    def _install(self, wanted: list[Patch]) -> None:
        try:
            self._patches.install(wanted)
        except ConstructorHookError as error:
            message = (
                f"constructors are not hooked ({error}): queues have no profiling unless the "
                "program enables it, and memory objects are registered at their first use"
            )
            self.recorder.note(Severity.WARNING, "constructors-closed", message)
            self.recorder.registry.watches_contexts = False
            self._patches.install(patch for patch in wanted if not patch.constructor_witness)

    def _read(self) -> bool:
        """Do one round of the reader thread; return true when there is more to read already."""
        begin_ns = time.thread_time_ns()
        self._schedule.follow(time.perf_counter_ns())
        try:
            has_more = self._drain.flush(pause=lambda: time.sleep(0), max_ns=_MAX_READING_NS)
            self._schedule.limit(self._drain.commands_written)
        except Exception as fault:
            self._stop_recording(fault)
            return False
        self._stops.tell()
        self.recorder.tallies.reader_cpu_ns += time.thread_time_ns() - begin_ns
        return has_more

    def _limit_unread_events(self) -> None:
        try:
            self._drain.limit_unread_events()
        except Exception as fault:
            self._stop_recording(fault)

    def _process_ended(self, ending: str) -> ProcessEnded:
        tallies, memory = self.recorder.tallies, self.recorder.memory
        calls = self._drain.commands_written
        return ProcessEnded(
            how=ending,
            ended_host_ns=time.perf_counter_ns(),
            hook_calls=calls,
            hook_ns=tallies.hook_ns(calls, entry_cost_ns()),
            reader_cpu_ns=tallies.reader_cpu_ns,
            event_waits=tallies.event_waits,
            event_wait_ns=tallies.event_wait_ns,
            unread_events_peak=tallies.unread_events_peak,
            commands_skipped=self.recorder.skipped_on_purpose,
            memory_peak_bytes=memory.peak_bytes if memory.is_watched else None,
            memory_peak_host_ns=memory.peak_host_ns if memory.is_watched else None,
        )

    def _stop_recording(self, fault: Exception) -> None:
        """Stop recording, and write the reason if the disk still takes a few bytes."""
        self.recorder.stop_on_fault(fault)
        self._stops.tell()
        with contextlib.suppress(OSError):
            self._writer.records(self.recorder.sink.take_records())


def _measure_surcharge(recorder: Recorder, writer: SpoolWriter) -> None:
    # It imports modules that take milliseconds, and few recordings measure the surcharge.
    from cltrace.intercept.profiling_cost import measure_profiling_cost  # noqa: PLC0415

    registry = recorder.registry
    for device in registry.registered_devices():
        try:
            plain_ns, profiling_ns, launches = measure_profiling_cost(device)
        except cl.Error as error:
            message = f"the surcharge of profiling was not measured: {error!r}"
            recorder.note(Severity.WARNING, "surcharge-unmeasured", message)
            continue
        writer.records([Surcharge(launches, plain_ns, profiling_ns, registry.device_id(device))])


def _patches(
    recorder: Recorder, capture: ContentCapture | None, bare: BareLaunches
) -> Iterator[Patch]:
    calls = CallHooks(recorder, capture)
    yield from hook_table.launch_patches(bare)
    yield from hook_table.call_patches(calls)
    yield from hook_table.program_patches(ProgramHooks(recorder))
    yield from hook_table.memory_patches(MemoryHooks(recorder, capture))
    yield from hook_table.svm_patches(SvmHooks(recorder), calls)
    yield from hook_table.queue_patches(QueueHooks(recorder))


def _note_other_libraries(recorder: Recorder) -> None:
    for name in _OTHER_LIBRARIES:
        if name in sys.modules:
            message = f"{name} calls OpenCL without pyopencl: its commands are not in this trace"
            recorder.note(Severity.NOTE, "other-library", message)


def _content_capture(recorder: Recorder, writer: SpoolWriter) -> ContentCapture | None:
    settings, numbers = recorder.settings, recorder.memory.numbers
    budget_bytes = settings.capture_bytes

    def note(message: str) -> None:
        recorder.note(Severity.WARNING, "contents-not-captured", message)

    if settings.inside_kernel:
        return LaunchContents(
            *(recorder.sink, writer, numbers, recorder.clock, note),
            *(settings.inside_kernel, settings.inside_launch, recorder.memory.svm_bytes),
        )
    if not budget_bytes:
        return None
    return HostWriteCapture(recorder.sink, writer, numbers, budget_bytes, recorder.clock, note)


def _release_slots(directory: Path) -> tuple[ReleaseSlots | None, str]:
    """Return the slots for memory objects, or `None` and the reason why there are none."""
    try:
        return ReleaseSlots(directory), ""
    except NoDestructorCallbackError as error:
        return None, f"releases of memory objects and the peak of memory are not recorded: {error}"


def _redactions(settings: Settings) -> list[Redaction]:
    is_recorded = {
        "source": settings.record_source,
        "arguments": settings.record_arguments,
        "environment": settings.record_environment,
    }
    return [Redaction(subject) for subject, recorded in is_recorded.items() if not recorded]
