"""Which commands are summed up together, and the rows that the sums become."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.trace import schema
from cltrace.trace.catalogue import Catalogue, Name
from cltrace.trace.column_blocks import Collected
from cltrace.trace.command_sums import Measured, columns_of, measured, roll_up, taken_from
from cltrace.trace.commands import Int64s
from cltrace.trace.database import Store
from cltrace.trace.rollup import ApiRollup, Rollup, roll_up_apis

WHOLE_DEVICE: Final = "whole-device"
DIMENSIONS: Final = (
    *("kernel", "queue", "device", "process", "thread", "callsite"),
    WHOLE_DEVICE,
)
"""What commands are grouped by, each with what it did; of a whole device, whatever it did."""

KEY_COLUMNS: Final[Mapping[str, str]] = {
    "kernel": "launch_id",
    "queue": "queue_id",
    "device": "queue_id",
    "process": "thread_id",
    "thread": "thread_id",
    "callsite": "site_id",
    WHOLE_DEVICE: "queue_id",
}
"""The column of commands that tells the groups of a dimension apart."""


class Group(NamedTuple):
    """What the commands of a group have in common: a key for machines, a label for people."""

    key: str
    label: str
    activity: str


Groups = dict[str, tuple[Int64s, list[Group]]]
"""By dimension: the position, in the list beside it, of each command's group."""


class Grouping:
    """Collects the commands of all processes and sums them up at the end."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Group, int]] = {name: {} for name in DIMENSIONS}
        self._groups, self._commands = Collected(), Collected()
        self._apis: list[tuple[int, ApiRollup]] = []

    def add(
        self, groups: Groups, commands: dict[str, Int64s], calls: dict[str, Int64s], process_id: int
    ) -> None:
        """Add the commands and the other calls of a process."""
        self.add_commands(groups, commands)
        self._apis.extend((process_id, one) for one in roll_up_apis([commands, calls]))

    def add_commands(self, groups: Groups, commands: dict[str, Int64s]) -> None:
        """Add commands without their host calls."""
        part: dict[str, NDArray[np.int32]] = {}
        for dimension, (positions, found) in groups.items():
            numbers = self._numbers[dimension]
            known = [numbers.setdefault(group, len(numbers)) for group in found]
            part[dimension] = np.array(known, np.int32)[positions]
        self._groups.add(part)
        self._commands.add(columns_of(measured(commands, part[WHOLE_DEVICE])))

    def rollups(self) -> Iterable[tuple[str, Group, Rollup]]:
        """The sums of each group of each dimension. What was collected is used up."""
        commands = taken_from(self._commands)
        done: dict[bytes, dict[int, Rollup]] = {}
        for dimension in DIMENSIONS:
            numbers = self._groups.take(dimension)
            groups = list(self._numbers[dimension])
            for number, rollup in _shared(numbers, commands, done).items():
                yield dimension, groups[number], rollup

    @property
    def apis(self) -> Sequence[tuple[int, ApiRollup]]:
        """The sums of each entry point, with the process that called it."""
        return self._apis


def _shared(
    numbers: NDArray[np.int32], commands: Measured, done: dict[bytes, dict[int, Rollup]]
) -> dict[int, Rollup]:
    """The rollups of a partition. One that an earlier dimension had already is not done again."""
    found, first, canonical = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    groups = order.astype(np.int32)[canonical]
    partition = hashlib.blake2b(groups.tobytes()).digest()
    if partition not in done:
        done[partition] = dict(roll_up(groups, commands))
    return {int(found[at]): done[partition][int(order[at])] for at in range(len(found))}


def write_rollups(store: Store, grouping: Grouping) -> None:
    """Write the sums of everything that `grouping` collected."""
    store.insert(
        schema.ROLLUP,
        ((dimension, *group, *astuple(rollup)) for dimension, group, rollup in grouping.rollups()),
    )
    store.insert(
        schema.API_ROLLUP, ((process_id, *astuple(one)) for process_id, one in grouping.apis)
    )


def groupings(commands: dict[str, Int64s], catalogue: Catalogue) -> Groups:
    """The groups of commands, given as columns, in every dimension."""
    return {name: grouped_by(name, commands, catalogue) for name in DIMENSIONS}


def grouped_by(
    dimension: str, commands: Mapping[str, Int64s], catalogue: Catalogue
) -> tuple[Int64s, list[Group]]:
    """The groups of commands in a dimension: the position, in the list, of each command's group.

    It looks at the columns `api` and `KEY_COLUMNS[dimension]`.
    """
    lead, names = _leads(catalogue)[dimension]
    keys = commands[KEY_COLUMNS[dimension]]
    if lead is not None:
        keys = _led(lead, keys)
    if dimension == WHOLE_DEVICE:
        return _whole(keys, names)
    return _Activity(commands["api"]).by(keys, names)


def devices_of(queues: Int64s, catalogue: Catalogue) -> Int64s:
    """The device of each queue number; 0 for one that has none."""
    return _led(catalogue.device_of_queue, queues)


def _leads(catalogue: Catalogue) -> dict[str, tuple[Int64s | None, Mapping[int, Name]]]:
    """By dimension: what leads from the key column to keys, and what those are called."""
    kernels = {at: (name, name) for at, name in enumerate(catalogue.kernel_names)}
    return {
        "kernel": (catalogue.kernel_of_launch, kernels),
        "queue": (None, catalogue.queues),
        "device": (catalogue.device_of_queue, catalogue.devices),
        "process": (catalogue.process_of_thread, catalogue.processes),
        "thread": (None, catalogue.threads),
        "callsite": (None, catalogue.sites),
        WHOLE_DEVICE: (catalogue.device_of_queue, catalogue.devices),
    }


def _whole(keys: Int64s, names: Mapping[int, Name]) -> tuple[Int64s, list[Group]]:
    """Groups of commands that have the same key, whatever they did."""
    found, positions = np.unique(keys, return_inverse=True)
    return positions, [Group(*names.get(key, ("", "")), "all") for key in found.tolist()]


def _led(table: Int64s, numbers: Int64s) -> Int64s:
    """Where `table` leads; to 0 for a number that it does not have."""
    return table[np.where((numbers > 0) & (numbers < len(table)), numbers, 0)]


class _Activity:
    """What each command did, as a small number."""

    def __init__(self, apis: Int64s) -> None:
        self._names = sorted({kind.value for kind in COMMAND_KINDS.values()})
        number = np.zeros(max(map(int, Api)) + 1, np.int64)
        for api, kind in COMMAND_KINDS.items():
            number[int(api)] = self._names.index(kind.value)
        self._numbers = number[apis]

    def by(self, keys: Int64s, names: Mapping[int, Name]) -> tuple[Int64s, list[Group]]:
        """Groups of commands that have the same key and did the same."""
        kinds = len(self._names)
        found, positions = np.unique(keys * kinds + self._numbers, return_inverse=True)
        groups = []
        for key, activity in (divmod(one, kinds) for one in found.tolist()):
            groups.append(Group(*names.get(key, ("", "")), self._names[activity]))
        return positions, groups
