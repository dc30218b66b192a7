"""Views of what there is: processes, devices, programs, kernels, memory."""

from typing import Final

from cltrace.trace.views.model import SITE_SQL, View, columns

V_META: Final = View(
    "v_meta",
    "Facts about the whole trace.",
    "meta",
    columns(
        ("key", "what"),
        ("value", "its value, as text"),
    ),
)

V_PROCESS: Final = View(
    "v_process",
    "Traced processes: those that imported pyopencl.",
    "process",
    columns(
        ("process_id", "id", "number of the process in this trace"),
        ("host", "name of the machine"),
        ("pid", "process number there"),
        ("parent_pid", "process number of its parent"),
        ("rank", "rank in a parallel run, else NULL"),
        ("argv", "command line, a JSON array; its first word only with --no-args"),
        ("working_directory", "where it was started"),
        ("executable", "the Python interpreter"),
        ("python_version", "its version"),
        ("pyopencl_version", "pyopencl's version"),
        ("environment", "the recorded environment variables, a JSON object"),
        ("started_host_ns", "when tracing started in it"),
        ("ended_host_ns", "when it ended; NULL if it was killed or still runs"),
        ("ended_how", "exit, _exit, abort, exec, stop; killed, or running"),
        ("hook_calls", "calls that went through a hook"),
        ("hook_ns", "time spent in hooks, estimated from one launch in 64 and every other call"),
        ("reader_cpu_ns", "CPU time of the thread that reads stamps and writes"),
        ("event_waits", "times that tracing waited for a command to bound unread events"),
        ("event_wait_ns", "how long it waited"),
        ("unread_events_peak", "most events held at once"),
        ("commands_skipped", "commands enqueued while recording was paused"),
        ("memory_peak_bytes", "most device memory live at once; NULL where it is not known"),
        ("memory_peak_host_ns", "when that was"),
    ),
)

V_THREAD: Final = View(
    "v_thread",
    "Host threads that made calls.",
    "thread",
    columns(
        ("thread_id", "id", "number of the thread in this trace"),
        ("process_id", "its process"),
        ("native_id", "the operating system's number"),
        ("name", "Python's name for it; empty if Python did not start it"),
    ),
)

V_SITE: Final = View(
    "v_site",
    "Places in the program that made calls.",
    "site",
    columns(
        ("site_id", "id", "number of the place in this trace"),
        ("file", "file"),
        ("line", "line"),
        ("function", "function"),
        ("outer_site_id", "the place that called it, with --callsite-depth above 1"),
    ),
)

V_PLATFORM: Final = View(
    "v_platform",
    "OpenCL platforms, as each process saw them.",
    "platform",
    columns(
        ("platform_id", "id", "number of the platform in this trace"),
        ("process_id", "the process that saw it"),
        ("name", "name"),
        ("vendor", "vendor"),
        ("version", "OpenCL version and what the platform adds to it"),
    ),
)

V_DEVICE: Final = View(
    "v_device",
    "OpenCL devices, as each process saw them.",
    "device d LEFT JOIN platform p ON p.id = d.platform_id",
    columns(
        ("device_id", "d.id", "number of the device in this trace"),
        ("process_id", "p.process_id", "the process that saw it"),
        ("platform_id", "d.platform_id", "its platform"),
        ("platform", "p.name", "its platform's name"),
        ("parent_device_id", "d.parent_device_id", "the device it is a part of, for a sub-device"),
        ("name", "d.name", "name"),
        ("vendor", "d.vendor", "vendor"),
        ("version", "d.version", "OpenCL version"),
        ("driver_version", "d.driver_version", "driver version"),
        ("kind", "d.kind", "CPU, GPU, ACCELERATOR, …"),
        ("compute_units", "d.compute_units", "compute units"),
        ("clock_mhz", "d.clock_mhz", "highest clock"),
        ("global_memory_bytes", "d.global_memory_bytes", "global memory"),
        ("local_memory_bytes", "d.local_memory_bytes", "local memory of a work-group"),
        ("max_group_size", "d.max_group_size", "largest work-group"),
        ("timer_resolution_ns", "d.timer_resolution_ns", "resolution that the driver claims"),
        ("bus", "d.bus", "PCI address, where an extension gives it"),
        ("uuid", "d.uuid", "UUID, where an extension gives it"),
        ("extensions", "d.extensions", "extensions"),
    ),
)

V_CONTEXT: Final = View(
    "v_context",
    "Contexts, a row for each device in them.",
    "context c LEFT JOIN context_device d ON d.context_id = c.id",
    columns(
        ("context_id", "c.id", "number of the context in this trace"),
        ("process_id", "c.process_id", "its process"),
        ("device_id", "d.device_id", "a device in it"),
    ),
)

V_QUEUE: Final = View(
    "v_queue",
    "Command queues.",
    "queue q LEFT JOIN context c ON c.id = q.context_id",
    columns(
        ("queue_id", "q.id", "number of the queue in this trace"),
        ("process_id", "c.process_id", "its process"),
        ("context_id", "q.context_id", "its context"),
        ("device_id", "q.device_id", "its device"),
        ("properties", "q.properties", "properties that the program asked for, as bits"),
        ("out_of_order", "q.properties & 1", "1 for an out-of-order queue"),
        ("profiling", "q.profiling", "1 when the device stamps its commands"),
        ("profiling_forced", "q.profiling_forced", "1 when cltrace added that"),
        ("known_host_ns", "q.known_host_ns", "when it was made, or first seen"),
    ),
)

V_PROGRAM: Final = View(
    "v_program",
    "Program objects.",
    "program p LEFT JOIN context c ON c.id = p.context_id "
    "LEFT JOIN string t ON t.id = p.source_string_id",
    columns(
        ("program_id", "p.id", "number of the program in this trace"),
        ("process_id", "c.process_id", "its process"),
        ("context_id", "p.context_id", "its context"),
        ("origin", "p.origin", "source, binary, il, linked, built-in or unknown"),
        ("source", "t.text", "source, where there is one and --no-source was not given"),
        ("binary_bytes", "p.binary_bytes", "size of what it was made from, if not a source"),
        ("created_host_ns", "p.created_host_ns", "when; NULL if it was made out of sight"),
    ),
)

V_PROGRAM_PARENT: Final = View(
    "v_program_parent",
    "Which programs a linked program was linked from.",
    "program_parent",
    columns(
        ("program_id", "the linked program"),
        ("parent_program_id", "one of those that went into it"),
    ),
)

V_INCLUDE: Final = View(
    "v_include",
    "Files, and programs given as headers, that a source includes, with their contents at the build.",
    "include i LEFT JOIN string t ON t.id = i.string_id",
    columns(
        ("program_id", "i.program_id", "the program"),
        ("name", "i.name", "name, as the source writes it"),
        ("text", "t.text", "contents"),
    ),
)

V_BUILD: Final = View(
    "v_build",
    "Builds, compiles and links: a row for each device.",
    "build b LEFT JOIN api a ON a.id = b.api LEFT JOIN string t ON t.id = b.log_string_id",
    columns(
        ("build_id", "b.id", "number of the build in this trace"),
        ("program_id", "b.program_id", "the program"),
        ("device_id", "b.device_id", "the device"),
        ("api", "a.name", "entry point"),
        ("options", "b.options", "build options; empty with --no-source"),
        ("status", "b.status", "0, or the OpenCL error"),
        ("log", "t.text", "build log, where there is one"),
        ("enter_host_ns", "b.enter_host_ns", "when the call was entered"),
        ("duration_ns", "b.return_host_ns - b.enter_host_ns", "how long it took"),
    ),
)

V_KERNEL: Final = View(
    "v_kernel",
    "Kernel functions.",
    "kernel",
    columns(
        ("kernel_id", "id", "number of the kernel in this trace"),
        ("program_id", "its program"),
        ("name", "name"),
        ("argument_count", "number of arguments"),
    ),
)

V_WORK_GROUP_INFO: Final = View(
    "v_work_group_info",
    "What the driver says of a kernel on a device; NULL where it does not say.",
    "work_group_info",
    columns(
        ("kernel_id", "the kernel"),
        ("device_id", "the device"),
        ("max_group_size", "largest work-group for it"),
        ("preferred_multiple", "the work-group size should be a multiple of this"),
        ("local_memory_bytes", "local memory it uses"),
        ("private_memory_bytes", "private memory a work-item uses"),
    ),
)

V_BUFFER: Final = View(
    "v_buffer",
    "Memory objects.",
    "buffer b LEFT JOIN site s ON s.id = b.site_id",
    columns(
        ("buffer_id", "b.id", "number of the memory object in this trace"),
        ("process_id", "b.process_id", "its process"),
        ("context_id", "b.context_id", "its context"),
        ("kind", "b.kind", "buffer, sub-buffer, image, svm or pipe"),
        ("flags", "b.flags", "CL_MEM_* bits"),
        ("size_bytes", "b.size_bytes", "size"),
        ("parent_buffer_id", "b.parent_buffer_id", "what a sub-buffer is a part of"),
        ("origin_bytes", "b.origin_bytes", "where in it"),
        ("width", "b.width", "pixels across, for an image"),
        ("height", "b.height", "pixels down"),
        ("depth", "b.depth", "pixels deep"),
        ("site", SITE_SQL, "where it was made, as file:line"),
        ("thread_id", "b.thread_id", "the thread that made it"),
        ("known_host_ns", "b.known_host_ns", "when it was made, or first seen"),
        ("created_here", "b.created_here", "0 when it was made out of sight"),
        ("released_after_host_ns", "b.released_after_host_ns", "it was destroyed after this"),
        ("released_before_host_ns", "b.released_before_host_ns", "and before this"),
        (
            "fate",
            "b.fate",
            "released; at-exit: destroyed while the interpreter shut down; leaked: never "
            "destroyed; alive: not destroyed when tracing ended; unknown: it could not be seen",
        ),
    ),
)

V_CONTENT: Final = View(
    "v_content",
    "Captured buffers (--capture-buffers).",
    "content c LEFT JOIN content_data d ON d.id = c.content_data_id",
    columns(
        ("buffer_id", "c.buffer_id", "the buffer"),
        ("launch_id", "c.launch_id", "the configuration before whose first launch it was kept"),
        ("written_host_ns", "c.written_host_ns", "when the host last wrote it"),
        ("size_bytes", "d.size_bytes", "size"),
        ("sha256", "d.sha256", "digest of the contents"),
        ("deflated", "d.deflated", "contents, as zlib compresses them"),
    ),
)

OBJECT_VIEWS: Final = (
    V_META,
    V_PROCESS,
    V_THREAD,
    V_SITE,
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
"""In the order in which the documentation lists them."""
