"""Export to Chrome's JSON, for chrome://tracing and everything that reads its format.

Times are microseconds with three decimals, so nanoseconds survive. Every row of a host thread or of a
queue is a thread. Arrows lead from a call to its command.
"""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cltrace.report.tracks.launches import LaunchShapes, read_annotated_shapes
from cltrace.report.tracks.power_levels import power_levels
from cltrace.report.tracks.slices import (
    DeviceSlices,
    HostSlices,
    api_name,
    command_name,
    device_slices,
    host_slices,
    memory_levels,
    viewer_pids,
)
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.timeline.reading import read_activity
from cltrace.trace.commands import ABSENT
from cltrace.trace.reader import Trace

_DEVICE_PID: Final = 1_000_000_000
"""Devices are shown as processes; these numbers are above the pids of any operating system."""
_MAX_ROWS: Final = 1000


def write(trace: Trace, target: Path) -> None:
    """Write a trace to `target`, compressed if its name ends with `.gz`."""
    open_file = gzip.open if target.suffix == ".gz" else io.open
    with open_file(target, "wt", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for number, event in enumerate(_events(trace)):
            file.write(event if not number else f",\n{event}")
        file.write("\n]}\n")


def _events(trace: Trace) -> Iterator[str]:
    activity = read_activity(trace)
    launches = read_annotated_shapes(trace)
    host, device = host_slices(activity), device_slices(activity)
    pids = viewer_pids(trace)
    yield from map(json.dumps, _names(trace, activity, host, device, pids))
    yield from _host_events(activity, host, pids)
    yield from _device_events(activity, device, launches)
    yield from _flows(activity, host, device, pids)
    for level in memory_levels(trace, activity):
        pid = pids.get(level.process, level.process)
        for time_ns, size in zip(level.time_ns.tolist(), level.live_bytes.tolist(), strict=True):
            yield (
                f'{{"ph":"C","name":"device memory","pid":{pid},"ts":{_us(time_ns)},'
                f'"args":{{"bytes":{size}}}}}'
            )
    first = min(pids.values(), default=0)
    for power in power_levels(trace, activity):
        name = json.dumps(escape_controls(power.label))
        for time_ns, milliwatts in zip(
            power.time_ns.tolist(), power.power_mw.tolist(), strict=True
        ):
            yield (
                f'{{"ph":"C","name":{name},"pid":{first},"ts":{_us(time_ns)},'
                f'"args":{{"W":{milliwatts / 1000}}}}}'
            )


def _names(
    trace: Trace,
    activity: Activity,
    host: HostSlices,
    device: DeviceSlices,
    pids: dict[int, int],
) -> Iterator[dict[str, Any]]:
    """Yield the names of processes, threads, devices and rows of queues."""
    names = activity.names

    def metadata(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
        return {
            "ph": "M",
            "name": kind,
            "pid": pid,
            "tid": tid,
            "args": {"name": escape_controls(name)},
        }

    for process, pid in pids.items():
        yield metadata("process_name", pid, 0, names.processes.get(process, f"process {pid}"))
    thread_rows = set(
        zip(host.process.tolist(), host.thread.tolist(), host.row.tolist(), strict=True)
    )
    for process, thread, row in sorted(thread_rows):
        name = names.threads.get(thread, "thread") + (f" ({row + 1})" if row else "")
        yield metadata("thread_name", pids.get(process, process), thread * _MAX_ROWS + row, name)
    device_of = {
        int(queue): int(number or 0)
        for queue, number in trace.rows("SELECT queue_id, device_id FROM v_queue")
    }
    for number in sorted(set(device_of.values())):
        name = names.devices.get(number, f"device {number}")
        yield metadata("process_name", _DEVICE_PID + number, 0, name)
    for queue, row in sorted(set(zip(device.queue.tolist(), device.row.tolist(), strict=True))):
        name = f"queue {queue}" + (f", row {row + 1}" if row else "")
        pid = _DEVICE_PID + device_of.get(queue, 0)
        yield metadata("thread_name", pid, queue * _MAX_ROWS + row, name)


def _host_events(activity: Activity, host: HostSlices, pids: dict[int, int]) -> Iterator[str]:
    sites = {site: json.dumps(escape_controls(name)) for site, name in activity.names.sites.items()}
    names: dict[int, str] = {}
    for process, thread, row, begin, end, api, command, site, status, size in zip(
        *(
            getattr(host, name).tolist()
            for name in (
                *("process", "thread", "row", "begin_ns", "end_ns", "api", "command", "site"),
                *("status", "size_bytes"),
            )
        ),
        strict=True,
    ):
        args = [f'"site":{sites[site]}'] if site in sites else []
        if size >= 0:
            args.append(f'"size_bytes":{size}')
        if status:
            args.append(f'"status":{status}')
        if command >= 0:
            args.append(f'"command":{int(activity.commands.id[command])}')
        name = names.setdefault(api, json.dumps(api_name(api)))
        yield (
            f'{{"ph":"X","cat":"host","name":{name},"pid":{pids.get(process, process)},'
            f'"tid":{thread * _MAX_ROWS + row},"ts":{_us(begin)},"dur":{_us(end - begin)},'
            f'"args":{{{",".join(args)}}}}}'
        )


def _device_events(
    activity: Activity, device: DeviceSlices, launches: LaunchShapes
) -> Iterator[str]:
    commands = activity.commands
    sites = {site: json.dumps(escape_controls(name)) for site, name in activity.names.sites.items()}
    shape_args = {launch: json.dumps(shape.as_args())[1:-1] for launch, shape in launches.items()}
    names: dict[tuple[int, int], str] = {}
    for command, queue, row, begin, end in zip(
        *(
            getattr(device, name).tolist()
            for name in ("command", "queue", "row", "begin_ns", "end_ns")
        ),
        strict=True,
    ):
        key = (int(commands.kind[command]), int(commands.kernel[command]))
        if key not in names:
            names[key] = json.dumps(escape_controls(command_name(activity, command)))
        args = [f'"command":{int(commands.id[command])}']
        if int(commands.site[command]) in sites:
            args.append(f'"site":{sites[int(commands.site[command])]}')
        if commands.size_bytes[command] != ABSENT:
            args.append(f'"size_bytes":{int(commands.size_bytes[command])}')
        if int(commands.launch[command]) in shape_args:
            args.append(shape_args[int(commands.launch[command])])
        pid = _DEVICE_PID + max(int(commands.device[command]), 0)
        yield (
            f'{{"ph":"X","cat":"device","name":{names[key]},"pid":{pid},'
            f'"tid":{queue * _MAX_ROWS + row},"ts":{_us(begin)},"dur":{_us(end - begin)},'
            f'"args":{{{",".join(args)}}}}}'
        )


def _flows(
    activity: Activity, host: HostSlices, device: DeviceSlices, pids: dict[int, int]
) -> Iterator[str]:
    """Yield arrows from each call to its command."""
    commands = activity.commands
    starts = {
        command: (queue * _MAX_ROWS + row, begin)
        for command, queue, row, begin in zip(
            device.command.tolist(),
            device.queue.tolist(),
            device.row.tolist(),
            device.begin_ns.tolist(),
            strict=True,
        )
    }
    for process, thread, row, begin, command in zip(
        host.process.tolist(),
        host.thread.tolist(),
        host.row.tolist(),
        host.begin_ns.tolist(),
        host.command.tolist(),
        strict=True,
    ):
        if command not in starts:
            continue
        track, start = starts[command]
        number = int(commands.id[command])
        pid = _DEVICE_PID + max(int(commands.device[command]), 0)
        common = f'"cat":"enqueue","name":"enqueue","id":{number}'
        yield (
            f'{{"ph":"s",{common},"pid":{pids.get(process, process)},'
            f'"tid":{thread * _MAX_ROWS + row},"ts":{_us(begin)}}}'
        )
        yield (f'{{"ph":"f","bp":"e",{common},"pid":{pid},"tid":{track},"ts":{_us(start)}}}')


def _us(ns: int) -> str:
    """Return nanoseconds as microseconds with three decimals, exactly."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03}"
