"""Time of host calls and of commands by the stack of the call."""

from dataclasses import dataclass

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Bools, Int64s
from cltrace.trace.commands import ABSENT


@dataclass(frozen=True, slots=True)
class StackTime:
    """Sums over the calls of one entry point, or the commands of one name, from one stack.

    `site` is the number of the stack's site, 0 for calls without one. `name` is that of the entry point;
    of a command it is its kernel, or its kind.
    """

    site: int
    name: str
    count: int
    total_ns: int


def sum_host_calls(activity: Activity, commands: Bools, calls: Bools) -> list[StackTime]:
    """Return the durations of the host calls that made the masked commands, and of the masked others."""
    made, others = activity.commands, activity.calls
    site, api, duration_ns = (
        np.concatenate([of_commands[commands], of_calls[calls]])
        for of_commands, of_calls in (
            (made.site, others.site),
            (made.api, others.api),
            (made.return_ns - made.enter_ns, others.return_ns - others.enter_ns),
        )
    )
    names = {api.value: api.name for api in Api}
    return [
        StackTime(site, names.get(api, f"entry point {api}"), count, total_ns)
        for site, api, count, total_ns in _sum(site, api, np.maximum(duration_ns, 0))
    ]


def sum_commands(activity: Activity, commands: Bools) -> list[StackTime]:
    """Return the durations of the masked commands that have one: on the device, if it has stamps."""
    chosen, kernels = activity.commands, activity.names.kernels
    timed = np.flatnonzero(commands & (chosen.duration_ns != ABSENT))
    # Kernels are numbered beyond the kinds of commands; kernel 0 is none.
    subject = np.where(chosen.kernel > 0, len(KINDS) + chosen.kernel, chosen.kind)[timed]
    names = [*KINDS, "", *kernels[1:]]
    return [
        StackTime(site, names[subject] if subject >= 0 else "command", count, total_ns)
        for site, subject, count, total_ns in _sum(
            chosen.site[timed], subject, chosen.duration_ns[timed]
        )
    ]


def _sum(site: Int64s, subject: Int64s, duration_ns: Int64s) -> list[tuple[int, int, int, int]]:
    """Return site, subject, count and sum of each group, ordered by site and subject."""
    site = np.maximum(site, 0)
    order = np.lexsort((subject, site))
    site, subject, duration_ns = site[order], subject[order], duration_ns[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (site[1:] != site[:-1]) | (subject[1:] != subject[:-1])
    first = np.flatnonzero(is_first)
    count = np.diff(np.append(first, len(order)))
    total = np.add.reduceat(duration_ns, first) if len(first) else np.zeros(0, np.int64)
    columns = (site[first], subject[first], count, total)
    return list(zip(*(column.tolist() for column in columns), strict=True))
