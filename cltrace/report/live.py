"""The lines of `cltrace run --live`."""

from cltrace.report.quantities import counted, time_text
from cltrace.report.untrusted_text import plain
from cltrace.timeline.live_activity import Glance


def live_lines(glance: Glance, elapsed_s: float, columns: int, count: int) -> list[str]:
    """What went on in the last `elapsed_s`, in `count` lines of at most `columns` characters."""
    busy = ", ".join(
        f"{plain(name)} busy {min(ns / (elapsed_s * 1e9), 1.0):.0%}"
        for name, ns in sorted(glance.busy_ns.items())
    )
    head = f"cltrace: {counted(glance.calls_in_all, 'call', 'calls')}"
    if glance.processes > 1:
        head += f", {glance.processes} processes"
    lines = [f"{head}; {busy or 'no device at work'}"]
    width = min(max((len(one.name) for one in glance.kernels), default=0), columns // 2)
    for one in glance.kernels[: count - 1]:
        took = f", {time_text(one.median_ns)} each" if one.median_ns is not None else ""
        rate = f"{one.launches / elapsed_s:,.0f}/s"
        lines.append(f"  {plain(one.name)[:width]:<{width}} {rate:>10}{took}")
    lines += [""] * (count - len(lines))
    return [line[: columns - 1] for line in lines]
