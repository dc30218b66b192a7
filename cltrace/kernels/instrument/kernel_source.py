"""OpenCL C for a kernel in LLVM IR, with statements that record what each work-item does.

A block of IR is a label, a branch is a `goto`, a value is a variable. The code does what the compiled
program does, in its order: each condition is evaluated once, and each access is one access.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.instrument.block_writer import BlockWriter
from cltrace.kernels.instrument.c_types import c_type, declare_pointers
from cltrace.kernels.instrument.event_log import (
    DECLARATIONS,
    ENTRY,
    MAX_SITES,
    PARAMETERS,
    record_word,
)
from cltrace.kernels.instrument.item_ends import ItemEnds
from cltrace.kernels.instrument.memory_declarations import MemoryDeclarations
from cltrace.kernels.instrument.slot_names import SlotNames
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.ir.types import GENERIC, FloatType, PointerType, Type, element_of

INSTRUMENTED_NAME: Final = "cltrace_inside"
"""The name of an instrumented kernel."""
_NO_CONTRACTION: Final = "#pragma OPENCL FP_CONTRACT OFF\n"
_EXTENSIONS: Final = {"cl_khr_fp64": FloatType(64), "cl_khr_fp16": FloatType(16)}
_SAMPLER_BITS: Final = (
    (0x1, {0: "CLK_NORMALIZED_COORDS_FALSE", 1: "CLK_NORMALIZED_COORDS_TRUE"}),
    (
        0xE,
        {
            0: "CLK_ADDRESS_NONE",
            2: "CLK_ADDRESS_CLAMP_TO_EDGE",
            4: "CLK_ADDRESS_CLAMP",
            6: "CLK_ADDRESS_REPEAT",
            8: "CLK_ADDRESS_MIRRORED_REPEAT",
        },
    ),
    (0x30, {0x10: "CLK_FILTER_NEAREST", 0x20: "CLK_FILTER_LINEAR"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentedKernel:
    """An instrumented kernel. Its parameters are the kernel's and those of the log.

    Attributes:
        source: the program.
        shared_objects: the memory objects that all work-items share, as positions among those of the
            kernel, in the order of their addresses in the log.
        own_objects: those that a work-item or its work-group has, in the order of their addresses.
    """

    source: str
    shared_objects: tuple[int, ...]
    own_objects: tuple[int, ...]


def instrument(
    kernel: PreparedKernel,
    targets: Mapping[int, Sequence[int]],
    barriers: Sequence[int],
    group_items: int,
    *,
    contracts: bool = True,
) -> InstrumentedKernel:
    """Return the source of a kernel that records its events.

    `targets` has the distinct targets of each block that ends with decisions, as `DecisionModel` has
    them; `barriers` are the blocks that begin with a barrier; `group_items` is the number of work-items
    of a whole work-group. Without `contracts`, no product and sum become one operation.

    Raises: `UnsupportedKernelError` for code that cannot be written in OpenCL C.
    """
    writer = _KernelWriter(kernel)
    memory = writer.memory
    blocks = BlockWriter(kernel, targets, barriers, writer.slots, writer.ends)
    if len(kernel.sites) + len(barriers) > MAX_SITES:
        raise UnsupportedKernelError(f"a device records at most {MAX_SITES:,} places of accesses")
    return InstrumentedKernel(
        source=("" if contracts else _NO_CONTRACTION) + writer.program(blocks, group_items),
        shared_objects=tuple(memory.shared_objects),
        own_objects=tuple(memory.own_objects),
    )


class _KernelWriter:
    """Writer of what surrounds the blocks of a kernel."""

    def __init__(self, kernel: PreparedKernel) -> None:
        self._kernel = kernel
        self._function = kernel.function
        self._has_generic = PointerType(GENERIC) in self._kinds()
        self.slots = SlotNames(kernel)
        self.ends = ItemEnds(kernel)
        self.memory = MemoryDeclarations(kernel, self.slots, has_generic=self._has_generic)

    def program(self, blocks: BlockWriter, group_items: int) -> str:
        """Return the source of the program."""
        memory = self.memory
        body = [line for block in self._kernel.graph.order for line in blocks.block(block)]
        bases = "".join(
            f"cltrace_bases[{number}] = (ulong)({text});"
            for number, text in enumerate(memory.shared_addresses)
        )
        return "\n".join(
            [
                *self._extensions(),
                declare_pointers(has_generic=self._has_generic),
                DECLARATIONS,
                f"#define cltrace_full_group {group_items}u",
                *self._sampler_declarations(),
                *memory.outside,
                f"__kernel void {INSTRUMENTED_NAME}({', '.join([*memory.parameters, *PARAMETERS])})",
                "{",
                *memory.inside,
                *self._declarations(),
                ENTRY,
                *self.ends.declarations(),
                f"if (cltrace_row == 0 && cltrace_linear == 0) {{ {bases} }}",
                *memory.copies,
                *map(record_word, memory.own_addresses),
                *self.ends.ways_on(),
                *body,
                *self.ends.statements(),
                "}\n",
            ]
        )

    def _kinds(self) -> set[Type]:
        """Return the types of all values, and of the elements of vectors."""
        kinds = {kind for kind in self._function.types if kind is not None}
        return kinds | {element_of(kind) for kind in kinds}

    def _extensions(self) -> Iterator[str]:
        for name, kind in _EXTENSIONS.items():
            if kind in self._kinds():
                yield f"#pragma OPENCL EXTENSION {name} : enable"
        instructions = (
            item
            for block in self._kernel.graph.order
            for item in self._function.blocks[block].instructions
        )
        if any(isinstance(item, Call) and "atom_" in item.callee for item in instructions):
            for part in ("base", "extended"):
                yield f"#ifdef cl_khr_int64_{part}_atomics"
                yield f"#pragma OPENCL EXTENSION cl_khr_int64_{part}_atomics : enable"
                yield "#endif"

    def _sampler_declarations(self) -> Iterator[str]:
        for name, bits in self.slots.samplers.items():
            words = [names[bits & mask] for mask, names in _SAMPLER_BITS if bits & mask in names]
            yield f"__constant sampler_t {name} = {' | '.join(words)};"

    def _declarations(self) -> Iterator[str]:
        """Yield the variables of all values that are no constants or parameters as they are."""
        for slot, kind in enumerate(self._function.types):
            if kind is None or slot in self.slots.constants or slot in self.slots.handles:
                continue
            yield f"{c_type(self.slots.type_of(slot))} v{slot};"
