"""Recording of a captured launch once more on its device, for `cltrace run --inside`."""

from pathlib import Path

from cltrace.commands.shared.messages import Speaker, error_stream
from cltrace.commands.shared.recording_flags import RecordingOptions


def record_captured(path: Path, options: RecordingOptions, speaker: Speaker) -> None:
    """Record what the work-items of the launch that a trace has captured do, on its device.

    Raises: `CltraceError`, `OSError`.
    """
    from cltrace.runs import inside_launch  # noqa: PLC0415 - rarely used
    from cltrace.trace.reader import Trace  # noqa: PLC0415 - loaded while the command ran

    wanted = _launch_text(options)
    with Trace(path) as trace:
        launch = inside_launch.find_captured(trace)
        reason = inside_launch.why_not_captured(trace, wanted)
    if launch is None:
        speaker.error(f"--inside: {reason}")
        return
    failure = inside_launch.record_inside(
        path, launch, error_stream() if options.shows_summary else None
    )
    if failure:
        speaker.error(f"--inside: {wanted} was not recorded: {failure}; the trace has its buffers")
    elif not options.shows_summary:
        speaker.say(f"wrote {path.with_suffix('.events')}")


def say_no_trace(path: Path, options: RecordingOptions, speaker: Speaker) -> None:
    """Say that a launch was not recorded for want of a trace, and how to record it from one."""
    words = f"cltrace kernel {path} --kernel '{options.settings.inside_kernel}' --events FILE"
    speaker.error(
        f"--inside: {_launch_text(options)} was not recorded, as the trace was not written; from a "
        f"finished one `{words} --device NAME` records it"
    )


def _launch_text(options: RecordingOptions) -> str:
    return f"launch {options.settings.inside_launch} of {options.settings.inside_kernel}"
