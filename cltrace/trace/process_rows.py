"""What one process left, as rows of the trace's tables."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from cltrace.events import records as ev
from cltrace.spool.reader import ProcessSpool
from cltrace.trace import schema
from cltrace.trace.renumbering import Numbers
from cltrace.trace.schema import Table

Row = Sequence[Any]


def record_rows(spool: ProcessSpool, numbers: Numbers) -> Iterator[tuple[Table, Row]]:
    """The rows that the records of a process become, each with its table."""
    yield schema.PROCESS, _process_row(spool, numbers)
    for record in spool.all_records:
        convert = _CONVERTERS.get(type(record))
        if convert is not None:
            yield from convert(record, numbers)


def clean(text: str) -> str:
    """Text that SQLite takes: what is no Unicode in it is replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _process_row(spool: ProcessSpool, numbers: Numbers) -> Row:
    started = next(iter(spool.records(ev.ProcessStarted)), None)
    ended = next(iter(reversed(spool.records(ev.ProcessEnded))), None)
    first: tuple[Any, ...] = (numbers.process_id, "", spool.identity.pid, *[None] * 9)
    if started is not None:
        first = (
            numbers.process_id,
            clean(started.host),
            started.pid,
            started.parent_pid,
            started.rank,
            json.dumps([clean(word) for word in started.argv]),
            clean(started.working_directory),
            clean(started.executable),
            clean(started.python_version),
            clean(started.pyopencl_version),
            json.dumps({clean(name): clean(value) for name, value in started.environment}),
            started.started_host_ns,
        )
    if ended is None:
        how = "running" if spool.identity.is_alive else "killed"
        return (*first, None, how, *[None] * 9)
    return (
        *first,
        ended.ended_host_ns,
        clean(ended.how),
        ended.hook_calls,
        ended.hook_ns,
        ended.reader_cpu_ns,
        ended.event_waits,
        ended.event_wait_ns,
        ended.unread_events_peak,
        ended.commands_skipped,
        ended.memory_peak_bytes,
        ended.memory_peak_host_ns,
    )


def _thread(record: ev.Thread, n: Numbers) -> Iterator[tuple[Table, Row]]:
    row = (n.of("thread", record.id), n.process_id, record.native_id, clean(record.name))
    yield schema.THREAD, row


def _text(record: ev.Text, n: Numbers) -> Iterator[tuple[Table, Row]]:
    yield schema.STRING, (n.of("string", record.id), clean(record.text))


def _site(record: ev.Site, n: Numbers) -> Iterator[tuple[Table, Row]]:
    outer = n.of("site", record.outer_site_id)
    where = (clean(record.file), record.line, clean(record.function))
    yield schema.SITE, (n.of("site", record.id), *where, outer)


def _platform(record: ev.Platform, n: Numbers) -> Iterator[tuple[Table, Row]]:
    words = (clean(record.name), clean(record.vendor), clean(record.version))
    yield schema.PLATFORM, (n.of("platform", record.id), n.process_id, *words)


def _device(record: ev.Device, n: Numbers) -> Iterator[tuple[Table, Row]]:
    words = (record.name, record.vendor, record.version, record.driver_version, record.kind)
    yield (
        schema.DEVICE,
        (
            n.of("device", record.id),
            n.of("platform", record.platform_id),
            n.of("device", record.parent_device_id),
            *map(clean, words),
            record.compute_units,
            record.clock_mhz,
            record.global_memory_bytes,
            record.local_memory_bytes,
            record.max_group_size,
            record.timer_resolution_ns,
            record.bus,
            record.uuid,
            clean(record.extensions),
        ),
    )


def _context(record: ev.Context, n: Numbers) -> Iterator[tuple[Table, Row]]:
    number = n.of("context", record.id)
    yield schema.CONTEXT, (number, n.process_id)
    for device_id in record.device_ids:
        yield schema.CONTEXT_DEVICE, (number, n.of("device", device_id))


def _queue(record: ev.Queue, n: Numbers) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.QUEUE,
        (
            n.of("queue", record.id),
            n.of("context", record.context_id),
            n.of("device", record.device_id),
            record.properties,
            record.profiling,
            record.profiling_forced,
            record.known_host_ns,
        ),
    )


def _program(record: ev.Program, n: Numbers) -> Iterator[tuple[Table, Row]]:
    number = n.of("program", record.id)
    yield (
        schema.PROGRAM,
        (
            number,
            n.of("context", record.context_id),
            clean(record.origin),
            n.of("string", record.source_text_id),
            record.binary_bytes,
            record.created_host_ns or None,
        ),
    )
    for parent_id in record.parent_ids:
        yield schema.PROGRAM_PARENT, (number, n.of("program", parent_id))


def _include(record: ev.Include, n: Numbers) -> Iterator[tuple[Table, Row]]:
    program_id, text_id = n.of("program", record.program_id), n.of("string", record.text_id)
    yield schema.INCLUDE, (program_id, clean(record.name), text_id)


def _build(record: ev.Build, n: Numbers) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.BUILD,
        (
            None,
            n.of("program", record.program_id),
            n.of("device", record.device_id),
            record.api,
            clean(record.options),
            record.status,
            n.of("string", record.log_text_id),
            record.enter_host_ns,
            record.return_host_ns,
        ),
    )


def _kernel(record: ev.Kernel, n: Numbers) -> Iterator[tuple[Table, Row]]:
    program_id = n.of("program", record.program_id)
    number = n.of("kernel", record.id)
    yield schema.KERNEL, (number, program_id, clean(record.name), record.argument_count)


def _work_group_info(record: ev.WorkGroupInfo, n: Numbers) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.WORK_GROUP_INFO,
        (
            n.of("kernel", record.kernel_id),
            n.of("device", record.device_id),
            record.max_group_size,
            record.preferred_multiple,
            record.local_memory_bytes,
            record.private_memory_bytes,
        ),
    )


def _launch(record: ev.Launch, n: Numbers) -> Iterator[tuple[Table, Row]]:
    number = n.of("launch", record.id)
    work_items = 1
    for extent in record.global_size:
        work_items *= extent
    yield (
        schema.LAUNCH,
        (
            number,
            n.of("kernel", record.kernel_id),
            json.dumps(record.global_size),
            json.dumps(record.local_size) if record.local_size else None,
            json.dumps(record.global_offset) if record.global_offset else None,
            min(work_items, 2**63 - 1),
            record.arguments_known,
        ),
    )
    for position, argument in enumerate(record.arguments):
        yield schema.LAUNCH_ARG, _argument_row(number, position, argument, n)


def _argument_row(launch: int | None, position: int, argument: ev.Argument, n: Numbers) -> Row:
    return (
        launch,
        position,
        clean(argument.kind),
        n.of("buffer", argument.buffer_id),
        argument.offset_bytes or None,
        argument.size_bytes or None,
        clean(argument.dtype) or None,
        _bytes_of(argument.value),
        clean(argument.detail) or None,
    )


def _bytes_of(hexadecimal: str) -> bytes | None:
    try:
        return bytes.fromhex(hexadecimal) or None
    except ValueError:
        return None


def _surcharge(record: ev.Surcharge, n: Numbers) -> Iterator[tuple[Table, Row]]:
    device_id = n.of("device", record.device_id)
    yield schema.SURCHARGE, (device_id, record.launches, record.plain_ns, record.profiling_ns)


def _diagnostic(record: ev.Diagnostic, n: Numbers) -> Iterator[tuple[Table, Row]]:
    words = (clean(record.severity), clean(record.code), clean(record.message))
    yield schema.DIAGNOSTIC, (None, n.process_id, *words, record.host_ns)


def _redaction(record: ev.Redaction, n: Numbers) -> Iterator[tuple[Table, Row]]:
    yield schema.REDACTION, (n.process_id, clean(record.what))


_CONVERTERS: Final[dict[type, Callable[[Any, Numbers], Iterator[tuple[Table, Row]]]]] = {
    ev.Thread: _thread,
    ev.Text: _text,
    ev.Site: _site,
    ev.Platform: _platform,
    ev.Device: _device,
    ev.Context: _context,
    ev.Queue: _queue,
    ev.Program: _program,
    ev.Include: _include,
    ev.Build: _build,
    ev.Kernel: _kernel,
    ev.WorkGroupInfo: _work_group_info,
    ev.Launch: _launch,
    ev.Surcharge: _surcharge,
    ev.Diagnostic: _diagnostic,
    ev.Redaction: _redaction,
}
"""What each record becomes. Processes and captured contents are converted apart."""
