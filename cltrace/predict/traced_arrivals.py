"""States in which the launches of a trace find their device: idle, first launches, other images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from cltrace.events.workloads import Arrival
from cltrace.trace.reader import Trace

_COMMANDS: Final = """
    SELECT c.device_id, c.start_device_ns, c.end_device_ns, c.kind, c.launch_id, c.first_launch,
           k.program_id, k.name
    FROM v_command c
    LEFT JOIN v_launch l ON l.launch_id = c.launch_id
    LEFT JOIN v_kernel k ON k.kernel_id = l.kernel_id
    WHERE c.start_device_ns IS NOT NULL AND c.end_device_ns IS NOT NULL {on_devices}
    ORDER BY c.command_id
"""
_IMAGES: Final = """
    SELECT launch_id, position, buffer_id FROM v_launch_arg
    WHERE kind = 'image' ORDER BY launch_id, position
"""
_WORKING: Final = frozenset({"kernel", "fill", "copy"})
"""Kinds of commands that are work for compute units; others are transfers, which other units do."""
_QUEUED_NS: Final = 2_500
"""Time after which a device has begun the next command of its queue: 1,200 ns on an H200.

One that arrives when the queue is empty begins after 5,000 ns at the earliest.
"""
_BEFORE_ALL_NS: Final = 1_000_000_000
"""Idle time of a device before the first command of a trace."""

_Images = Mapping[int, int | None]
"""Images of a launch, by the position of the argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """A command with the stamps of its device. `function` is None for one that is no launch."""

    device: int
    start_ns: int
    end_ns: int
    is_work: bool
    launch_id: int | None
    is_first: bool
    function: tuple[object, object] | None


def traced_arrivals(
    trace: Trace, max_commands: int, on_devices: str
) -> Mapping[int, Sequence[Arrival]]:
    """Return the state of the device at each call of a launch, by launch id.

    At most `max_commands` commands are read. `on_devices` is an SQL condition of commands, or "".
    """
    images = _images(trace)
    arrivals: dict[int, list[Arrival]] = {}
    devices: dict[int, _Device] = {}
    commands = sorted(
        _commands(trace, max_commands, on_devices),
        key=lambda command: (command.device, command.start_ns),
    )
    for command in commands:
        device = devices.setdefault(command.device, _Device())
        arrival = device.begin(command, images)
        if command.launch_id is not None:
            arrivals.setdefault(command.launch_id, []).append(arrival)
    return arrivals


@dataclass(slots=True)
class _Device:
    """A device at a time: the end of its last work, and the images of each kernel's last launch."""

    ended_ns: int | None = None
    bound: dict[tuple[object, object], _Images] = field(default_factory=dict)

    def begin(self, command: _Command, images: Mapping[int, _Images]) -> Arrival:
        """Begin a command and return the state that it finds."""
        idle_ns, is_queued = _BEFORE_ALL_NS, False
        if self.ended_ns is not None:
            idle_ns = max(command.start_ns - self.ended_ns, 0)
            is_queued = 0 <= command.start_ns - self.ended_ns <= _QUEUED_NS
        if command.is_work:
            self.ended_ns = max(self.ended_ns or command.end_ns, command.end_ns)
        changed = self._bind(command, images)
        return Arrival(
            float(idle_ns),
            float(command.is_first),
            float(changed),
            is_queued=is_queued,
        )

    def _bind(self, command: _Command, images: Mapping[int, _Images]) -> int:
        """Return the number of images that the launch's kernel did not have before."""
        if command.function is None or command.launch_id is None:
            return 0
        own = images.get(command.launch_id)
        if own is None:
            return 0
        before = self.bound.get(command.function, {})
        self.bound[command.function] = own
        return sum(before.get(position) != image for position, image in own.items())


def _images(trace: Trace) -> Mapping[int, _Images]:
    images: dict[int, dict[int, int | None]] = {}
    for launch_id, position, image in trace.iterate(_IMAGES):
        images.setdefault(launch_id, {})[position] = image
    return images


def _commands(trace: Trace, max_commands: int, on_devices: str) -> Iterator[_Command]:
    rows = trace.iterate(_COMMANDS.format(on_devices=on_devices))
    for device, start, end, kind, launch_id, first, program, kernel in islice(rows, max_commands):
        if not all(isinstance(number, int) for number in (device, start, end)):
            continue
        own_id = launch_id if isinstance(launch_id, int) else None
        function = None if own_id is None else (program, kernel)
        yield _Command(
            device=device,
            start_ns=start,
            end_ns=end,
            is_work=kind in _WORKING,
            launch_id=own_id,
            is_first=bool(first),
            function=function,
        )
