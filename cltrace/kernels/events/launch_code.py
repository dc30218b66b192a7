"""What a launch's code says of its events: operations of blocks, places of accesses, memory objects."""

from collections.abc import Collection, Iterator, Mapping

from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis, analyse_kernel
from cltrace.kernels.events.annotations import AnnotatedSource, Chart
from cltrace.kernels.events.observer import find_barriers
from cltrace.kernels.events.records import EventKind, EventMemory, EventSite
from cltrace.kernels.execute.images import Image
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.memory import MemoryObject
from cltrace.kernels.execute.prepared_kernel import PreparedKernel, prepare_function
from cltrace.kernels.flow.component_stores import with_component_stores
from cltrace.kernels.flow.inlining import inline_calls
from cltrace.kernels.flow.promotion import promote_variables
from cltrace.kernels.flow.threaded_conditions import with_threaded_conditions
from cltrace.kernels.ir.types import PRIVATE, SPACE_NAMES
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


def block_operations(analysis: KernelAnalysis, annotated: AnnotatedSource) -> Mapping[int, int]:
    """Return the number of operations of each block, without those of calls that were added."""
    return {
        block: sum(count for place, count in counts if not annotated.is_added(place))
        for block, counts in analysis.place_operations.items()
    }


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


def note_absent(annotated: AnnotatedSource, names: Collection[str], kernel: str) -> Iterator[str]:
    """Yield a note for each memory that annotations name and that a kernel does not access."""
    pictures = (item.names[0] for item in annotated.bindings if item.chart is Chart.IMAGE)
    for word, wanted in (("watch", annotated.watched), ("bind image", pictures)):
        for name in wanted:
            if name not in names:
                yield f"@{word} {name}: {kernel} accesses no {name}"


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
