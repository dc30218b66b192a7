"""What of LLVM's code our own executor executes for a case, opcode by opcode."""

from collections import Counter
from dataclasses import dataclass

from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.observer import AccessDetail, CountObserver
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel, prepare_kernel
from cltrace.kernels.execute.scheduler import Runner
from cltrace.kernels.execute.state import ExecutionState
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    CopyOrigin,
    ExtractElement,
    ExtractValue,
    FallThrough,
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
from cltrace.kernels.ir.module import Module
from cltrace.kernels.ir.types import (
    SPACE_NAMES,
    FloatType,
    PointerType,
    Type,
    VectorType,
    element_of,
    size_bytes,
    stored_bytes,
)
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA
from tests.kernels.cases import Array, Case
from tests.kernels.launches import arguments_of, contents_of, local_size_of, program_of

_NAMES = {
    Negate: "fneg", Select: "select", Offset: "getelementptr", Allocate: "alloca",
    ExtractElement: "extractelement", InsertElement: "insertelement", Shuffle: "shufflevector",
    ExtractValue: "extractvalue", InsertValue: "insertvalue", Jump: "br", Branch: "br",
    Switch: "switch", Return: "ret",
}  # fmt: skip
_COPIES = {
    CopyOrigin.READ: "load private",
    CopyOrigin.WRITE: "store private",
    CopyOrigin.FREEZE: "freeze",
}
RETYPED = "bitcast of a pointer"
NOT_MOVED = "getelementptr by nothing"
_PLAIN = {RETYPED: "bitcast", NOT_MOVED: "getelementptr"}
_BODY = "__clang_ocl_kern_imp_"


@dataclass(frozen=True)
class Executed:
    """What was executed, and what came of it.

    Attributes:
        opcodes: number by LLVM's opcode. Loads and stores have their address space, calls their
            function. Casts between pointers, and steps from one to the same, are by themselves.
        sizes: bytes of loads and stores; a vector of three is the four that it is kept as.
        contents: the final contents of the case's buffers.
    """

    opcodes: Counter[str]
    sizes: Counter[str]
    contents: list[Array | None]

    @property
    def plain(self) -> Counter[str]:
        """The opcodes by LLVM's names only."""
        found: Counter[str] = Counter()
        for name, number in self.opcodes.items():
            found[_PLAIN.get(name, name)] += number
        return found


def module_of(case: Case) -> Module:
    """The case's program by our own clang, as it is written."""
    return program_of(case).module(CodeForm.WRITTEN)


def executed_code(case: Case, module: Module) -> Executed:
    """A case executed with the code of a module."""
    body = _BODY + case.kernel
    prepared = prepare_kernel(module, body if body in module.functions else case.kernel)
    space = nd_range(case.global_size, local_size_of(case))
    grid = Grid(space, range(space.groups), NVIDIA.warp_width)
    launch = LaunchMemory(prepared, arguments_of(case), grid)
    observer = CountObserver(prepared, grid, NVIDIA, AccessDetail.ACCESSES)
    Runner(
        prepared,
        ExecutionState(grid=grid, memory=launch.memory, images=launch.images, observer=observer),
        1 << 40,
    ).run(launch.frame)
    observer.finish()
    return _tallied(prepared, observer, contents_of(case, launch.outputs()))


def _tallied(
    prepared: PreparedKernel, observer: CountObserver, contents: list[Array | None]
) -> Executed:
    lanes = observer.block_lanes().sum(axis=1)
    found = Executed(Counter(), Counter(), contents)
    for number in prepared.graph.order:
        block, times = prepared.function.blocks[number], int(lanes[number])
        for item in (*block.instructions, block.terminator):
            if isinstance(item, FallThrough):
                continue
            name = _cast(item) or _opcode(item)
            found.opcodes[name] += times
            if name.startswith(("load ", "store ")):
                assert isinstance(item, Load | Store | Copy)
                found.sizes[name] += times * _bytes(item.type)
    return found


def _bytes(kind: Type) -> int:
    is_of_three = isinstance(kind, VectorType) and kind.count == 3
    return size_bytes(kind) if is_of_three else stored_bytes(kind)


def _cast(item: Instruction | Terminator) -> str:
    """The name of what leaves an address as it is; empty for all else."""
    match item:
        case Convert(_, "bitcast", _, PointerType()):
            return RETYPED
        case Offset(_, _, 0, ()):
            return NOT_MOVED
        case _:
            return ""


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
            return _COPIES[item.origin]
        case Call():
            return f"call {item.callee}"
        case _:
            return _NAMES[type(item)]
