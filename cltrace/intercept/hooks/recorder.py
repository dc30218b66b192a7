"""What every hook works with: the gate, the clock, the numbers, and the rows it appends to."""

import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import Severity
from cltrace.events.records import Argument, Diagnostic
from cltrace.events.tables import CALLS, COMPLETIONS, EDGES, LAUNCHES, REGIONS
from cltrace.intercept.hooks.completions import completions_for
from cltrace.intercept.hooks.launches import signed_zero
from cltrace.intercept.objects.arguments import describe
from cltrace.intercept.objects.callsites import CallSites
from cltrace.intercept.objects.memory import Birth, MemoryObjects
from cltrace.intercept.objects.programs import Programs, Texts
from cltrace.intercept.objects.registry import Registry
from cltrace.intercept.objects.slots import ReleaseSlots
from cltrace.intercept.objects.threads import ThreadNumbers, thread_numbers
from cltrace.intercept.sink import Sink
from cltrace.intercept.tallies import Tallies
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler
from cltrace.spool.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable


class CallRow(NamedTuple):
    """What a row of `CALLS` says beyond when, where and by whom. Identifiers, not objects."""

    api: Api
    queue_handle: int = 0
    subject_id: int = 0
    source_buffer_id: int = 0
    target_buffer_id: int = 0
    size_bytes: int = -1
    source_offset_bytes: int = 0
    target_offset_bytes: int = 0
    flags: int = 0


class Recorder:
    """The state that the hooks of one process share.

    `gate` is empty while nothing is recorded: a hook then only calls what it stands for. It is a
    list because the truth of a list is the cheapest question there is.
    """

    getframe = staticmethod(sys._getframe)
    clock = staticmethod(time.perf_counter_ns)
    get_thread = staticmethod(threading.get_ident)
    describe = staticmethod(describe)
    signed_zero = staticmethod(signed_zero)
    is_from_signal_handler = staticmethod(is_from_signal_handler)

    def __init__(self, settings: Settings, sink: Sink, slots: ReleaseSlots | None) -> None:
        self.settings: Final = settings
        self.sink: Final = sink
        self.gate: Final[list[int]] = []
        self.is_closed = False
        self.tallies: Final = Tallies()
        self.texts: Final = Texts(sink)
        self.programs: Final = Programs(sink, self.texts, record_source=settings.record_source)
        self.registry: Final = Registry(sink, self.programs)
        self.memory: Final = MemoryObjects(sink, self.registry, slots)
        self.sites: Final = CallSites(sink, settings.callsite_depth)
        self.threads: Final[ThreadNumbers] = thread_numbers(sink)
        self.add_launch: Final[Callable[[tuple[Any, ...]], None]] = sink.extender(LAUNCHES)
        self.add_region: Final[Callable[[tuple[Any, ...]], None]] = sink.extender(REGIONS)
        self._add_call = sink.extender(CALLS)
        self._add_edge = sink.extender(EDGES)
        self.completions: Final = completions_for(
            settings.timing, sink.extender(COMPLETIONS), self.tallies
        )
        self.configured: Callable[[int, tuple[Argument, ...]], None] = lambda *_: None
        """Called with each new launch configuration: its number and its arguments."""
        self.relieve: Callable[[], None] = lambda: None
        """Called now and then from hooks: it bounds the number of unread events."""

    # What happens around a call

    def here(self) -> int:
        """The site of the call that is being recorded."""
        return self.sites.locate(sys._getframe(1)) if self.settings.callsite_depth else 0

    def birth(self, host_ns: int) -> Birth:
        """Where and when the object that is being created is created."""
        return Birth(host_ns, self.here(), self.threads.number, is_creation=True)

    def record_call(
        self,
        row: CallRow,
        span: tuple[int, int],
        *,
        status: int = 0,
        event: cl.Event | None = None,
        wait_for: Any = None,
    ) -> None:
        """Append one row for a host call that took `span` (enter and return, host ns)."""
        own = own_handle(event)
        mark = self.mark_of(own, wait_for)
        self._add_call(
            (
                *(*span, row.api, status, self.here(), self.threads.number),
                *(row.queue_handle, mark, *row[2:], own),
            )
        )
        self.tallies.calls += 1
        self.tallies.slow_ns += self.clock() - span[1]
        if not span[1] & 63:
            self.relieve()

    def mark_of(self, event: cl.Event | None, wait_for: Any) -> int:
        """A mark when there is something to join to the row: a wait list or a completion."""
        awaited = list(wait_for) if isinstance(wait_for, (list, tuple, set, frozenset)) else []
        completions = self.completions
        if not awaited and (event is None or completions is None):
            return 0
        mark = self.sink.next_mark()
        for one in awaited:
            # A user event is no command's, and its handle may have been a command's before.
            if not isinstance(one, cl.UserEvent):
                self._add_edge((mark, one.int_ptr))
        if event is not None and completions is not None:
            completions.watch(event, mark)
        return mark

    def record_region(self, name: str, entered_ns: int) -> None:
        """Append one row for a named stretch of the program that ends now."""
        if self.gate:
            number = self.texts.id_of(name)
            self.add_region((number, self.threads.number, entered_ns, self.clock()))

    # What goes wrong

    def call_failed(self, error: BaseException, row: CallRow, enter_ns: int) -> None:
        """Record a call that an OpenCL error ended, and take the hook out of the traceback.

        The error itself may name another entry point than the one that was to be called.
        """
        try:
            if self.gate and isinstance(error, cl.Error):
                api = _API_OF_ROUTINE.get(str(error.routine), row.api)
                span = (enter_ns, self.clock())
                self.record_call(row._replace(api=api), span, status=status_of(error))
        except Exception as fault:
            self.faulty(fault)
        hide_own_frames(error)

    def launch_failed(
        self,
        error: BaseException,
        event: cl.Event | None,
        enter_ns: int,
        queue: Any,
    ) -> None:
        """Record a launch that raised; one that returned was only interrupted afterwards."""
        if event is None:
            handle = queue.int_ptr if isinstance(queue, cl.CommandQueue) else 0
            row = CallRow(Api.clEnqueueNDRangeKernel, handle)
            self.call_failed(error, row, enter_ns)
        else:
            hide_own_frames(error)

    def faulty(self, fault: BaseException) -> None:
        """Cltrace itself failed: stop recording and keep the reason. The program goes on.

        Raises `fault` itself when it is the program's: a signal handler raised it just then.
        """
        if is_from_signal_handler(fault):
            raise fault
        if self.is_closed:
            return
        self.close()
        what = traceback.format_exception_only(fault)[-1].strip()
        where = "".join(traceback.format_exception(fault)).strip()
        self.note(Severity.ERROR, "tracing-stopped", f"tracing stopped: {what}\n{where}")

    def note(self, severity: Severity, code: str, message: str) -> None:
        """Keep something for the reader of the trace."""
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
        """Record nothing any more."""
        self.is_closed = True
        self.gate.clear()

    def sampled(self, leave_ns: int) -> None:
        """Time the hook that is running: `leave_ns` is when its call returned."""
        self.tallies.sampled_ns += self.clock() - leave_ns
        self.relieve()


def own_handle(event: cl.Event | None) -> Any:
    """An event to keep until its stamps are read, holding nothing of the program's.

    A `NannyEvent` waits for its command when it is dropped, and keeps the host's array: the program
    relies on the one and pays for the other, so it is never kept.
    """
    if type(event) is cl.NannyEvent:
        return cl.Event.from_int_ptr(event.int_ptr, retain=True)
    return event


def status_of(error: cl.Error) -> int:
    """The OpenCL status in an exception of pyopencl."""
    return int(error.code)


_API_OF_ROUTINE: Final = {**Api.__members__, "Kernel.set_arg": Api.clSetKernelArg}
