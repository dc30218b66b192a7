"""What drew power: commands in classes that are alike, and the time in which each was active."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import numpy as np

from cltrace.power.activity_shares import Busy
from cltrace.power.mean_power import Floats
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.clock_fit.points import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union

_S: Final = 1e-9
_MOST_CLASSES: Final = 48
"""So many classes are told apart; the shortest of the others are one, by what they do."""


TOGETHER: Final = " + "
"""Between the names of classes that are told of together."""


class LoadKind(StrEnum):
    """What a class of commands is."""

    KERNEL = "kernel"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class Load:
    """Commands of one class: a kernel with a global size on a device, or transfers of a direction.

    `size` is the global size, "" for transfers. `start_s`, `end_s` (n,) are on the trace's axis, and
    ascend. Commands without a place in time are not among them.
    """

    kind: LoadKind
    name: str
    size: str
    device: int
    start_s: Floats
    end_s: Floats

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def names(self) -> tuple[str, ...]:
        """The kernels that it stands for: several where sensors do not tell them apart."""
        return tuple(self.name.split(TOGETHER))

    @property
    def busy(self) -> Busy:
        """When it was active."""
        return Busy.of(self.start_s, self.end_s)

    @property
    def seconds(self) -> float:
        """How long it was, all commands added up."""
        return float((self.end_s - self.start_s).sum())


def loads(
    activity: Activity,
    sizes: Mapping[int, str],
    devices: Collection[int],
    one_of: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Load, ...]:
    """The classes of commands on some devices, the longest first. `sizes` are by launch.

    `one_of` leads from the numbers that a device has in several processes to one of them.
    """
    commands = activity.commands
    is_wanted = commands.is_placed & np.isin(commands.device, list(devices))
    chosen = np.flatnonzero(is_wanted & (commands.end_ns > commands.start_ns))
    found = sorted(_classes(activity, sizes, chosen, one_of), key=lambda one: -one.seconds)
    return (*found[:_MOST_CLASSES], *_as_others(found[_MOST_CLASSES:]))


def busy_union(chosen: Collection[Load]) -> tuple[Floats, Floats]:
    """When any of them was active: disjoint intervals that ascend. Shapes (n,)."""
    if not chosen:
        return np.zeros(0), np.zeros(0)
    start = np.concatenate([one.start_s for one in chosen])
    end = np.concatenate([one.end_s for one in chosen])
    whole = union(np.rint(start / _S).astype(np.int64), np.rint(end / _S).astype(np.int64))
    return whole.start_ns.astype(np.float64) * _S, whole.end_ns.astype(np.float64) * _S


def shared_seconds(chosen: Collection[Load]) -> list[float]:
    """For each, how much of the time is its own where those that are active at once share it evenly."""
    if not chosen:
        return []
    start = np.concatenate([one.start_s for one in chosen])
    end = np.concatenate([one.end_s for one in chosen])
    at = np.concatenate([start, end])
    order = np.argsort(at, kind="stable")
    active = np.cumsum(np.concatenate([np.ones(len(start)), -np.ones(len(end))])[order])
    at = at[order]
    share = np.where(active[:-1] > 0.5, 1.0 / np.maximum(active[:-1], 1.0), 0.0)
    until = np.concatenate([[0.0], np.cumsum(share * np.diff(at))])
    return [
        float((np.interp(one.end_s, at, until) - np.interp(one.start_s, at, until)).sum())
        for one in chosen
    ]


def _classes(
    activity: Activity, sizes: Mapping[int, str], chosen: Int64s, one_of: Mapping[int, int]
) -> Iterator[Load]:
    commands = activity.commands
    is_kernel = commands.are("kernel")[chosen]
    for part, kind in (
        (chosen[is_kernel], LoadKind.KERNEL),
        (chosen[~is_kernel], LoadKind.TRANSFER),
    ):
        labels, keys = _keys(activity, sizes, part, kind, one_of)
        for key, members in groups(keys):
            mine = part[members]
            order = np.argsort(commands.start_ns[mine], kind="stable")
            start = commands.start_ns[mine][order].astype(np.float64) * _S
            end = commands.end_ns[mine][order].astype(np.float64) * _S
            name, size, device = labels[key]
            yield Load(kind, name, size, device, start, end)


def _keys(
    activity: Activity,
    sizes: Mapping[int, str],
    chosen: Int64s,
    kind: LoadKind,
    one_of: Mapping[int, int],
) -> tuple[list[tuple[str, str, int]], Int64s]:
    """What classes there are among some commands, and the class of each."""
    commands = activity.commands
    is_kernel = kind is LoadKind.KERNEL
    first = (commands.kernel if is_kernel else commands.kind)[chosen]
    launch = np.maximum(commands.launch[chosen], 0)
    device = commands.device[chosen]
    shape = tuple(int(one.max(initial=0)) + 1 for one in (first, launch, device))
    codes, place = np.unique(
        np.ravel_multi_index((first, launch, device), shape), return_inverse=True
    )
    known: dict[tuple[str, str, int], int] = {}
    numbers = []
    for one, of_launch, of_device in zip(
        *(part.tolist() for part in np.unravel_index(codes, shape)), strict=True
    ):
        name = activity.names.kernels[one] if is_kernel else KINDS[one]
        label = (
            name,
            sizes.get(of_launch, "") if is_kernel else "",
            one_of.get(of_device, of_device),
        )
        numbers.append(known.setdefault(label, len(known)))
    return list(known), np.array(numbers, np.int64)[place.ravel()]


def _as_others(rest: Collection[Load]) -> Iterator[Load]:
    """Classes that are too many, as one a kind."""
    for kind in LoadKind:
        mine = [one for one in rest if one.kind is kind]
        if mine:
            yield together(mine, f"{len(mine)} others")


def together(chosen: Sequence[Load], name: str) -> Load:
    """Classes of one kind as one."""
    start = np.concatenate([one.start_s for one in chosen])
    end = np.concatenate([one.end_s for one in chosen])
    order = np.argsort(start, kind="stable")
    sizes, devices = {one.size for one in chosen}, {one.device for one in chosen}
    return Load(
        chosen[0].kind,
        name,
        sizes.pop() if len(sizes) == 1 else "",
        devices.pop() if len(devices) == 1 else 0,
        start[order],
        end[order],
    )


def alone(load: Load, others: Collection[Load]) -> Bools:
    """Which commands of a class run while none of the others does. Shape (n,)."""
    busy = Busy.of(*busy_union(others)) if others else None
    if busy is None:
        return np.ones(len(load), np.bool_)
    shared = busy.until(load.end_s) - busy.until(load.start_s)
    is_alone: Bools = shared <= 0.01 * (load.end_s - load.start_s)
    return is_alone
