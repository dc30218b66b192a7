"""Labels of devices for people: their names, told apart where a trace has several of one name."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cltrace.trace.reader import Trace

_UUID_DIGITS: Final = 8
_USUAL_DOMAIN: Final = "0000:"
_DEVICES: Final = """
    SELECT d.device_id, coalesce(d.process_id, 0), coalesce('rank ' || p.rank, 'process ' || p.pid, ''),
        d.name, coalesce(d.bus, ''), coalesce(d.uuid, ''),
        EXISTS (SELECT 1 FROM v_queue q WHERE q.device_id = d.device_id)
    FROM v_device d LEFT JOIN v_process p ON p.process_id = d.process_id ORDER BY d.device_id
"""


_BOARDS: Final = """
    SELECT d.device_id, p.host, d.bus, d.uuid
    FROM v_device d LEFT JOIN v_process p ON p.process_id = d.process_id ORDER BY d.device_id
"""


class _Device(NamedTuple):
    """Device of a process; `is_used` if it has a queue."""

    number: int
    process_id: int
    process: str
    name: str
    bus: str
    uuid: str
    is_used: bool


def device_labels(trace: Trace) -> dict[int, str]:
    """Return the label of each device by its number.

    Devices of one name have their PCI address, else the begin of their UUID, where these tell those of
    each process apart; else their numbers in the trace where a process uses several of them. Where
    several processes use devices, the label ends with the process. A device without a queue, such as the
    parent of sub-devices, does not change the labels of the others.
    """
    devices = _read_devices(trace)
    used = [device for device in devices if device.is_used]
    return {**_label(devices), **_label(used)}


def used_device_ids(trace: Trace) -> list[int]:
    """Return the numbers of the devices that have a queue, ascending."""
    return [device.number for device in _read_devices(trace) if device.is_used]


def device_hosts(trace: Trace) -> dict[int, str]:
    """Return the host of each device, by its number."""
    return {int(number): str(host or "") for number, host, *_ in trace.rows(_BOARDS)}


def physical_devices(trace: Trace) -> dict[int, int]:
    """Return for each device the first one of the trace that is the same board, else its own number.

    Processes see a board under numbers of their own. Its PCI address or UUID identifies it on a host.
    """
    first: dict[tuple[str, str], int] = {}
    boards = {}
    for number, host, bus, uuid in trace.rows(_BOARDS):
        key = str(host or ""), str(bus or uuid or f"#{number}")
        boards[int(number)] = first.setdefault(key, int(number))
    return boards


def _read_devices(trace: Trace) -> list[_Device]:
    return [
        _Device(
            int(number), int(process), str(label), str(name), str(bus), str(uuid), bool(is_used)
        )
        for number, process, label, name, bus, uuid, is_used in trace.rows(_DEVICES)
    ]


def _label(devices: Sequence[_Device]) -> dict[int, str]:
    groups = defaultdict(list)
    for device in devices:
        groups[device.name].append(device)
    has_processes = len({device.process_id for device in devices}) > 1
    labels = {}
    for group in groups.values():
        for device, mark in zip(group, _marks(group), strict=True):
            label = f"{device.name} {mark}" if mark else device.name
            labels[device.number] = f"{label}, {device.process}" if has_processes else label
    return labels


def _marks(devices: Sequence[_Device]) -> list[str]:
    """Return what tells devices of one name apart."""
    buses = [device.bus for device in devices]
    if all(bus.startswith(_USUAL_DOMAIN) for bus in buses):
        buses = [bus.removeprefix(_USUAL_DOMAIN) for bus in buses]
    processes = [device.process_id for device in devices]
    for facts in (buses, [device.uuid[:_UUID_DIGITS] for device in devices]):
        are_boards = all(facts) and len(set(facts)) > 1
        if are_boards and _are_distinct(zip(processes, facts, strict=True)):
            return facts
    are_numbered = not _are_distinct(processes)
    return [f"#{device.number}" if are_numbered else "" for device in devices]


def _are_distinct(values: Iterable[object]) -> bool:
    items = list(values)
    return len(set(items)) == len(items)
