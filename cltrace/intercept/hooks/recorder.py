"""Shared state of all hooks: gate, clock, numbers of objects, and the rows to append to."""

import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import INTERRUPTED_CALL, Severity
from cltrace.events.records import Diagnostic
from cltrace.events.tables import COMPLETIONS, EDGES, REGIONS
from cltrace.intercept.hooks.circumstances import Circumstances
from cltrace.intercept.hooks.completions import make_completions
from cltrace.intercept.objects.arguments import ArgumentLists
from cltrace.intercept.objects.callsites import CallSites, Place
from cltrace.intercept.objects.memory import MemoryObjects, Registration
from cltrace.intercept.objects.programs import Programs, Texts
from cltrace.intercept.objects.registry import Registry
from cltrace.intercept.objects.slots import ReleaseSlots
from cltrace.intercept.objects.threads import ThreadNumbers, thread_numbers
from cltrace.intercept.sink import Sink
from cltrace.intercept.tallies import Tallies
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler
from cltrace.spool.settings import Settings
from cltrace.spool.stop_page import StopReport


class CallRow(NamedTuple):
    """Columns of a row of `CALLS` besides time, site and thread. Identifiers, not objects."""

    api: Api
    queue_handle: int = 0
    subject_id: int = 0
    source_handle: int = 0
    target_handle: int = 0
    size_bytes: int = -1
    source_offset_bytes: int = 0
    target_offset_bytes: int = 0
    flags: int = 0


def _do_nothing() -> None:
    return


class Recorder:
    """State that the hooks of one process share.

    `gate` is empty while nothing is recorded: a hook then only calls the original. It is a list because
    the truth value of a list is the cheapest test in Python. `limit_unread_events` is called by hooks
    now and then.
    """

    getframe = staticmethod(sys._getframe)
    clock = staticmethod(time.perf_counter_ns)
    is_from_signal_handler = staticmethod(is_from_signal_handler)

    def __init__(
        self,
        settings: Settings,
        sink: Sink,
        slots: ReleaseSlots | None,
        limit_unread_events: Callable[[], None] = _do_nothing,
    ) -> None:
        self.settings: Final = settings
        self.sink: Final = sink
        self.gate: Final[list[int]] = []
        self.is_closed = False
        self.stop = StopReport()
        """Reason and time of the stop of recording, if it stopped."""
        self._skipped_before_stop = 0
        self._has_interruptions = False
        self.tallies: Final = Tallies()
        self.texts: Final = Texts(sink)
        self.programs: Final = Programs(sink, self.texts, record_source=settings.record_source)
        self.registry: Final = Registry(sink, self.programs)
        self.memory: Final = MemoryObjects(sink, self.registry, slots)
        self.sites: Final = CallSites(sink, settings.callsite_depth)
        self.threads: Final[ThreadNumbers] = thread_numbers(sink)
        self.circumstances: Final = Circumstances(sink)
        self.argument_lists: Final = ArgumentLists(sink)
        self.add_call: Final[Callable[[tuple[Any, ...]], None]] = sink.calls.extend
        """Appends a row of a call: `sink.RAW_CALL_WIDTH` values."""
        self.add_region: Final[Callable[[tuple[Any, ...]], None]] = sink.extender(REGIONS)
        self._add_edge = sink.extender(EDGES)
        self.completions: Final = make_completions(
            settings.timing, sink.extender(COMPLETIONS), self.tallies
        )
        self._limit_unread_events = limit_unread_events

    # Calls

    def place(self) -> Place:
        """Return the place of the call that is being recorded."""
        return self.sites.place(sys._getframe(1))

    def make_registration(self, host_ns: int) -> Registration:
        """Return the registration of an object that the recorded call creates."""
        return host_ns, self.sites.place(sys._getframe(1)), self.threads.number, True

    def record_call(
        self,
        row: CallRow,
        span: tuple[int, int],
        *,
        status: int = 0,
        event: cl.Event | None = None,
        wait_for: Any = None,
    ) -> None:
        """Append one row for a host call with the given `span` (entry and return, host ns)."""
        mark = self.make_mark(event, wait_for)
        where = (*self.place(), self.threads.number, row.queue_handle, mark)
        self.add_call((*span, row.api, status, *where, *row[2:], event_to_keep(event)))
        self.tallies.rare_ns += self.clock() - span[1]

    def make_mark(self, event: cl.Event | None, wait_for: Any) -> int:
        """Return a mark that joins a wait list or a completion to a row; 0 if it has neither."""
        completions = self.completions
        awaited = wait_for if isinstance(wait_for, (list, tuple, set, frozenset)) else ()
        if not awaited and (event is None or completions is None):
            return 0
        mark = self.sink.next_mark()
        self.add_waits(mark, awaited)
        if event is not None and completions is not None:
            completions.watch(event, mark)
        return mark

    def add_waits(self, mark: int, wait_for: Iterable[cl.Event]) -> None:
        """Append a row for each event that the call of this mark waits for."""
        add = self._add_edge
        for event in wait_for:
            # A user event belongs to no command, and its handle may have been a command's before.
            if type(event) is not cl.UserEvent:
                add((mark, event.int_ptr))

    def record_region(self, name: str, entered_ns: int) -> None:
        """Append one row for a region of the program that ends now."""
        if self.gate:
            number = self.texts.id_of(name)
            self.add_region((number, self.threads.number, entered_ns, self.clock()))

    # Failures

    def call_failed(self, error: BaseException, row: CallRow, enter_ns: int) -> None:
        """Record a call that an OpenCL error ended, and remove the hook from the traceback.

        The error may name another entry point than the hooked one.
        """
        try:
            if self.gate and isinstance(error, cl.Error):
                api = _API_OF_ROUTINE.get(str(error.routine), row.api)
                span = (enter_ns, self.clock())
                self.record_call(row._replace(api=api), span, status=status_of(error))
            else:
                self._note_interruption(error)
        except Exception as fault:
            self.stop_on_fault(fault)
        hide_own_frames(error)

    def launch_failed(
        self,
        error: BaseException,
        event: cl.Event | None,
        enter_ns: int,
        queue: Any,
    ) -> None:
        """Record a launch that raised. A launch with an event was only interrupted after it returned."""
        if event is None:
            handle = queue.int_ptr if isinstance(queue, cl.CommandQueue) else 0
            row = CallRow(Api.clEnqueueNDRangeKernel, handle)
            self.call_failed(error, row, enter_ns)
        else:
            self._note_interruption(error)
            hide_own_frames(error)

    def _note_interruption(self, error: BaseException) -> None:
        """Note that a signal handler ended a call, which may have enqueued a command before."""
        is_interrupted = isinstance(error, KeyboardInterrupt) or is_from_signal_handler(error)
        if self.gate and is_interrupted and not self._has_interruptions:
            self._has_interruptions = True
            self.note(Severity.WARNING, INTERRUPTED_CALL, _INTERRUPTED)

    def stop_on_fault(self, fault: BaseException) -> None:
        """Stop recording because of a fault of cltrace, and record the reason. The program goes on.

        Raises: `fault` itself if a signal handler of the program raised it.
        """
        if is_from_signal_handler(fault):
            raise fault
        self.stop_because(fault)

    def lose_command(self, fault: BaseException) -> None:
        """Stop recording as `stop_on_fault` does, in the hook of a command that was enqueued."""
        self.stop_on_fault(fault)
        self.tallies.skip_command()

    def stop_because(self, fault: BaseException) -> None:
        """Stop recording and record the reason, wherever `fault` is from."""
        if self.is_closed:
            return
        self.close()
        what = traceback.format_exception_only(fault)[-1].strip()
        reason = what
        if isinstance(fault, OSError) and fault.strerror:
            reason = f"the spool cannot be written: {fault.strerror}"
        self._skipped_before_stop = self.tallies.commands_skipped
        self.stop = StopReport(self.clock(), reason=reason)
        where = "".join(traceback.format_exception(fault)).strip()
        self.note(Severity.ERROR, "tracing-stopped", f"tracing stopped: {what}\n{where}")

    @property
    def skipped_on_purpose(self) -> int:
        """The number of commands that were left out as the user wanted."""
        return self._skipped_before_stop if self.stop.reason else self.tallies.commands_skipped

    def note(self, severity: Severity, code: str, message: str) -> None:
        """Record a message for the reader of the trace."""
        self.sink.records.append(Diagnostic(severity, code, message, self.clock()))

    # The gate

    def open(self) -> None:
        """Record from now on. A closed recorder stays closed."""
        if not self.is_closed and not self.gate:
            self.gate.append(1)

    def pause(self) -> None:
        """Record nothing until `open`."""
        self.gate.clear()

    def close(self) -> None:
        """Stop recording for good."""
        self.is_closed = True
        self.gate.clear()

    def sample_hook_time(self, leave_ns: int) -> None:
        """Add the time of the running hook since `leave_ns`, when its call returned."""
        self.tallies.sampled_ns += self.clock() - leave_ns
        self._limit_unread_events()


def event_to_keep(event: cl.Event | None) -> Any:
    """Return an event to keep until its stamps are read, which keeps no object of the program alive.

    A `NannyEvent` waits for its command when it is dropped, and keeps the host's array alive. The program
    depends on both effects, so another event object is kept in its place.
    """
    if type(event) is cl.NannyEvent:
        return cl.Event.from_int_ptr(event.int_ptr, retain=True)
    return event


def status_of(error: cl.Error) -> int:
    """Return the OpenCL status in an exception of pyopencl."""
    return int(error.code)


_INTERRUPTED: Final = (
    "exceptions of signal handlers ended calls: commands that these enqueued may be missing"
)
_API_OF_ROUTINE: Final = {**Api.__members__, "Kernel.set_arg": Api.clSetKernelArg}
