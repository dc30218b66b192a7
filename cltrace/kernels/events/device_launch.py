"""Recording of a launch's events by a device: the instrumented kernel, and the events of its log."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from cltrace.events.event_logs import EventLog
from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument
from cltrace.kernels.compiler import read_options
from cltrace.kernels.events.device_accesses import DeviceAccesses
from cltrace.kernels.events.device_log import LogEntries
from cltrace.kernels.events.launch_code import (
    LaunchCode,
    check_watched,
    event_memories,
)
from cltrace.kernels.events.observer import find_barriers
from cltrace.kernels.events.recording_request import ALL_EVENTS, EventSelection, KernelLaunch
from cltrace.kernels.events.records import (
    DroppedEvents,
    ItemTable,
    LaunchEvents,
    all_ways,
)
from cltrace.kernels.events.stream_rounds import StreamRounds
from cltrace.kernels.events.stream_tree import StreamTree
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.work_items import work_item_value
from cltrace.kernels.instrument.kernel_source import InstrumentedKernel, instrument
from cltrace.kernels.ir.types import FloatType, IntegerType
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA, Machine
from cltrace.kernels.values import dtype_of

_NO_CONTRACTION: Final = re.compile(r"#\s*pragma\s+OPENCL\s+FP_CONTRACT\s+OFF")
_NO_GROUPS: Final = np.zeros(1, np.int64)


class DeviceLaunch:
    """A launch whose events a device records.

    Raises: as `record_events`, and `UnsupportedKernelError` for code that no device is given.
    """

    def __init__(
        self,
        launch: KernelLaunch,
        selection: EventSelection = ALL_EVENTS,
        *,
        machine: Machine = NVIDIA,
    ) -> None:
        self.ndrange = nd_range(launch.global_size, launch.local_size, launch.global_offset)
        self._machine = machine
        self._options = launch.program.options
        texts = (launch.program.source, *launch.program.headers.values())
        self._contracts = not any(map(_NO_CONTRACTION.search, texts))
        self._arguments = launch.arguments
        self._code = LaunchCode(launch, selection)
        self._kernel = self._code.analysis.full_kernel
        self._watched = frozenset(selection.watched)
        self._own_memory = LaunchMemory(
            self._kernel, launch.arguments, Grid(self.ndrange, _NO_GROUPS, machine.warp_width)
        )
        check_watched(self._watched, {part.name for part in event_memories(self._own_memory)})

    @cached_property
    def instrumented(self) -> InstrumentedKernel:
        """The kernel that records its events."""
        barriers = list(find_barriers(self._kernel))
        return instrument(
            self._kernel,
            self._code.model.targets,
            barriers,
            self.ndrange.group_items,
            contracts=self._contracts,
        )

    @cached_property
    def options(self) -> Sequence[str]:
        """The build options of the instrumented program: the program's, without definitions."""
        options = read_options(self._options).passed
        return [option for option in options if not option.startswith(("-D", "-U"))]

    def typed_arguments(
        self,
    ) -> Iterator[tuple[Argument, np.dtype[np.generic] | None, str]]:
        """Yield the arguments, each with the type of a number, None for others, and its type's name."""
        parameters = zip(self._kernel.parameters, self._code.parameters, strict=True)
        for (parameter, named), argument in zip(parameters, self._arguments, strict=True):
            is_number = isinstance(parameter.type, IntegerType | FloatType)
            yield argument, dtype_of(parameter.type) if is_number else None, named.type

    def events(self, log: EventLog, max_events: int) -> LaunchEvents:
        """Return the events of a log.

        Raises: `KernelExecutionError` if the log fits no way through the code.
        """
        grid = Grid(self.ndrange, log.groups, self._machine.warp_width)
        entries = LogEntries(log, grid, len(self.instrumented.own_objects))
        tree = entries.streams(max_events)
        dropped = DroppedEvents(tree.dropped_bits, entries.dropped, 0, entries.stopped_items)
        rounds = self._rounds(tree, grid, is_whole=not dropped.bits and dropped.has_whole_items)
        return LaunchEvents(
            kernel=self._code.kernel,
            source=self._code.source,
            form=self._code.form,
            global_size=self.ndrange.global_size,
            local_size=self.ndrange.local_size,
            machine=self._machine,
            begin=self._code.model.begin,
            decisions=self._code.model.decisions,
            sites=self._site_facts.sites,
            memories=self._site_facts.memories,
            items=ItemTable(
                work_item_value("get_global_linear_id", None, grid.all),
                grid.group_numbers[grid.group],
                grid.warp,
                tree.ends,
                rounds.item_operations,
            ),
            warp_operations=rounds.warp_operations,
            streams=tree.table(),
            accesses=self._site_facts.accesses(
                entries, rounds, self._shared_objects(log), self.instrumented.own_objects
            ),
            emissions=self._code.annotated.emissions,
            bindings=self._code.annotated.bindings,
            values=entries.values(self._code.annotated.emissions),
            dropped=dropped,
            notes=self._notes(),
            device=log.device,
        )

    def _rounds(self, tree: StreamTree, grid: Grid, *, is_whole: bool) -> StreamRounds:
        """Return what work-items do together. Raises: `KernelExecutionError`."""
        ranks = self._site_facts.ranks
        return StreamRounds(
            all_ways(self._code.model.begin, self._code.model.decisions),
            tree.table(),
            tree.ends,
            grid.warp,
            {ranks[block]: count for block, count in self._code.operations.items()},
            is_whole=is_whole,
        )

    def _shared_objects(self, log: EventLog) -> list[tuple[int, int]]:
        """Return the objects that all work-items share, with their addresses."""
        bases = (int(base) for base in log.bases)
        return list(zip(self.instrumented.shared_objects, bases, strict=False))

    @cached_property
    def _site_facts(self) -> DeviceAccesses:
        names = {part.name for part in event_memories(self._own_memory)}
        return DeviceAccesses(
            self._kernel,
            self._own_memory,
            frozenset(self._watched | (names & {*self._code.annotated.watched})),
            self._code.annotated.is_added,
        )

    def _notes(self) -> tuple[str, ...]:
        """Return notes of contents that are not known and that events may depend on."""
        read = self._code.analysis.slice_inputs.contents
        pairs = enumerate(zip(self._code.parameters, self._arguments, strict=True))
        unknown = (
            f"{parameter.name}: its contents are not known; the device had zeros"
            for index, (parameter, argument) in pairs
            if isinstance(argument, BufferArgument | ImageArgument)
            and argument.contents is None
            and (index in read or self._code.annotated.emissions)
        )
        return (*unknown, *self._code.notes(self._site_facts.memories))
