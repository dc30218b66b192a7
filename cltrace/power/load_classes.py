"""Loads: classes of similar commands, and the times in which each class was active."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import numpy as np

from cltrace.power.activity_shares import ActiveTime
from cltrace.power.mean_power import Floats
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union

_S: Final = 1e-9
_MAX_CLASSES: Final = 48
"""Maximum number of separate classes. The shortest further ones are merged, by kind."""


_SEPARATOR: Final = " + "
"""Separator of the names of merged classes, in the texts that show them."""


class LoadKind(StrEnum):
    """Kind of a class of commands."""

    KERNEL = "kernel"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class Load:
    """Commands of a class: a kernel with a global size on a device, or transfers of a direction.

    `names` are those of its kernels: several where the sensors do not distinguish them.
    `size` is the global size, "" for transfers. `start_s` and `end_s` (n,) are on the trace's axis, and
    `start_s` ascends. Commands without a place in time are not included.
    """

    kind: LoadKind
    names: tuple[str, ...]
    size: str
    device: int
    start_s: Floats
    end_s: Floats

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def name(self) -> str:
        """The names as one text, to be shown."""
        return _SEPARATOR.join(self.names)

    @property
    def active_time(self) -> ActiveTime:
        """Active time of its commands."""
        return ActiveTime.of(self.start_s, self.end_s)

    @property
    def seconds(self) -> float:
        """Sum of the durations of its commands."""
        return float((self.end_s - self.start_s).sum())


def group_loads(
    activity: Activity,
    sizes: Mapping[int, str],
    devices: Collection[int],
    first_ids: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Load, ...]:
    """Return the classes of the commands on some devices, the longest first.

    `sizes` are the global sizes by launch. `first_ids` maps the ids of a device in all processes to its
    first one.
    """
    commands = activity.commands
    is_wanted = commands.is_placed & np.isin(commands.device, list(devices))
    chosen = np.flatnonzero(is_wanted & (commands.end_ns > commands.start_ns))
    loads = sorted(_classes(activity, sizes, chosen, first_ids), key=lambda load: -load.seconds)
    return (*loads[:_MAX_CLASSES], *_merge_by_kind(loads[_MAX_CLASSES:]))


def active_intervals(loads: Collection[Load]) -> tuple[Floats, Floats]:
    """Return the times in which any load was active: disjoint, ascending intervals. Shapes (n,)."""
    if not loads:
        return np.zeros(0), np.zeros(0)
    start = np.concatenate([load.start_s for load in loads])
    end = np.concatenate([load.end_s for load in loads])
    whole = union(np.rint(start / _S).astype(np.int64), np.rint(end / _S).astype(np.int64))
    return whole.start_ns.astype(np.float64) * _S, whole.end_ns.astype(np.float64) * _S


def shared_seconds(loads: Collection[Load]) -> list[float]:
    """Return the time of each load, where commands that run at once share the time evenly."""
    if not loads:
        return []
    start = np.concatenate([load.start_s for load in loads])
    end = np.concatenate([load.end_s for load in loads])
    at = np.concatenate([start, end])
    order = np.argsort(at, kind="stable")
    active = np.cumsum(np.concatenate([np.ones(len(start)), -np.ones(len(end))])[order])
    at = at[order]
    share = np.where(active[:-1] > 0.5, 1.0 / np.maximum(active[:-1], 1.0), 0.0)
    until = np.concatenate([[0.0], np.cumsum(share * np.diff(at))])
    return [
        float((np.interp(load.end_s, at, until) - np.interp(load.start_s, at, until)).sum())
        for load in loads
    ]


def _classes(
    activity: Activity, sizes: Mapping[int, str], chosen: Int64s, first_ids: Mapping[int, int]
) -> Iterator[Load]:
    commands = activity.commands
    is_kernel = commands.is_kind("kernel")[chosen]
    for part, kind in (
        (chosen[is_kernel], LoadKind.KERNEL),
        (chosen[~is_kernel], LoadKind.TRANSFER),
    ):
        labels, classes = _classify(activity, sizes, part, kind, first_ids)
        for number, members in groups(classes):
            rows = part[members]
            order = np.argsort(commands.start_ns[rows], kind="stable")
            start = commands.start_ns[rows][order].astype(np.float64) * _S
            end = commands.end_ns[rows][order].astype(np.float64) * _S
            name, size, device = labels[number]
            yield Load(kind, (name,), size, device, start, end)


def _classify(
    activity: Activity,
    sizes: Mapping[int, str],
    chosen: Int64s,
    kind: LoadKind,
    first_ids: Mapping[int, int],
) -> tuple[list[tuple[str, str, int]], Int64s]:
    """Return the classes of some commands as name, size and device, and the class of each command."""
    commands = activity.commands
    is_kernel = kind is LoadKind.KERNEL
    first = (commands.kernel if is_kernel else commands.kind)[chosen]
    launch = np.maximum(commands.launch[chosen], 0)
    device = commands.device[chosen]
    shape = tuple(int(column.max(initial=0)) + 1 for column in (first, launch, device))
    codes, place = np.unique(
        np.ravel_multi_index((first, launch, device), shape), return_inverse=True
    )
    labels: dict[tuple[str, str, int], int] = {}
    numbers = []
    for number, launch_id, device_id in zip(
        *(part.tolist() for part in np.unravel_index(codes, shape)), strict=True
    ):
        name = activity.names.kernels[number] if is_kernel else KINDS[number]
        size = sizes.get(launch_id, "") if is_kernel else ""
        label = (name, size, first_ids.get(device_id, device_id))
        numbers.append(labels.setdefault(label, len(labels)))
    return list(labels), np.array(numbers, np.int64)[place.ravel()]


def _merge_by_kind(loads: Collection[Load]) -> Iterator[Load]:
    """Yield a single class for all kernels, and one for all transfers."""
    for kind in LoadKind:
        of_kind = [load for load in loads if load.kind is kind]
        if of_kind:
            yield merge_loads(of_kind, (f"{len(of_kind)} others",))


def merge_loads(loads: Sequence[Load], names: tuple[str, ...]) -> Load:
    """Return a class that contains the commands of several classes of the same kind."""
    start = np.concatenate([load.start_s for load in loads])
    end = np.concatenate([load.end_s for load in loads])
    order = np.argsort(start, kind="stable")
    sizes, devices = {load.size for load in loads}, {load.device for load in loads}
    return Load(
        loads[0].kind,
        names,
        sizes.pop() if len(sizes) == 1 else "",
        devices.pop() if len(devices) == 1 else 0,
        start[order],
        end[order],
    )


def runs_alone(load: Load, others: Collection[Load]) -> Bools:
    """Return a mask of the load's commands during which no other load is active. Shape (n,)."""
    if not others:
        return np.ones(len(load), np.bool_)
    active_time = ActiveTime.of(*active_intervals(others))
    shared = active_time.until(load.end_s) - active_time.until(load.start_s)
    is_alone: Bools = shared <= 0.01 * (load.end_s - load.start_s)
    return is_alone
