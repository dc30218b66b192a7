"""Groups of commands in every dimension."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.trace.catalogue import Catalogue, Name
from cltrace.trace.commands import Int64s
from cltrace.trace.distinct_values import find_distinct, sort_distinct

WHOLE_DEVICE: Final = "whole-device"
KERNEL_DEVICE: Final = "kernel-device"
DIMENSIONS: Final = (
    *("kernel", "queue", "device", "process", "thread", "callsite"),
    WHOLE_DEVICE,
    KERNEL_DEVICE,
)
"""Dimensions by which commands are grouped, each together with the command's kind; `WHOLE_DEVICE`
groups commands of all kinds. A key of `KERNEL_DEVICE` is the device's number, a space, and the kernel."""

KEY_COLUMNS: Final[Mapping[str, str]] = {
    "kernel": "kernel_id",
    "queue": "queue_id",
    "device": "queue_id",
    "process": "thread_id",
    "thread": "thread_id",
    "callsite": "site_id",
    WHOLE_DEVICE: "queue_id",
    KERNEL_DEVICE: "kernel_id",
}
"""Column of commands from which the groups of a dimension are determined."""


class CommandGroup(NamedTuple):
    """Identity of a group of commands: a key for machines, a label for people, and their kind."""

    key: str
    label: str
    activity: str


Groups = dict[str, tuple[Int64s, list[CommandGroup]]]
"""By dimension: the index of each command's group in a list, and that list."""


def group_commands(commands: dict[str, Int64s], catalogue: Catalogue) -> Groups:
    """CommandGroup commands, which are given as columns, in every dimension."""
    return {name: group_by(name, commands, catalogue) for name in DIMENSIONS}


def group_by(
    dimension: str, commands: Mapping[str, Int64s], catalogue: Catalogue
) -> tuple[Int64s, list[CommandGroup]]:
    """Group commands in a dimension: return the index of each command's group, and the list of groups.

    This reads the columns `api` and `KEY_COLUMNS[dimension]`, for `KERNEL_DEVICE` also `queue_id`.
    """
    if dimension == KERNEL_DEVICE:
        return _group_by_kernel_and_device(commands, catalogue)
    table, names = _key_tables(catalogue)[dimension]
    keys = commands[KEY_COLUMNS[dimension]]
    if table is not None:
        keys = _look_up(table, keys)
    if dimension == WHOLE_DEVICE:
        return _group_by_key(keys, names)
    return _CommandKinds(commands["api"]).group_by_key_and_kind(keys, names)


def _group_by_kernel_and_device(
    commands: Mapping[str, Int64s], catalogue: Catalogue
) -> tuple[Int64s, list[CommandGroup]]:
    count = int(catalogue.device_of_queue.max(initial=0)) + 1
    kernels = _look_up(catalogue.name_of_kernel, commands[KEY_COLUMNS[KERNEL_DEVICE]])
    keys = kernels * count + device_ids_of(commands["queue_id"], catalogue)
    names = {}
    for key in sort_distinct(keys).tolist():
        kernel, device = divmod(key, count)
        name = catalogue.kernel_names[kernel]
        names[key] = (f"{catalogue.devices.get(device, ('', ''))[0]} {name}", name)
    return _CommandKinds(commands["api"]).group_by_key_and_kind(keys, names)


def device_ids_of(queues: Int64s, catalogue: Catalogue) -> Int64s:
    """Return the device of each queue id; 0 for a queue without one."""
    return _look_up(catalogue.device_of_queue, queues)


def _key_tables(catalogue: Catalogue) -> dict[str, tuple[Int64s | None, Mapping[int, Name]]]:
    """Return, by dimension, the table from the key column to keys, and the names of the keys."""
    kernels = {at: (name, name) for at, name in enumerate(catalogue.kernel_names)}
    return {
        "kernel": (catalogue.name_of_kernel, kernels),
        "queue": (None, catalogue.queues),
        "device": (catalogue.device_of_queue, catalogue.devices),
        "process": (catalogue.process_of_thread, catalogue.processes),
        "thread": (None, catalogue.threads),
        "callsite": (None, catalogue.sites),
        WHOLE_DEVICE: (catalogue.device_of_queue, catalogue.devices),
    }


def _group_by_key(keys: Int64s, names: Mapping[int, Name]) -> tuple[Int64s, list[CommandGroup]]:
    """CommandGroup commands of the same key, of any kind."""
    unique, _, positions = find_distinct(keys)
    return positions, [CommandGroup(*names.get(key, ("", "")), "all") for key in unique.tolist()]


def _look_up(table: Int64s, numbers: Int64s) -> Int64s:
    """Return the entries of `table` at `numbers`; its entry 0 for numbers out of range."""
    return table[np.where((numbers > 0) & (numbers < len(table)), numbers, 0)]


class _CommandKinds:
    """Kinds of commands as small numbers."""

    def __init__(self, apis: Int64s) -> None:
        self._names = sorted({kind.value for kind in COMMAND_KINDS.values()})
        number = np.zeros(max(map(int, Api)) + 1, np.int64)
        for api, kind in COMMAND_KINDS.items():
            number[int(api)] = self._names.index(kind.value)
        self._numbers = number[apis]

    def group_by_key_and_kind(
        self, keys: Int64s, names: Mapping[int, Name]
    ) -> tuple[Int64s, list[CommandGroup]]:
        """CommandGroup commands of the same key and kind."""
        count = len(self._names)
        unique, _, positions = find_distinct(keys * count + self._numbers)
        groups = []
        for key, kind in (divmod(number, count) for number in unique.tolist()):
            groups.append(CommandGroup(*names.get(key, ("", "")), self._names[kind]))
        return positions, groups
