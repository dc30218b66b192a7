"""Activities made up by hand, for tests of what is derived from them. Times in whatever unit is handy."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.activity import KINDS, Activity, Calls, Commands, Names
from cltrace.timeline.columns import NEVER, Int64s
from cltrace.timeline.completions import observe_completions
from cltrace.timeline.hosts import Axis
from cltrace.trace.commands import ABSENT

APIS = {
    "kernel": Api.clEnqueueNDRangeKernel,
    "read": Api.clEnqueueReadBuffer,
    "write": Api.clEnqueueWriteBuffer,
    "barrier": Api.clEnqueueBarrierWithWaitList,
}


@dataclass(frozen=True, slots=True)
class Run:
    """A command: when it was enqueued, and from when to when it ran; `None` for one without stamps."""

    enter: int
    start: int | None
    end: int | None
    kind: str = "kernel"
    queue: int = 1
    device: int = 1
    thread: int = 1
    kernel: int = 1
    waits_for: tuple[int, ...] = ()
    blocking_until: int | None = None
    launch: int = 1
    size: int = 0
    buffer: int = 0
    offset: int = 0
    site: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A host call: `clFinish` of a queue, `clWaitForEvents` of commands by their positions, or `api`."""

    enter: int
    returned: int
    queue: int = 0
    waits_for: tuple[int, ...] = ()
    thread: int = 1
    site: int = 2
    api: Api | None = None


def activity(
    runs: Sequence[Run], calls: Sequence[Call] = (), *, out_of_order: Sequence[int] = ()
) -> Activity:
    """The activity of some commands and calls."""
    edges = [(at, one) for at, run in enumerate(runs) for one in run.waits_for]
    waits = [(at, one) for at, call in enumerate(calls) for one in call.waits_for]
    pairs = np.array(waits, np.int64).reshape(-1, 2)
    columns, others = _commands(runs), _calls(calls)
    queues = {run.queue for run in runs} | {call.queue for call in calls}
    in_order = frozenset(queues - set(out_of_order))
    columns["observed_complete_ns"] = _observed_complete_ns(columns, others, pairs, in_order)
    return Activity(
        commands=Commands(**columns),
        calls=others,
        edges=np.array(edges, np.int64).reshape(-1, 2),
        waits=pairs,
        in_order=in_order,
        names=Names(
            ("", "k", "other"),
            {1: "app.py:1", 2: "app.py:2"},
            {one: f"queue {one}" for one in queues},
            {1: "device 1", 2: "device 2"},
            {1: "MainThread", 2: "Thread-1"},
            {1: "process 1"},
        ),
        axis=Axis({1: 0}, 1),
        clocks={},
    )


def _commands(runs: Sequence[Run]) -> dict[str, Int64s]:
    absent = int(ABSENT)

    def known(value: int | None) -> int:
        return absent if value is None else value

    rows = [
        {
            "id": at + 1,
            "process": 1,
            "thread": run.thread,
            "queue": run.queue,
            "device": run.device,
            "api": int(APIS[run.kind]),
            "kind": KINDS.index(run.kind),
            "kernel": run.kernel if run.kind == "kernel" else 0,
            "launch": run.launch,
            "site": run.site,
            "enter_ns": run.enter,
            "return_ns": run.enter + 1 if run.blocking_until is None else run.blocking_until,
            "queued_ns": absent if run.start is None else run.enter,
            "submit_ns": absent if run.start is None else run.enter,
            "start_ns": known(run.start),
            "end_ns": known(run.end),
            "bound_ns": absent if run.start is None else 0,
            "is_proven": 0 if run.start is None else 1,
            "duration_ns": absent if run.start is None or run.end is None else run.end - run.start,
            "observed_complete_ns": int(NEVER),
            "size_bytes": run.size,
            "source_buffer": run.buffer if run.kind == "read" else absent,
            "target_buffer": run.buffer if run.kind == "write" else absent,
            "source_offset_bytes": run.offset,
            "target_offset_bytes": run.offset,
            "flags": 0 if run.blocking_until is None else int(CallFlag.BLOCKING),
        }
        for at, run in enumerate(runs)
    ]
    names = [one.name for one in fields(Commands)]
    return {name: np.array([row[name] for row in rows], np.int64) for name in names}


def _observed_complete_ns(
    commands: dict[str, Int64s], calls: Calls, waits: Int64s, in_order: frozenset[int]
) -> Int64s:
    """When the host knew of the commands' ends, as a trace that is read says it."""
    host = {
        "enter_host_ns": commands["enter_ns"],
        "return_host_ns": commands["return_ns"],
        "complete_host_ns": np.full(len(commands["id"]), ABSENT),
        "queue_id": commands["queue"],
    }
    others = {
        "api": calls.api,
        "status": calls.status,
        "queue_id": calls.queue,
        "enter_host_ns": calls.enter_ns,
        "return_host_ns": calls.return_ns,
    }
    keeps_order = np.isin(commands["queue"], list(in_order))
    return observe_completions({**commands, **host}, others, waits, keeps_order)


def _calls(calls: Sequence[Call]) -> Calls:
    rows = [
        {
            "id": at + 1,
            "process": 1,
            "thread": call.thread,
            "queue": call.queue,
            "api": int(call.api or (Api.clWaitForEvents if call.waits_for else Api.clFinish)),
            "site": call.site,
            "enter_ns": call.enter,
            "return_ns": call.returned,
            "status": 0,
            "size_bytes": int(ABSENT),
        }
        for at, call in enumerate(calls)
    ]
    names = [one.name for one in fields(Calls)]
    return Calls(**{name: np.array([row[name] for row in rows], np.int64) for name in names})
