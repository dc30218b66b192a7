"""Labels of devices for people: their names, told apart where a process has several of one name."""

from collections import defaultdict

from cltrace.trace.reader import Trace

_UUID_DIGITS = 8


def device_labels(trace: Trace) -> dict[int, str]:
    """Return the label of each device by its number.

    A process's devices of one name have their PCI address, else the begin of their UUID, if these tell
    all of them apart; else their number in the trace.
    """
    rows = trace.rows(
        "SELECT device_id, process_id, name, coalesce(bus, ''), coalesce(uuid, '') FROM v_device"
    )
    groups = defaultdict(list)
    for number, process, name, bus, uuid in rows:
        groups[process, str(name)].append((int(number), str(bus), str(uuid)[:_UUID_DIGITS]))
    labels = {}
    for (_, name), devices in groups.items():
        for number, mark in _marks(devices):
            labels[number] = f"{name} {mark}" if mark else name
    return labels


def _marks(devices: list[tuple[int, str, str]]) -> list[tuple[int, str]]:
    numbers = [number for number, _, _ in devices]
    if len(devices) == 1:
        return [(numbers[0], "")]
    for facts in ([bus for _, bus, _ in devices], [uuid for _, _, uuid in devices]):
        if all(facts) and len(set(facts)) == len(facts):
            return list(zip(numbers, facts, strict=True))
    return [(number, f"#{number}") for number in numbers]
