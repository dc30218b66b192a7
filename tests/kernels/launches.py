"""Cases on our own executor: their results, and what it executed by LLVM's opcodes."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cltrace.kernels.arguments import Argument as KernelArgument
from cltrace.kernels.arguments import BufferArgument, LocalArgument, StructArgument
from cltrace.kernels.compiler import Form
from cltrace.kernels.counts.recorder import Depth, Recorder
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.launch import Launch
from cltrace.kernels.execute.run import Runner
from cltrace.kernels.execute.state import State
from cltrace.kernels.execution import execute, nd_range
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    CopyOf,
    ExtractElement,
    ExtractValue,
    Fall,
    InsertElement,
    InsertValue,
    Instruction,
    Jump,
    Load,
    Negate,
    Offset,
    Return,
    Select,
    Shuffle,
    Store,
    Switch,
    Terminator,
)
from cltrace.kernels.ir.types import SPACE_NAMES, FloatType, element_of
from cltrace.kernels.machine import NVIDIA
from cltrace.kernels.program import Program, parse
from tests.kernels.cases import Array, Case, Local, Vector

_NAMES = {
    Negate: "fneg", Select: "select", Offset: "getelementptr", Allocate: "alloca",
    ExtractElement: "extractelement", InsertElement: "insertelement", Shuffle: "shufflevector",
    ExtractValue: "extractvalue", InsertValue: "insertvalue", Jump: "br", Branch: "br",
    Switch: "switch", Return: "ret",
}  # fmt: skip
_COPIES = {CopyOf.READ: "load private", CopyOf.WRITE: "store private", CopyOf.FREEZE: "freeze"}


def program_of(case: Case) -> Program:
    return parse(case.text, case.options)


def local_size_of(case: Case) -> tuple[int, ...]:
    return case.local_size or (1,) * len(case.global_size)


def arguments_of(case: Case) -> Sequence[KernelArgument]:
    found: list[KernelArgument] = []
    for argument in case.inputs():
        if isinstance(argument, Local):
            found.append(LocalArgument(argument.size))
        elif isinstance(argument, Vector):
            found.append(StructArgument(argument.values.tobytes()))
        elif isinstance(argument, np.ndarray):
            found.append(BufferArgument(argument.nbytes, argument))
        else:
            found.append(argument)
    return found


def executed(case: Case, form: Form) -> tuple[list[Array | None], frozenset[str]]:
    """The final contents of a case's buffers, and what the executor says went wrong."""
    outputs, notes = execute(
        program_of(case), case.kernel, case.global_size, local_size_of(case), arguments_of(case),
        form=form,
    )  # fmt: skip
    contents: list[Array | None] = []
    for number, argument in enumerate(case.inputs()):
        if isinstance(argument, np.ndarray):
            raw = outputs[number][: argument.nbytes]
            contents.append(raw.view(argument.dtype).reshape(argument.shape))
        else:
            contents.append(None)
    return contents, notes


def opcodes_of(case: Case) -> Counter[str]:
    """How often each of LLVM's opcodes was executed, of the code as it is written."""
    prepared = program_of(case).prepared(case.kernel, Form.WRITTEN)
    space = nd_range(case.global_size, local_size_of(case))
    grid = Grid(space, range(space.groups), NVIDIA.warp_width)
    launch = Launch(prepared, arguments_of(case), grid)
    recorder = Recorder(prepared, grid, NVIDIA, Depth.ACCESSES)
    state = State(grid, launch.memory, launch.images, recorder)
    Runner(prepared, state, 1 << 40).run(launch.frame)
    lanes = recorder.block_lanes().sum(axis=1)
    found: Counter[str] = Counter()
    for number in prepared.graph.order:
        block = prepared.function.blocks[number]
        for item in (*block.instructions, block.terminator):
            if not isinstance(item, Fall):
                found[_opcode(item)] += int(lanes[number])
    return found


def _opcode(item: Instruction | Terminator) -> str:
    match item:
        case Binary() | Convert():
            return item.operator
        case Compare():
            return "fcmp" if isinstance(element_of(item.type), FloatType) else "icmp"
        case Load():
            return f"load {SPACE_NAMES[item.space]}"
        case Store():
            return f"store {SPACE_NAMES[item.space]}"
        case Copy():
            return _COPIES[item.stands_for]
        case Call():
            return f"call {item.callee}"
        case _:
            return _NAMES[type(item)]
