"""What a launch's code says of its events: operations of blocks, places of accesses, memory objects."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from cltrace.errors import KernelSourceError
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis, analyse_kernel
from cltrace.kernels.events.annotations import (
    AnnotatedSource,
    Chart,
    blank_comments,
    has_annotations,
    read_annotations,
)
from cltrace.kernels.events.decisions import find_decisions
from cltrace.kernels.events.named_lines import named_lines
from cltrace.kernels.events.negations import SourceConditions
from cltrace.kernels.events.observer import find_barriers
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import EventKind, EventMemory, EventSite
from cltrace.kernels.execute.images import Image
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.memory import MemoryObject
from cltrace.kernels.execute.prepared_kernel import PreparedKernel, prepare_function
from cltrace.kernels.flow.component_stores import with_component_stores
from cltrace.kernels.flow.inlining import inline_calls
from cltrace.kernels.flow.promotion import promote_variables
from cltrace.kernels.flow.threaded_conditions import with_threaded_conditions
from cltrace.kernels.ir.instructions import Access, Branch, Switch
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import PRIVATE, SPACE_NAMES
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.program import Program


def analyse_for_events(program: Program, kernel: str, form: CodeForm) -> KernelAnalysis:
    """Return the analysis of a kernel for its events.

    As written, components are stored alone, and `a && b` decides in loops as it does elsewhere.

    Raises: as `analyse_kernel`.
    """
    analysis = analyse_kernel(program, kernel, form)
    if form is CodeForm.OPTIMISED:
        return analysis
    module, function = program.module(form), analysis.full_kernel.function
    inlined = inline_calls(module, function.name)
    threaded = with_threaded_conditions(inlined)
    if threaded is not inlined:
        function = promote_variables(threaded)
    function = with_component_stores(function)
    if function is analysis.full_kernel.function:
        return analysis
    return KernelAnalysis(prepare_function(function, module), module, program.source)


class LaunchCode:
    """The code of a kernel whose events are recorded, with what its annotations ask for.

    Attributes:
        source: the source of the program, as it was given.
        kernel: the name of the kernel.
        form: the form of the code.
        parameters: the parameters of the kernel.
        annotated: the source with its annotations.
        analysis: the analysis of the code that is executed.
        model: the kernel's decisions.
        operations: the number of operations of each block, without those of calls that were added.

    Raises: `KernelSourceError` for wrong annotations; as `analyse_kernel`.
    """

    def __init__(self, launch: KernelLaunch, selection: EventSelection) -> None:
        program, kernel, form = launch.program, launch.kernel, selection.form
        self.source, self.kernel, self.form = program.source, kernel, form
        code = named_lines(program.source).code
        self.annotated = read_annotations(code, selection.emissions)
        if self.annotated.text != program.source:
            program = program.with_source(self.annotated.text)
        self.analysis = analyse_for_events(program, kernel, form)
        self.parameters = program.kernels[kernel].parameters
        full_kernel = self.analysis.full_kernel
        if self.annotated.emissions:
            _check_added(program.prepare(kernel, CodeForm.WRITTEN), self.annotated)
        is_written = form is CodeForm.WRITTEN
        self.model = find_decisions(
            full_kernel, SourceConditions(blank_comments(code)) if is_written else None
        )
        self.operations: Mapping[int, int] = {
            block: sum(count for place, count in counts if not self.annotated.is_added(place))
            for block, counts in self.analysis.place_operations.items()
        }
        self._annotated_headers = tuple(
            name for name, text in program.headers.items() if has_annotations(text)
        )

    def notes(self, memories: Collection[EventMemory]) -> Iterator[str]:
        """Yield a note for each annotation that has no effect on a launch with some memory objects."""
        names = {memory.name for memory in memories if memory.size_bytes}
        bindings = self.annotated.bindings
        pictures = (item.names[0] for item in bindings if item.chart is Chart.IMAGE)
        for word, wanted in (("watch", self.annotated.watched), ("bind image", pictures)):
            for name in wanted:
                if name not in names:
                    yield f"@{word} {name}: {self.kernel} accesses no {name}"
        for header in self._annotated_headers:
            yield f"annotations in {header} have no effect: only those of the source itself have"


def _check_added(kernel: PreparedKernel, annotated: AnnotatedSource) -> None:
    """Check that added calls neither decide nor change anything. Raises: `KernelSourceError`."""
    barriers = (call.place for call, _ in find_barriers(kernel).values())
    changes = (
        site.place
        for site in kernel.sites
        if site.access is not Access.READ and site.space != PRIVATE
    )
    for places, fault in (
        (_places_of_conditions(kernel), "has no condition, and calls no function that has one"),
        (chain(changes, barriers), "changes nothing, and calls no function that does"),
    ):
        for place in places:
            added = annotated.added_place(place)
            if added is not None:
                where = f"{added.file}:{added.line}:{annotated.added[added.line]}"
                raise KernelSourceError(where, f"an emitted expression {fault}", "")


def _places_of_conditions(kernel: PreparedKernel) -> Iterator[Place]:
    """Yield the places of the values that decide where work-items go on."""
    blocks = [kernel.function.blocks[number] for number in kernel.graph.order]
    places = {result_of(item): item.place for block in blocks for item in block.instructions} | {
        item.result: item.place for block in blocks for item in block.phis
    }
    for block in blocks:
        match block.terminator:
            case Branch(condition=slot) | Switch(value=slot) if slot in places:
                yield places[slot]


def event_sites(kernel: PreparedKernel, assumed: Collection[int] = ()) -> tuple[EventSite, ...]:
    """Return the places of a kernel's accesses by number, and those of its barriers behind them.

    `assumed` are the sites whose addresses depend on unknown contents.
    """
    accesses = (
        EventSite(
            file=site.place.file,
            line=site.place.line,
            column=site.place.column,
            kind=EventKind[site.access.name],
            element=site.element,
            access_bytes=site.access_bytes,
            request_bytes=site.request_bytes,
            is_assumed=site.number in assumed,
        )
        for site in kernel.sites
    )
    barriers = (
        EventSite(
            file=call.place.file,
            line=call.place.line,
            column=call.place.column,
            kind=kind,
            element="",
            access_bytes=0,
            request_bytes=0,
        )
        for call, kind in find_barriers(kernel).values()
    )
    return (*accesses, *barriers)


def event_memories(memory: LaunchMemory) -> tuple[EventMemory, ...]:
    """Return the memory objects of a launch, in the order of their numbers."""
    return tuple(
        _event_memory(part, number, memory.images.get(number))
        for number, part in enumerate(memory.memory.objects[1:], 1)
    )


def _event_memory(part: MemoryObject, number: int, image: Image | None) -> EventMemory:
    name, space = _memory_name(part, number), SPACE_NAMES[part.space]
    if image is None:
        return EventMemory(name, space, part.size_bytes)
    sides = (image.width, image.height, image.depth)
    return EventMemory(name, space, part.size_bytes, sides, image.texel_bytes)


def check_watched(watched: Collection[str], names: Collection[str]) -> None:
    """Check the names of watched memory against those that a kernel accesses. Raises: `ValueError`."""
    missing = {*watched} - {*names}
    if missing:
        raise ValueError(
            f"the kernel accesses no {', '.join(sorted(missing))}; it accesses "
            f"{', '.join(sorted(names)) or 'nothing'}"
        )


def _memory_name(memory: MemoryObject, number: int) -> str:
    """Return the name of a memory object; private arrays have only a line, if that."""
    if memory.space != PRIVATE:
        return memory.name
    line = memory.name.rpartition(":")[2]
    return f"private array of line {line}" if line not in {"", "0"} else f"private array {number}"
