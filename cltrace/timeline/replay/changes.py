"""Changes of a run that a replay applies, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cltrace.timeline.columns import Float64s, Int64s


def _none() -> Int64s:
    return np.empty(0, np.int64)


def _no_pairs() -> Int64s:
    return np.empty((0, 2), np.int64)


def _no_scales() -> Float64s:
    return np.empty(0, np.float64)


@dataclass(frozen=True, slots=True)
class MovedWaits:
    """Waits that move to later calls. Shape (n,) each.

    `command` is the awaited command. `until_call` is the position of the call of the same thread, among
    the calls that made no command, or `until_command` the position of the command whose call, before
    which the thread waits instead; -1 where it is the other one. With both -1 nothing waits before the
    end.
    """

    command: Int64s
    until_command: Int64s
    until_call: Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Change of a run. Commands and calls are positions in the activity; shape (n,) each.

    `scaled` commands take `scales` times as long. `removed` commands take no time on their device, and
    neither do the calls that enqueued them; waits for them remain waits for what precedes them.
    `merged` commands keep their durations, follow the command before them at once, and their calls take
    no time, as if one launch did the work of several. `prompt` commands start with the usual latency,
    as after the compilation of a kernel. `direct` transfers use memory that the device reaches: writes
    start with the usual latency, and waits for reads end with it. `quick` commands are enqueued in no
    time. `unblocked` are commands whose calls do not wait any more, and `removed_calls` calls that take
    no time and wait for nothing. `unawaited` commands are those whose dropped events are kept, so that
    the host does not wait for them. Before the calls of `saved_commands` the thread works `saved_ns`
    less, at most as long as it worked since the call before; before `saved_calls`, `saved_calls_ns` less.
    `shortened_calls`, which made no command, take `shortened_ns` less themselves.
    `overlapped` are commands of in-order queues whose transfers and kernels run beside each other, with
    two buffers each. `freed` commands follow those of their wait lists and of `followed`, pairs of a
    command and one before it (shape (m, 2)), instead of their queue's order and of busy devices. `moved`
    are waits that take place later.
    """

    scaled: Int64s = field(default_factory=_none)
    scales: Float64s = field(default_factory=_no_scales)
    removed: Int64s = field(default_factory=_none)
    merged: Int64s = field(default_factory=_none)
    prompt: Int64s = field(default_factory=_none)
    direct: Int64s = field(default_factory=_none)
    quick: Int64s = field(default_factory=_none)
    unblocked: Int64s = field(default_factory=_none)
    unawaited: Int64s = field(default_factory=_none)
    removed_calls: Int64s = field(default_factory=_none)
    saved_commands: Int64s = field(default_factory=_none)
    saved_ns: Int64s = field(default_factory=_none)
    saved_calls: Int64s = field(default_factory=_none)
    saved_calls_ns: Int64s = field(default_factory=_none)
    shortened_calls: Int64s = field(default_factory=_none)
    shortened_ns: Int64s = field(default_factory=_none)
    overlapped: Int64s = field(default_factory=_none)
    freed: Int64s = field(default_factory=_none)
    followed: Int64s = field(default_factory=_no_pairs)
    moved: tuple[MovedWaits, ...] = ()


NO_CHANGE: Final = Change()


def combine(changes: Sequence[Change]) -> Change:
    """Return the change that makes all of several changes at once.

    Scales of the same command multiply. Of several savings before or in the same call the largest counts.
    """

    def joined(name: str) -> Int64s:
        columns: list[Int64s] = [getattr(change, name) for change in changes]
        return np.concatenate([_none(), *columns])

    return Change(
        scaled=joined("scaled"),
        scales=np.concatenate([_no_scales(), *(change.scales for change in changes)]),
        removed=np.unique(joined("removed")),
        merged=np.unique(joined("merged")),
        prompt=np.unique(joined("prompt")),
        direct=np.unique(joined("direct")),
        quick=np.unique(joined("quick")),
        unblocked=np.unique(joined("unblocked")),
        unawaited=np.unique(joined("unawaited")),
        removed_calls=np.unique(joined("removed_calls")),
        saved_commands=joined("saved_commands"),
        saved_ns=joined("saved_ns"),
        saved_calls=joined("saved_calls"),
        saved_calls_ns=joined("saved_calls_ns"),
        shortened_calls=joined("shortened_calls"),
        shortened_ns=joined("shortened_ns"),
        overlapped=np.unique(joined("overlapped")),
        freed=np.unique(joined("freed")),
        followed=np.concatenate([_no_pairs(), *(change.followed for change in changes)]),
        moved=tuple(part for change in changes for part in change.moved),
    )
