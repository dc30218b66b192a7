"""Enqueuing calls in which the driver waited for commands that the new command depends on."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import NONE, Dependencies
from cltrace.trace.commands import FIRST_LAUNCH

MIN_BLOCKED_NS: Final = 100_000
"""An enqueuing call that does nothing but enqueue takes less."""


@dataclass(frozen=True, slots=True)
class BlockedEnqueues:
    """Commands whose calls waited, and the awaited command of each that ended last. Shape (n,)."""

    command: Int64s
    awaited: Int64s


def find_blocked_enqueues(activity: Activity, dependencies: Dependencies) -> BlockedEnqueues:
    """Return the commands that were queued late in a long call, after one that they depend on had ended.

    NVIDIA's driver moves memory that another device used last in the call, before it queues the command,
    and waits for that device first.
    """
    commands = activity.commands
    follows = dependencies.queue_predecessor
    later = np.concatenate([np.flatnonzero(follows >= 0), dependencies.edges[:, 0]])
    earlier = np.concatenate([follows[follows >= 0], dependencies.edges[:, 1]])
    is_long = commands.queued_ns - commands.enter_ns >= MIN_BLOCKED_NS
    is_long &= commands.is_placed & (commands.flags & FIRST_LAUNCH == 0)
    ended_ns = commands.end_ns[earlier]
    chosen = is_long[later] & (ended_ns > commands.enter_ns[later])
    chosen &= ended_ns <= commands.queued_ns[later]
    later, earlier, ended_ns = later[chosen], earlier[chosen], ended_ns[chosen]
    order = np.argsort(ended_ns, kind="stable")
    awaited = np.full(len(commands), NONE)
    # Of several assignments to one place the last one remains: the command that ended last.
    awaited[later[order]] = earlier[order]
    blocked = np.flatnonzero(awaited >= 0)
    return BlockedEnqueues(blocked, awaited[blocked])
