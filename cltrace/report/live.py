"""Lines of `cltrace run --live`."""

from cltrace.report.quantities import count_text, time_text
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.live_activity import ActivitySnapshot


def live_lines(
    snapshot: ActivitySnapshot, elapsed_s: float, width: int, line_count: int
) -> list[str]:
    """Return the activity of the last `elapsed_s` in `line_count` lines of at most `width` characters."""
    busy = ", ".join(
        f"{escape_controls(name)} busy {min(ns / (elapsed_s * 1e9), 1.0):.0%}"
        for name, ns in sorted(snapshot.busy_ns.items())
    )
    head = f"cltrace: {count_text(snapshot.total_calls, 'call', 'calls')}"
    if snapshot.processes > 1:
        head += f", {snapshot.processes} processes"
    lines = [f"{head}; {busy or 'no device at work'}"]
    name_width = min(max((len(kernel.name) for kernel in snapshot.kernels), default=0), width // 2)
    for kernel in snapshot.kernels[: line_count - 1]:
        duration = f", {time_text(kernel.median_ns)} each" if kernel.median_ns is not None else ""
        rate = f"{kernel.launches / elapsed_s:,.0f}/s"
        lines.append(
            f"  {escape_controls(kernel.name)[:name_width]:<{name_width}} {rate:>10}{duration}"
        )
    lines += [""] * (line_count - len(lines))
    return [line[: width - 1] for line in lines]
