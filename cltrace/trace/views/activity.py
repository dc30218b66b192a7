"""Views of activity: launches, commands, host calls, waits, clocks and sums."""

from typing import Final

from cltrace.events.kinds import (
    FAULT_SHIFT,
    UNUSABLE_STAMPS,
    ClockState,
    StampFault,
    fault_name,
)
from cltrace.trace.views.model import SITE_SQL, View, columns

FAULTS_UNUSABLE: Final = int(UNUSABLE_STAMPS) << FAULT_SHIFT

V_LAUNCH: Final = View(
    "v_launch",
    "Launch configurations: each distinct combination of a kernel, its NDRange and its arguments.",
    "launch l LEFT JOIN kernel k ON k.id = l.kernel_id",
    columns(
        ("launch_id", "l.id", "number of the launch configuration in this trace"),
        ("kernel_id", "l.kernel_id", "the kernel"),
        ("kernel", "k.name", "name of the kernel"),
        ("global_size", "l.global_size", "global size: work-items per dimension, as a JSON array"),
        (
            "local_size",
            "l.local_size",
            "work-group size, as a JSON array; NULL if the driver chose it",
        ),
        (
            "global_offset",
            "l.global_offset",
            "global offset, as a JSON array; NULL if none was given",
        ),
        ("work_items", "l.work_items", "total number of work-items"),
        (
            "arguments_known",
            "l.arguments_known",
            "0 if cltrace did not observe or keep the arguments",
        ),
    ),
)

V_LAUNCH_ARG: Final = View(
    "v_launch_arg",
    "Arguments of launch configurations.",
    "launch_arg",
    columns(
        ("launch_id", "the launch configuration"),
        ("position", "index of the argument, from 0"),
        ("kind", "buffer, image, svm, local, scalar, sampler, queue, null or unknown"),
        ("buffer_id", "the memory object, for an argument that is one"),
        ("offset_bytes", "offset in the memory object, for an array passed with an offset"),
        ("size_bytes", "size of local memory or of a scalar"),
        ("dtype", "numpy name of a scalar's type; int or float for a Python number"),
        ("value", "bytes of a scalar"),
        (
            "detail",
            "digits of a Python integer, an address, the settings of a sampler, or the description of an "
            "unknown argument",
        ),
    ),
)


def _on_host_clock(stamp: str) -> str:
    """Return SQL for a stamp of the command `c` on the host's clock; NULL if it is unknown."""
    device = f"c.{stamp}_device_ns"
    since = f"({device} - g.anchor_device_ns)"
    return (
        f"CASE WHEN c.flags & {FAULTS_UNUSABLE} = 0 THEN (SELECT g.anchor_host_ns + {since} + "
        f"CAST(round({since} * g.drift) AS INTEGER) FROM clock_segment g "
        f"WHERE g.device_id = q.device_id AND g.state <> '{ClockState.UNALIGNED}' "
        f"AND {device} >= g.from_device_ns AND {device} < g.to_device_ns "
        "AND c.enter_host_ns >= g.from_enter_host_ns AND c.enter_host_ns < g.to_enter_host_ns "
        "LIMIT 1) END"
    )


def _fault_names(flags: str, faults: type[StampFault]) -> str:
    """Return SQL for the names of the faults in `flags`, joined by spaces; NULL for none."""
    names = " || ".join(
        f"iif({flags} & {fault << FAULT_SHIFT}, '{fault_name(fault)} ', '')" for fault in faults
    )
    return f"nullif(rtrim({names}), '')"


V_COMMAND: Final = View(
    "v_command",
    "Enqueued commands.",
    "command c LEFT JOIN api a ON a.id = c.api "
    "LEFT JOIN kernel k ON k.id = c.kernel_id LEFT JOIN queue q ON q.id = c.queue_id "
    "LEFT JOIN thread t ON t.id = c.thread_id LEFT JOIN site s ON s.id = c.site_id",
    columns(
        ("command_id", "c.id", "number of the command in this trace"),
        ("process_id", "t.process_id", "process that enqueued it"),
        ("thread_id", "c.thread_id", "thread that enqueued it"),
        ("queue_id", "c.queue_id", "queue of the command"),
        ("device_id", "q.device_id", "device of the queue"),
        ("api", "a.name", "name of the OpenCL entry point"),
        ("kind", "a.command_kind", "kernel, write, read, copy, fill, map, unmap, migrate, …"),
        ("kernel", "k.name", "name of the kernel, for a launch"),
        ("launch_id", "c.launch_id", "launch configuration, for a launch"),
        ("site", SITE_SQL, "site that enqueued it, as file:line"),
        ("enter_host_ns", "c.enter_host_ns", "entry of the call"),
        ("return_host_ns", "c.return_host_ns", "return of the call"),
        (
            "queued_device_ns",
            "c.queued_device_ns",
            "QUEUED stamp as the driver gave it; NULL if the driver gave none, because the "
            "command never completed or its queue has no profiling",
        ),
        ("submit_device_ns", "c.submit_device_ns", "SUBMIT stamp, likewise"),
        ("start_device_ns", "c.start_device_ns", "START stamp, likewise"),
        ("end_device_ns", "c.end_device_ns", "END stamp, likewise"),
        (
            "queued_host_ns",
            _on_host_clock("queued"),
            "QUEUED stamp on the host's clock; NULL if the device's clock is not aligned "
            "with it or the stamps are unusable",
        ),
        ("submit_host_ns", _on_host_clock("submit"), "SUBMIT stamp on the host's clock, likewise"),
        ("start_host_ns", _on_host_clock("start"), "START stamp on the host's clock, likewise"),
        ("end_host_ns", _on_host_clock("end"), "END stamp on the host's clock, likewise"),
        (
            "stamp_faults",
            _fault_names("c.flags", StampFault),
            "faults of the stamps: zero, reversed, made-up, foreign, before-enqueue, "
            "after-return, after-completion, failed; NULL if there are none",
        ),
        (
            "complete_host_ns",
            "c.complete_host_ns",
            "time of completion, with --timing callback or sync",
        ),
        (
            "duration_ns",
            f"CASE WHEN c.end_device_ns >= c.start_device_ns AND c.flags & {FAULTS_UNUSABLE} = 0 "
            "THEN c.end_device_ns - c.start_device_ns "
            "WHEN c.complete_host_ns >= c.enter_host_ns "
            "THEN c.complete_host_ns - c.enter_host_ns END",
            "END - START; without stamps, completion - entry; NULL if neither is valid",
        ),
        (
            "wait_ns",
            f"CASE WHEN c.start_device_ns >= c.queued_device_ns AND c.flags & {FAULTS_UNUSABLE} = 0 "
            "THEN c.start_device_ns - c.queued_device_ns END",
            "START - QUEUED",
        ),
        (
            "execution_status",
            "c.execution_status",
            "0, or the OpenCL error with which the command ended",
        ),
        ("size_bytes", "c.size_bytes", "number of bytes moved or filled"),
        ("source_buffer_id", "c.source_buffer_id", "memory object that was read"),
        ("target_buffer_id", "c.target_buffer_id", "memory object that was written"),
        ("source_offset_bytes", "c.source_offset_bytes", "offset in the source"),
        ("target_offset_bytes", "c.target_offset_bytes", "offset in the target"),
        ("blocking", "c.flags & 1", "1 if the call waited for its command"),
        (
            "first_launch",
            "(c.flags >> 16) & 1",
            "1 for the first launch of a kernel with this work-group size on a device",
        ),
    ),
)

V_API_CALL: Final = View(
    "v_api_call",
    "Host calls: those that enqueued a command, and all others.",
    "(SELECT c.id AS command_id, c.api, c.thread_id, c.queue_id, c.site_id, c.enter_host_ns, "
    "c.return_host_ns, 0 AS status, c.size_bytes, NULL AS call_id FROM command c UNION ALL "
    "SELECT NULL, x.api, x.thread_id, x.queue_id, x.site_id, x.enter_host_ns, x.return_host_ns, "
    "x.status, x.size_bytes, x.id FROM api_call x) h LEFT JOIN api a ON a.id = h.api "
    "LEFT JOIN thread t ON t.id = h.thread_id LEFT JOIN site s ON s.id = h.site_id",
    columns(
        ("command_id", "h.command_id", "command that the call enqueued; NULL if it enqueued none"),
        ("call_id", "h.call_id", "number of a call that enqueued no command"),
        ("process_id", "t.process_id", "process of the call"),
        ("thread_id", "h.thread_id", "thread of the call"),
        ("queue_id", "h.queue_id", "queue of the call, if it has one"),
        ("api", "a.name", "name of the OpenCL entry point"),
        ("site", SITE_SQL, "site of the call, as file:line"),
        ("enter_host_ns", "h.enter_host_ns", "entry of the call"),
        ("return_host_ns", "h.return_host_ns", "return of the call"),
        ("duration_ns", "h.return_host_ns - h.enter_host_ns", "duration of the call"),
        ("status", "h.status", "0, or the OpenCL error that it raised"),
        ("size_bytes", "h.size_bytes", "number of bytes moved or allocated"),
    ),
)

V_EDGE: Final = View(
    "v_edge",
    "Wait lists of commands.",
    "edge",
    columns(
        ("command_id", "the command"),
        ("waits_for_command_id", "a command in its wait list"),
    ),
)

V_WAIT: Final = View(
    "v_wait",
    "Host calls that waited for a command's event, or set a callback on it. "
    "`clFinish` waits for a whole queue and is not listed.",
    "wait",
    columns(
        ("call_id", "api_call_id", "the call"),
        ("command_id", "the command"),
    ),
)

V_REGION: Final = View(
    "v_region",
    "Regions that the program names with `cltrace.region`.",
    "region r LEFT JOIN string n ON n.id = r.name_string_id "
    "LEFT JOIN thread t ON t.id = r.thread_id",
    columns(
        ("region_id", "r.id", "number of the region in this trace"),
        ("process_id", "t.process_id", "process of the region"),
        ("thread_id", "r.thread_id", "thread of the region"),
        ("name", "n.text", "name of the region"),
        ("enter_host_ns", "r.enter_host_ns", "entry of the region"),
        ("leave_host_ns", "r.leave_host_ns", "exit of the region"),
        ("duration_ns", "r.leave_host_ns - r.enter_host_ns", "duration of the region"),
    ),
)

V_HOST_CLOCK: Final = View(
    "v_host_clock",
    "Simultaneous readings of the host's clocks, about one per second.",
    "host_clock",
    columns(
        ("process_id", "process that read the clocks"),
        ("host_ns", "CLOCK_MONOTONIC, the clock of all other host times"),
        ("raw_host_ns", "CLOCK_MONOTONIC_RAW"),
        ("realtime_ns", "CLOCK_REALTIME: ns since 1970, UTC"),
        ("bracket_ns", "duration of the reading"),
    ),
)

V_CLOCK_SEGMENT: Final = View(
    "v_clock_segment",
    "Alignment of each device's clock with the host's, in segments: host = "
    "anchor_host_ns + (device - anchor_device_ns) * (1 + drift).",
    "clock_segment",
    columns(
        ("device_id", "the device"),
        (
            "state",
            "proven, conditional (some observations contradict, or the rate changes) or unaligned",
        ),
        ("is_straight", "1 if the rate is constant, 0 if it changes"),
        ("from_enter_host_ns", "start of the range of entry times that the segment covers"),
        ("to_enter_host_ns", "end of that range, exclusive"),
        ("from_device_ns", "start of the range of device stamps that the segment covers"),
        ("to_device_ns", "end of that range, exclusive"),
        ("anchor_device_ns", "device time of the anchor"),
        ("anchor_host_ns", "host time of the anchor"),
        ("drift", "seconds per second that the host's clock gains on the device's"),
        ("drift_within", "largest possible error of the drift, according to the observations"),
        ("half_width_ns", "largest error of the line if the drift is exact"),
        ("bound_ns", "largest error of the line for any drift that the observations allow"),
        ("observations", "number of bounds that the line satisfies"),
        ("rejected", "number of commands left out because they contradict the line"),
        ("reason", "reason why the state is not proven; empty if it is proven"),
        ("quantum_ns", "step of the device's stamps"),
        ("method", "version of the fitting method"),
        ("input_hash", "CRC-32 of the observations"),
    ),
)

V_SURCHARGE: Final = View(
    "v_surcharge",
    "Cost of the driver's profiling per launch (--measure-overhead).",
    "surcharge",
    columns(
        ("device_id", "the device"),
        ("launches", "number of launches measured with and without profiling, each"),
        ("plain_ns", "median host time of a launch without profiling"),
        ("profiling_ns", "median host time of a launch with profiling"),
    ),
)

V_DIAGNOSTIC: Final = View(
    "v_diagnostic",
    "Messages for readers of this trace.",
    "diagnostic",
    columns(
        ("diagnostic_id", "id", "number of the diagnostic in this trace"),
        ("process_id", "process that it concerns; NULL for the whole trace"),
        ("severity", "note, warning or error"),
        ("code", "stable identifier for scripts"),
        ("message", "text of the message"),
        ("host_ns", "time of the event"),
    ),
)

V_REDACTION: Final = View(
    "v_redaction",
    "Data left out of this trace at the user's request.",
    "redaction",
    columns(
        ("process_id", "the process"),
        ("what", "source, arguments or environment"),
    ),
)

V_ROLLUP: Final = View(
    "v_rollup",
    "Exact sums over commands, grouped by several dimensions, computed when the trace was written.",
    "rollup",
    columns(
        (
            "dimension",
            "kernel, queue, device, process, thread, callsite, whole-device or kernel-device",
        ),
        (
            "key",
            "name of the kernel, or number of the queue, device, …; for kernel-device the number of the "
            "device, a space and the name of the kernel",
        ),
        ("label", "readable name of the group"),
        ("activity", "kind of the commands: kernel, write, read, …; all, for a whole device"),
        ("calls", "number of commands"),
        ("timed_calls", "number of commands with a duration"),
        ("total_ns", "sum of the durations"),
        ("min_ns", "shortest duration"),
        ("median_ns", "median duration"),
        ("max_ns", "longest duration"),
        ("busy_ns", "time in which at least one of the commands ran, summed over devices"),
        ("size_bytes", "number of bytes moved"),
        ("waited_calls", "number of commands with a wait (START - QUEUED), without first launches"),
        ("wait_total_ns", "sum of these waits"),
        ("wait_median_ns", "median of these waits"),
        ("first_calls", "number of first launches of a kernel with a work-group size on a device"),
        ("first_wait_ns", "sum of the waits of first launches, during which drivers compile"),
    ),
)

V_API_ROLLUP: Final = View(
    "v_api_rollup",
    "Exact sums over host calls, by entry point and process.",
    "api_rollup r LEFT JOIN api a ON a.id = r.api",
    columns(
        ("process_id", "r.process_id", "the process"),
        ("api", "a.name", "name of the OpenCL entry point"),
        ("calls", "r.calls", "number of calls"),
        ("failed", "r.failed", "number of calls that raised an OpenCL error"),
        ("total_ns", "r.total_ns", "sum of the durations"),
        ("min_ns", "r.min_ns", "shortest duration"),
        ("median_ns", "r.median_ns", "median duration"),
        ("max_ns", "r.max_ns", "longest duration"),
    ),
)

ACTIVITY_VIEWS: Final = (
    V_LAUNCH,
    V_LAUNCH_ARG,
    V_COMMAND,
    V_API_CALL,
    V_EDGE,
    V_WAIT,
    V_REGION,
    V_HOST_CLOCK,
    V_CLOCK_SEGMENT,
    V_SURCHARGE,
    V_DIAGNOSTIC,
    V_REDACTION,
    V_ROLLUP,
    V_API_ROLLUP,
)
"""Views in the order of the documentation."""
