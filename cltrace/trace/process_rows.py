"""Conversion of a process's records to rows of the trace's tables."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from cltrace.events import records as ev
from cltrace.spool.reader import ProcessSpool
from cltrace.trace import schema
from cltrace.trace.renumbering import TraceIds
from cltrace.trace.schema import Table

Row = Sequence[Any]


def record_rows(spool: ProcessSpool, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    """Yield the rows for a process's records, each with its table."""
    yield schema.PROCESS, _process_row(spool, ids)
    for record in spool.all_records:
        convert = _CONVERTERS.get(type(record))
        if convert is not None:
            yield from convert(record, ids)


def valid_unicode(text: str) -> str:
    """Return a text that SQLite accepts: characters that are no Unicode are replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _process_row(spool: ProcessSpool, ids: TraceIds) -> Row:
    started = next(iter(spool.records(ev.ProcessStarted)), None)
    ended = next(iter(reversed(spool.records(ev.ProcessEnded))), None)
    first: tuple[Any, ...] = (ids.process_id, "", spool.identity.pid, *[None] * 9)
    if started is not None:
        first = (
            ids.process_id,
            valid_unicode(started.host),
            started.pid,
            started.parent_pid,
            started.rank,
            json.dumps([valid_unicode(word) for word in started.argv]),
            valid_unicode(started.working_directory),
            valid_unicode(started.executable),
            valid_unicode(started.python_version),
            valid_unicode(started.pyopencl_version),
            json.dumps(
                {valid_unicode(name): valid_unicode(value) for name, value in started.environment}
            ),
            started.started_host_ns,
        )
    if ended is None:
        has_stopped = spool.stop is not None and spool.stop.stopped_host_ns != 0
        how = "running" if spool.identity.is_alive else "not recorded" if has_stopped else "killed"
        return (*first, None, how, *[None] * 9)
    return (
        *first,
        ended.ended_host_ns,
        valid_unicode(ended.how),
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


def _thread(record: ev.Thread, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    row = (
        ids.of("thread", record.id),
        ids.process_id,
        record.native_id,
        valid_unicode(record.name),
    )
    yield schema.THREAD, row


def _text(record: ev.Text, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    yield schema.STRING, (ids.of("string", record.id), valid_unicode(record.text))


def _site(record: ev.Site, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    outer = ids.of("site", record.outer_site_id)
    where = (valid_unicode(record.file), record.line, valid_unicode(record.function))
    yield schema.SITE, (ids.of("site", record.id), *where, outer)


def _platform(record: ev.Platform, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    words = (
        valid_unicode(record.name),
        valid_unicode(record.vendor),
        valid_unicode(record.version),
    )
    yield schema.PLATFORM, (ids.of("platform", record.id), ids.process_id, *words)


def _device(record: ev.Device, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    words = (record.name, record.vendor, record.version, record.driver_version, record.kind)
    yield (
        schema.DEVICE,
        (
            ids.of("device", record.id),
            ids.of("platform", record.platform_id),
            ids.of("device", record.parent_device_id),
            *map(valid_unicode, words),
            record.compute_units,
            record.clock_mhz,
            record.global_memory_bytes,
            record.local_memory_bytes,
            record.max_group_size,
            record.timer_resolution_ns,
            record.bus,
            record.uuid,
            valid_unicode(record.extensions),
        ),
    )


def _context(record: ev.Context, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    number = ids.of("context", record.id)
    yield schema.CONTEXT, (number, ids.process_id)
    for device_id in record.device_ids:
        yield schema.CONTEXT_DEVICE, (number, ids.of("device", device_id))


def _queue(record: ev.Queue, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.QUEUE,
        (
            ids.of("queue", record.id),
            ids.of("context", record.context_id),
            ids.of("device", record.device_id),
            record.properties,
            record.profiling,
            record.profiling_forced,
            record.known_host_ns,
        ),
    )


def _program(record: ev.Program, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    number = ids.of("program", record.id)
    yield (
        schema.PROGRAM,
        (
            number,
            ids.of("context", record.context_id),
            valid_unicode(record.origin),
            ids.of("string", record.source_text_id),
            record.binary_bytes,
            record.created_host_ns or None,
        ),
    )
    for parent_id in record.parent_ids:
        yield schema.PROGRAM_PARENT, (number, ids.of("program", parent_id))


def _include(record: ev.Include, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    program_id, text_id = ids.of("program", record.program_id), ids.of("string", record.text_id)
    yield schema.INCLUDE, (program_id, valid_unicode(record.name), text_id)


def _build(record: ev.Build, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.BUILD,
        (
            None,
            ids.of("program", record.program_id),
            ids.of("device", record.device_id),
            record.api,
            valid_unicode(record.options),
            record.status,
            ids.of("string", record.log_text_id),
            record.enter_host_ns,
            record.return_host_ns,
        ),
    )


def _kernel(record: ev.Kernel, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    program_id = ids.of("program", record.program_id)
    number = ids.of("kernel", record.id)
    yield schema.KERNEL, (number, program_id, valid_unicode(record.name), record.argument_count)


def _work_group_info(record: ev.WorkGroupInfo, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    yield (
        schema.WORK_GROUP_INFO,
        (
            ids.of("kernel", record.kernel_id),
            ids.of("device", record.device_id),
            record.max_group_size,
            record.preferred_multiple,
            record.local_memory_bytes,
            record.private_memory_bytes,
        ),
    )


def _surcharge(record: ev.Surcharge, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    device_id = ids.of("device", record.device_id)
    yield schema.SURCHARGE, (device_id, record.launches, record.plain_ns, record.profiling_ns)


def _diagnostic(record: ev.Diagnostic, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    words = (
        valid_unicode(record.severity),
        valid_unicode(record.code),
        valid_unicode(record.message),
    )
    yield schema.DIAGNOSTIC, (None, ids.process_id, *words, record.host_ns)


def _redaction(record: ev.Redaction, ids: TraceIds) -> Iterator[tuple[Table, Row]]:
    yield schema.REDACTION, (ids.process_id, valid_unicode(record.what))


_CONVERTERS: Final[dict[type, Callable[[Any, TraceIds], Iterator[tuple[Table, Row]]]]] = {
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
    ev.Surcharge: _surcharge,
    ev.Diagnostic: _diagnostic,
    ev.Redaction: _redaction,
}
"""Converters by class of record. Processes and captured contents are converted elsewhere."""
