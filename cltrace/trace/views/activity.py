"""Views of what was done: launches, commands, host calls, waits, and what they add up to."""

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
    "Launch configurations: a kernel, its NDRange and its arguments, once each.",
    "launch l LEFT JOIN kernel k ON k.id = l.kernel_id",
    columns(
        ("launch_id", "l.id", "number of the configuration in this trace"),
        ("kernel_id", "l.kernel_id", "the kernel"),
        ("kernel", "k.name", "its name"),
        ("global_size", "l.global_size", "work-items in each dimension, a JSON array"),
        ("local_size", "l.local_size", "work-group size; NULL when the driver chose"),
        ("global_offset", "l.global_offset", "offset; NULL when none was given"),
        ("work_items", "l.work_items", "work-items in all"),
        ("arguments_known", "l.arguments_known", "0 when the arguments were not seen or kept"),
    ),
)

V_LAUNCH_ARG: Final = View(
    "v_launch_arg",
    "Arguments of launch configurations.",
    "launch_arg",
    columns(
        ("launch_id", "the configuration"),
        ("position", "position, from 0"),
        ("kind", "buffer, image, svm, local, scalar, sampler, queue, null or unknown"),
        ("buffer_id", "the memory object, if it is one"),
        ("offset_bytes", "where in it, for an array passed with an offset"),
        ("size_bytes", "size of local memory or of a scalar"),
        ("dtype", "numpy's name of a scalar's type; int or float for a Python number"),
        ("value", "a scalar's bytes"),
        ("detail", "a Python integer's digits, an address, or what an unknown argument was"),
    ),
)


def _on_host_clock(stamp: str) -> str:
    """SQL for a stamp of the command `c` on the host's clock; NULL where that is not known."""
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


def _words(flags: str, faults: type[StampFault]) -> str:
    """SQL for the names of the faults that are set, with blanks between; NULL for none."""
    words = " || ".join(
        f"iif({flags} & {fault << FAULT_SHIFT}, '{fault_name(fault)} ', '')" for fault in faults
    )
    return f"nullif(rtrim({words}), '')"


V_COMMAND: Final = View(
    "v_command",
    "Everything that was enqueued.",
    "command c LEFT JOIN api a ON a.id = c.api LEFT JOIN launch l ON l.id = c.launch_id "
    "LEFT JOIN kernel k ON k.id = l.kernel_id LEFT JOIN queue q ON q.id = c.queue_id "
    "LEFT JOIN thread t ON t.id = c.thread_id LEFT JOIN site s ON s.id = c.site_id",
    columns(
        ("command_id", "c.id", "number of the command in this trace"),
        ("process_id", "t.process_id", "its process"),
        ("thread_id", "c.thread_id", "the thread that enqueued it"),
        ("queue_id", "c.queue_id", "its queue"),
        ("device_id", "q.device_id", "its device"),
        ("api", "a.name", "entry point"),
        ("kind", "a.command_kind", "kernel, write, read, copy, fill, map, unmap, migrate, …"),
        ("kernel", "k.name", "kernel, for a launch"),
        ("launch_id", "c.launch_id", "its configuration, for a launch"),
        ("site", SITE_SQL, "where it was enqueued, as file:line"),
        ("enter_host_ns", "c.enter_host_ns", "when the call was entered"),
        ("return_host_ns", "c.return_host_ns", "when it returned"),
        ("queued_device_ns", "c.queued_device_ns", "the device's stamps, as the driver gave them;"),
        ("submit_device_ns", "c.submit_device_ns", "NULL when it gave none,"),
        ("start_device_ns", "c.start_device_ns", "because the command never became complete"),
        ("end_device_ns", "c.end_device_ns", "or its queue has no profiling"),
        ("queued_host_ns", _on_host_clock("queued"), "the same on the host's clock;"),
        ("submit_host_ns", _on_host_clock("submit"), "NULL where that clock"),
        ("start_host_ns", _on_host_clock("start"), "is not known, or the stamps"),
        ("end_host_ns", _on_host_clock("end"), "cannot be right"),
        (
            "stamp_faults",
            _words("c.flags", StampFault),
            "what is wrong with the stamps: zero, reversed, made-up, foreign, before-enqueue, "
            "after-return, after-completion, failed; NULL when nothing is",
        ),
        ("complete_host_ns", "c.complete_host_ns", "completion, with --timing callback or sync"),
        (
            "duration_ns",
            f"CASE WHEN c.end_device_ns >= c.start_device_ns AND c.flags & {FAULTS_UNUSABLE} = 0 "
            "THEN c.end_device_ns - c.start_device_ns "
            "WHEN c.complete_host_ns >= c.enter_host_ns "
            "THEN c.complete_host_ns - c.enter_host_ns END",
            "END - START; without stamps completion - entry; NULL when neither makes sense",
        ),
        (
            "wait_ns",
            f"CASE WHEN c.start_device_ns >= c.queued_device_ns AND c.flags & {FAULTS_UNUSABLE} = 0 "
            "THEN c.start_device_ns - c.queued_device_ns END",
            "START - QUEUED",
        ),
        ("execution_status", "c.execution_status", "0, or the OpenCL error that ended it"),
        ("size_bytes", "c.size_bytes", "bytes moved or filled"),
        ("source_buffer_id", "c.source_buffer_id", "what was read"),
        ("target_buffer_id", "c.target_buffer_id", "what was written"),
        ("source_offset_bytes", "c.source_offset_bytes", "where in the source"),
        ("target_offset_bytes", "c.target_offset_bytes", "where in the target"),
        ("blocking", "c.flags & 1", "1 when the call waited for its command"),
        (
            "first_launch",
            "(c.flags >> 16) & 1",
            "1 for the first launch of a kernel with a work-group size on a device",
        ),
    ),
)

V_API_CALL: Final = View(
    "v_api_call",
    "Host calls: those that enqueued, and all others.",
    "(SELECT c.id AS command_id, c.api, c.thread_id, c.queue_id, c.site_id, c.enter_host_ns, "
    "c.return_host_ns, 0 AS status, c.size_bytes, NULL AS call_id FROM command c UNION ALL "
    "SELECT NULL, x.api, x.thread_id, x.queue_id, x.site_id, x.enter_host_ns, x.return_host_ns, "
    "x.status, x.size_bytes, x.id FROM api_call x) h LEFT JOIN api a ON a.id = h.api "
    "LEFT JOIN thread t ON t.id = h.thread_id LEFT JOIN site s ON s.id = h.site_id",
    columns(
        ("command_id", "h.command_id", "the command that it enqueued, if it did"),
        ("call_id", "h.call_id", "number of the call, if it enqueued nothing"),
        ("process_id", "t.process_id", "its process"),
        ("thread_id", "h.thread_id", "its thread"),
        ("queue_id", "h.queue_id", "its queue, if it has one"),
        ("api", "a.name", "entry point"),
        ("site", SITE_SQL, "where it was made, as file:line"),
        ("enter_host_ns", "h.enter_host_ns", "when it was entered"),
        ("return_host_ns", "h.return_host_ns", "when it returned"),
        ("duration_ns", "h.return_host_ns - h.enter_host_ns", "how long it took"),
        ("status", "h.status", "0, or the OpenCL error that it raised"),
        ("size_bytes", "h.size_bytes", "bytes moved or allocated"),
    ),
)

V_EDGE: Final = View(
    "v_edge",
    "Wait lists: which command waits for which.",
    "edge",
    columns(
        ("command_id", "the command"),
        ("waits_for_command_id", "a command in its wait list"),
    ),
)

V_WAIT: Final = View(
    "v_wait",
    "Which host call waited for which command by its event, or set a callback on it. `clFinish` waits "
    "for a whole queue and is not here.",
    "wait",
    columns(
        ("call_id", "api_call_id", "the call"),
        ("command_id", "the command"),
    ),
)

V_REGION: Final = View(
    "v_region",
    "Named stretches of the program (`cltrace.region`).",
    "region r LEFT JOIN string n ON n.id = r.name_string_id "
    "LEFT JOIN thread t ON t.id = r.thread_id",
    columns(
        ("region_id", "r.id", "number of the region in this trace"),
        ("process_id", "t.process_id", "its process"),
        ("thread_id", "r.thread_id", "its thread"),
        ("name", "n.text", "its name"),
        ("enter_host_ns", "r.enter_host_ns", "when it was entered"),
        ("leave_host_ns", "r.leave_host_ns", "when it was left"),
        ("duration_ns", "r.leave_host_ns - r.enter_host_ns", "how long it took"),
    ),
)

V_HOST_CLOCK: Final = View(
    "v_host_clock",
    "The host's clocks, read together about once a second.",
    "host_clock",
    columns(
        ("process_id", "the process that read them"),
        ("host_ns", "CLOCK_MONOTONIC, which all other host times are on"),
        ("raw_host_ns", "CLOCK_MONOTONIC_RAW"),
        ("realtime_ns", "CLOCK_REALTIME: ns since 1970, UTC"),
        ("bracket_ns", "how long reading them took"),
    ),
)

V_CLOCK_SEGMENT: Final = View(
    "v_clock_segment",
    "How each device's clock leads to the host's: host = anchor_host_ns + (device - anchor_device_ns) "
    "* (1 + drift), piece by piece.",
    "clock_segment",
    columns(
        ("device_id", "the device"),
        ("state", "proven, conditional (something contradicts, or the rate changes) or unaligned"),
        ("is_straight", "1 where the rate is constant, 0 where it changes"),
        ("from_enter_host_ns", "it is for commands entered from then"),
        ("to_enter_host_ns", "until before then,"),
        ("from_device_ns", "and for stamps from there"),
        ("to_device_ns", "until before there"),
        ("anchor_device_ns", "a device time"),
        ("anchor_host_ns", "and the host time that belongs to it"),
        ("drift", "seconds by which the host's clock gains on the device's, a second"),
        ("drift_within", "by how much the drift may be off, as far as the observations tell"),
        ("half_width_ns", "how far off the line can be if the drift is exact"),
        ("bound_ns", "how far off it can be whatever the drift is that the observations allow"),
        ("observations", "bounds that it keeps"),
        ("rejected", "commands left out because they contradict"),
        ("reason", "why the state is not proven; empty if it is"),
        ("quantum_ns", "the step in which the device's stamps move"),
        ("method", "version of the method that fitted it"),
        ("input_hash", "CRC-32 of what it was fitted to"),
    ),
)

V_SURCHARGE: Final = View(
    "v_surcharge",
    "What the driver's profiling costs a launch (--measure-overhead).",
    "surcharge",
    columns(
        ("device_id", "the device"),
        ("launches", "launches on each kind of queue"),
        ("plain_ns", "median host time of a launch without profiling"),
        ("profiling_ns", "and with it"),
    ),
)

V_DIAGNOSTIC: Final = View(
    "v_diagnostic",
    "What the reader of this trace should know.",
    "diagnostic",
    columns(
        ("diagnostic_id", "id", "number of the diagnostic in this trace"),
        ("process_id", "the process it is about; NULL for the whole trace"),
        ("severity", "note, warning or error"),
        ("code", "a stable word for scripts"),
        ("message", "what is to be known"),
        ("host_ns", "when"),
    ),
)

V_REDACTION: Final = View(
    "v_redaction",
    "What was left out because the user asked for it.",
    "redaction",
    columns(
        ("process_id", "the process"),
        ("what", "source, arguments or environment"),
    ),
)

V_ROLLUP: Final = View(
    "v_rollup",
    "Exact sums over commands, by several dimensions, made when the trace was written.",
    "rollup",
    columns(
        ("dimension", "kernel, queue, device, process, thread, callsite or whole-device"),
        ("key", "the kernel's name, or the number of the queue, device, …"),
        ("label", "a readable name"),
        ("activity", "what the commands did: kernel, write, read, …; all, for a whole device"),
        ("calls", "commands"),
        ("timed_calls", "those with a duration"),
        ("total_ns", "sum of their durations"),
        ("min_ns", "shortest"),
        ("median_ns", "median"),
        ("max_ns", "longest"),
        ("busy_ns", "time in which at least one of them ran, added up over devices"),
        ("size_bytes", "bytes they moved"),
        ("waited_calls", "commands with a wait (START - QUEUED), first launches left out"),
        ("wait_total_ns", "sum of their waits"),
        ("wait_median_ns", "median wait"),
        ("first_calls", "first launches of a kernel with a work-group size on a device"),
        ("first_wait_ns", "sum of their waits, in which drivers compile"),
    ),
)

V_API_ROLLUP: Final = View(
    "v_api_rollup",
    "Exact sums over host calls, by entry point and process.",
    "api_rollup r LEFT JOIN api a ON a.id = r.api",
    columns(
        ("process_id", "r.process_id", "the process"),
        ("api", "a.name", "entry point"),
        ("calls", "r.calls", "calls"),
        ("failed", "r.failed", "those that raised an OpenCL error"),
        ("total_ns", "r.total_ns", "time in them"),
        ("min_ns", "r.min_ns", "shortest"),
        ("median_ns", "r.median_ns", "median"),
        ("max_ns", "r.max_ns", "longest"),
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
"""In the order in which the documentation lists them."""
