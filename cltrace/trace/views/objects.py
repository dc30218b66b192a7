"""Views of objects: processes, devices, programs, kernels, memory."""

from typing import Final

from cltrace.trace.stacks import MAX_FRAMES
from cltrace.trace.views.model import SITE_SQL, View, columns

V_META: Final = View(
    "v_meta",
    "Facts about the whole trace.",
    "meta",
    columns(
        ("key", "name of the fact"),
        ("value", "value of the fact, as text"),
    ),
)

V_PROCESS: Final = View(
    "v_process",
    "Traced processes: those that imported pyopencl.",
    "process",
    columns(
        ("process_id", "id", "number of the process in this trace"),
        ("host", "name of the machine"),
        ("pid", "process number on that machine"),
        ("parent_pid", "process number of the parent"),
        ("rank", "rank in a parallel run; NULL otherwise"),
        ("argv", "command line, as a JSON array; only its first word with --no-args"),
        ("working_directory", "working directory at the start"),
        ("executable", "path of the Python interpreter"),
        ("python_version", "version of Python"),
        ("pyopencl_version", "version of pyopencl"),
        ("environment", "recorded environment variables, as a JSON object"),
        ("started_host_ns", "start of tracing in the process"),
        ("ended_host_ns", "end of the process; NULL if it was killed or still ran"),
        (
            "ended_how",
            "how the process ended: exit, _exit, abort, exec, stop or killed; running if it"
            " had not ended; not recorded if recording stopped before",
        ),
        ("hook_calls", "number of recorded calls"),
        (
            "hook_ns",
            "time that recording took in the program's threads, estimated from a sample of the calls",
        ),
        ("reader_cpu_ns", "CPU time of the thread that reads stamps and writes the trace"),
        (
            "event_waits",
            "number of times that tracing waited for a command, to limit the number of "
            "unread events",
        ),
        ("event_wait_ns", "total time of these waits"),
        ("unread_events_peak", "highest number of unread events"),
        (
            "commands_skipped",
            "number of commands left out: recording was paused, or their kernels are excluded",
        ),
        ("memory_peak_bytes", "highest amount of live device memory; NULL if not known"),
        ("memory_peak_host_ns", "time of that peak"),
    ),
)

V_THREAD: Final = View(
    "v_thread",
    "Host threads that made calls.",
    "thread",
    columns(
        ("thread_id", "id", "number of the thread in this trace"),
        ("process_id", "process of the thread"),
        ("native_id", "the operating system's number of the thread"),
        ("name", "name of the thread in Python; empty if Python did not start it"),
    ),
)

V_SITE: Final = View(
    "v_site",
    "Sites: places in the program that made calls.",
    "site",
    columns(
        ("site_id", "id", "number of the site in this trace"),
        ("file", "source file"),
        ("line", "line number"),
        ("function", "name of the function"),
        (
            "outer_site_id",
            "site of the caller; with --callsite-depth 1 only of calls that an installed "
            "package makes, the nearest line outside of packages",
        ),
    ),
)

V_STACK: Final = View(
    "v_stack",
    "Stacks of calls: the frames of each site, from the one that made the call outward.",
    "(WITH RECURSIVE stack(site_id, position, frame_id) AS (SELECT id, 0, id FROM site UNION ALL "
    "SELECT k.site_id, k.position + 1, s.outer_site_id FROM stack k JOIN site s ON s.id = k.frame_id "
    f"WHERE s.outer_site_id IS NOT NULL AND k.position < {MAX_FRAMES - 1}) "
    "SELECT k.site_id, k.position, s.file, s.line, s.function FROM stack k "
    "JOIN site s ON s.id = k.frame_id)",
    columns(
        ("site_id", "the site"),
        ("position", "0 for the frame that made the call, 1 for its caller, …"),
        ("file", "source file"),
        ("line", "line number"),
        ("function", "name of the function"),
    ),
)

V_PLATFORM: Final = View(
    "v_platform",
    "OpenCL platforms, per process.",
    "platform",
    columns(
        ("platform_id", "id", "number of the platform in this trace"),
        ("process_id", "process that uses the platform"),
        ("name", "name of the platform"),
        ("vendor", "vendor of the platform"),
        ("version", "OpenCL version, and the platform's own version text"),
    ),
)

V_DEVICE: Final = View(
    "v_device",
    "OpenCL devices, per process.",
    "device d LEFT JOIN platform p ON p.id = d.platform_id",
    columns(
        ("device_id", "d.id", "number of the device in this trace"),
        ("process_id", "p.process_id", "process that uses the device"),
        ("platform_id", "d.platform_id", "platform of the device"),
        ("platform", "p.name", "name of the platform"),
        ("parent_device_id", "d.parent_device_id", "parent device of a sub-device"),
        ("name", "d.name", "name of the device"),
        ("vendor", "d.vendor", "vendor of the device"),
        ("version", "d.version", "OpenCL version"),
        ("driver_version", "d.driver_version", "version of the driver"),
        ("kind", "d.kind", "device type: CPU, GPU, ACCELERATOR, …"),
        ("compute_units", "d.compute_units", "number of compute units"),
        ("clock_mhz", "d.clock_mhz", "maximum clock frequency in MHz"),
        ("global_memory_bytes", "d.global_memory_bytes", "size of the global memory"),
        ("local_memory_bytes", "d.local_memory_bytes", "size of the local memory per work-group"),
        ("max_group_size", "d.max_group_size", "maximum work-group size"),
        (
            "timer_resolution_ns",
            "d.timer_resolution_ns",
            "resolution of the profiling timer, as the driver reports it",
        ),
        ("bus", "d.bus", "PCI address, if an extension reports it"),
        ("uuid", "d.uuid", "UUID, if an extension reports it"),
        ("extensions", "d.extensions", "supported extensions"),
    ),
)

V_CONTEXT: Final = View(
    "v_context",
    "Contexts, with a row per device in them.",
    "context c LEFT JOIN context_device d ON d.context_id = c.id",
    columns(
        ("context_id", "c.id", "number of the context in this trace"),
        ("process_id", "c.process_id", "process of the context"),
        ("device_id", "d.device_id", "a device in the context"),
    ),
)

V_QUEUE: Final = View(
    "v_queue",
    "Command queues.",
    "queue q LEFT JOIN context c ON c.id = q.context_id",
    columns(
        ("queue_id", "q.id", "number of the queue in this trace"),
        ("process_id", "c.process_id", "process of the queue"),
        ("context_id", "q.context_id", "context of the queue"),
        ("device_id", "q.device_id", "device of the queue"),
        ("properties", "q.properties", "queue properties that the program requested, as bits"),
        ("out_of_order", "q.properties & 1", "1 for an out-of-order queue"),
        (
            "profiling",
            "q.profiling",
            "1 if profiling is enabled, so that commands get device stamps",
        ),
        (
            "profiling_forced",
            "q.profiling_forced",
            "1 if cltrace enabled profiling, not the program",
        ),
        (
            "known_host_ns",
            "q.known_host_ns",
            "time of creation, or of first use if cltrace did not observe the creation",
        ),
    ),
)

V_PROGRAM: Final = View(
    "v_program",
    "Program objects.",
    "program p LEFT JOIN context c ON c.id = p.context_id "
    "LEFT JOIN string t ON t.id = p.source_string_id",
    columns(
        ("program_id", "p.id", "number of the program in this trace"),
        ("process_id", "c.process_id", "process of the program"),
        ("context_id", "p.context_id", "context of the program"),
        (
            "origin",
            "p.origin",
            "form it was created from: source, binary, il, linked, built-in or unknown",
        ),
        ("source", "t.text", "source code, if there is any and --no-source was not given"),
        (
            "binary_bytes",
            "p.binary_bytes",
            "size of the binary or IL that it was created from",
        ),
        (
            "created_host_ns",
            "p.created_host_ns",
            "time of creation; NULL if cltrace did not observe it",
        ),
    ),
)

V_PROGRAM_PARENT: Final = View(
    "v_program_parent",
    "Programs that linked programs consist of.",
    "program_parent",
    columns(
        ("program_id", "the linked program"),
        ("parent_program_id", "a program that was linked into it"),
    ),
)

V_INCLUDE: Final = View(
    "v_include",
    "Files and header programs that a program's source includes, with their contents at the build.",
    "include i LEFT JOIN string t ON t.id = i.string_id",
    columns(
        ("program_id", "i.program_id", "the program"),
        ("name", "i.name", "name in the source's include directive"),
        ("text", "t.text", "contents of the file"),
    ),
)

V_BUILD: Final = View(
    "v_build",
    "Builds, compilations and links of programs, with a row per device.",
    "build b LEFT JOIN api a ON a.id = b.api LEFT JOIN string t ON t.id = b.log_string_id",
    columns(
        ("build_id", "b.id", "number of the build in this trace"),
        ("program_id", "b.program_id", "the program"),
        ("device_id", "b.device_id", "the device"),
        ("api", "a.name", "name of the OpenCL entry point"),
        ("options", "b.options", "build options; empty with --no-source"),
        ("status", "b.status", "0, or the OpenCL error of the build"),
        ("log", "t.text", "build log, if there is one"),
        ("enter_host_ns", "b.enter_host_ns", "entry of the call"),
        ("duration_ns", "b.return_host_ns - b.enter_host_ns", "duration of the call"),
    ),
)

V_KERNEL: Final = View(
    "v_kernel",
    "Kernel functions.",
    "kernel",
    columns(
        ("kernel_id", "id", "number of the kernel in this trace"),
        ("program_id", "program of the kernel"),
        ("name", "name of the kernel"),
        ("argument_count", "number of arguments"),
    ),
)

V_WORK_GROUP_INFO: Final = View(
    "v_work_group_info",
    "Work-group properties of a kernel on a device, as the driver reports them; "
    "NULL if it does not.",
    "work_group_info",
    columns(
        ("kernel_id", "the kernel"),
        ("device_id", "the device"),
        ("max_group_size", "maximum work-group size for this kernel"),
        ("preferred_multiple", "number of which the work-group size should be a multiple"),
        ("local_memory_bytes", "local memory that the kernel uses"),
        ("private_memory_bytes", "private memory that a work-item uses"),
    ),
)

V_BUFFER: Final = View(
    "v_buffer",
    "Memory objects.",
    "buffer b LEFT JOIN site s ON s.id = b.site_id",
    columns(
        ("buffer_id", "b.id", "number of the memory object in this trace"),
        ("process_id", "b.process_id", "process of the memory object"),
        ("context_id", "b.context_id", "context of the memory object"),
        ("kind", "b.kind", "buffer, sub-buffer, image, svm or pipe"),
        ("flags", "b.flags", "CL_MEM_* flags, as bits"),
        ("size_bytes", "b.size_bytes", "size of the memory object"),
        ("parent_buffer_id", "b.parent_buffer_id", "buffer that contains the sub-buffer"),
        ("origin_bytes", "b.origin_bytes", "offset of the sub-buffer in it"),
        ("width", "b.width", "width of an image in pixels"),
        ("height", "b.height", "height of an image in pixels"),
        ("depth", "b.depth", "depth of an image in pixels"),
        ("site", SITE_SQL, "site that created it, as file:line"),
        ("thread_id", "b.thread_id", "thread that created it"),
        (
            "known_host_ns",
            "b.known_host_ns",
            "time of creation, or of first use if cltrace did not observe the creation",
        ),
        ("created_here", "b.created_here", "0 if cltrace did not observe the creation"),
        (
            "released_after_host_ns",
            "b.released_after_host_ns",
            "lower bound of the time at which it was destroyed",
        ),
        ("released_before_host_ns", "b.released_before_host_ns", "upper bound of that time"),
        (
            "fate",
            "b.fate",
            "released; at-exit: destroyed during interpreter shutdown; leaked: never "
            "destroyed; alive: not destroyed when tracing ended; unknown: cltrace could not"
            " observe it",
        ),
    ),
)

V_CONTENT: Final = View(
    "v_content",
    "Captured contents of buffers and images: of small buffers, of indices, and of those that "
    "--capture-buffers and --inside capture.",
    "content c LEFT JOIN content_data d ON d.id = c.content_data_id",
    columns(
        ("buffer_id", "c.buffer_id", "the buffer"),
        (
            "launch_id",
            "c.launch_id",
            "launch configuration before whose first launch the contents were captured; NULL: those "
            "of the buffer from `written_host_ns` to its next row, unless a kernel wrote it",
        ),
        ("written_host_ns", "c.written_host_ns", "time of the host's last write to the buffer"),
        ("size_bytes", "d.size_bytes", "size of the contents; NULL: from then on not known"),
        ("sha256", "d.sha256", "SHA-256 digest of the contents"),
        (
            "deflated",
            "d.deflated",
            "contents, compressed with zlib; before an image's texels stand its channel order and "
            "type, width, height and depth, with 4 bytes each",
        ),
    ),
)

OBJECT_VIEWS: Final = (
    V_META,
    V_PROCESS,
    V_THREAD,
    V_SITE,
    V_STACK,
    V_PLATFORM,
    V_DEVICE,
    V_CONTEXT,
    V_QUEUE,
    V_PROGRAM,
    V_PROGRAM_PARENT,
    V_INCLUDE,
    V_BUILD,
    V_KERNEL,
    V_WORK_GROUP_INFO,
    V_BUFFER,
    V_CONTENT,
)
"""Views in the order of the documentation."""
