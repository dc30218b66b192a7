"""Target instruction sets, for which a program is compiled to find the registers of its kernels.

Clang alone compiles them, without a device or its driver: for AMD down to allocated registers, for NVIDIA
to PTX, whose registers are unlimited.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from cltrace.kernels.compiler.ptx import PtxFunction, read_ptx
from cltrace.kernels.compiler.ptx_loops import LoopRegisters, loop_registers

SHIM: Final = Path(__file__).with_name("target.h")
"""The header that defines OpenCL C builtins by functions of the target."""
BODY_PREFIX: Final = "__clang_ocl_kern_imp_"
"""The prefix of clang's name for a kernel's body, which the kernel calls in unoptimised code."""
_MAX_NVIDIA_REGISTERS: Final = 255
"""Registers that a thread on an NVIDIA GPU can have; values beyond them spill."""


class Target(StrEnum):
    """A target instruction set."""

    NVIDIA = "nvptx64"
    AMD = "amdgcn"


TARGET_FLAGS: Final[Mapping[Target, tuple[str, ...]]] = {
    Target.NVIDIA: ("-target", "nvptx64-nvidia-cuda", "-march=sm_90"),
    Target.AMD: ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a"),
}


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """Registers that a kernel needs, which limit occupancy together with local memory.

    Attributes:
        per_item: 32-bit registers per work-item.
        per_warp: 32-bit registers that the lanes of a warp share (AMD's scalar registers; 0 elsewhere).
        spilled: 32-bit registers per work-item that do not fit.
        private_bytes: memory per work-item for variables outside of registers.
        is_allocated: whether the numbers come from a register allocator. Otherwise they are the maximum
            number of live values, which a device's own compiler exceeds or undercuts by reordering
            instructions.
        loops: the loops of the code with the registers that they need, of NVIDIA's only.
    """

    per_item: int
    per_warp: int
    spilled: int
    private_bytes: int
    is_allocated: bool
    loops: tuple[LoopRegisters, ...] = ()

    @property
    def needed(self) -> int:
        """32-bit registers per work-item that the values of the code need."""
        return self.per_item + self.spilled


def read_registers(
    target: Target, assembly: str, name_file: Callable[[str], str] = str
) -> Mapping[str, RegisterUse]:
    """Return the register use of each kernel in `assembly`; kernels with calls left are missing.

    `name_file` returns a source file's own name.
    """
    match target:
        case Target.NVIDIA:
            return _read_nvidia(read_ptx(assembly, name_file))
        case Target.AMD:
            return dict(_read_amd(assembly))


def _read_nvidia(functions: Mapping[str, PtxFunction]) -> Mapping[str, RegisterUse]:
    registers = {}
    for name, function in functions.items():
        body = functions.get(BODY_PREFIX + name, function)
        if function.is_kernel and not body.calls:
            live = body.max_live_registers()
            allocated = min(live, _MAX_NVIDIA_REGISTERS)
            registers[name] = RegisterUse(
                allocated,
                0,
                live - allocated,
                body.private_bytes,
                is_allocated=False,
                loops=loop_registers(body),
            )
    return registers


_AMD_KERNEL: Final = re.compile(
    r"^  - \.agpr_count:.*?(?=^  - \.agpr_count:|^amdhsa)", re.MULTILINE | re.DOTALL
)
_AMD_FIELD: Final = re.compile(r"^    \.(\w+): +(\S+)$", re.MULTILINE)


def _read_amd(assembly: str) -> list[tuple[str, RegisterUse]]:
    registers = []
    _, _, metadata = assembly.partition("\namdhsa.kernels:\n")
    for block in _AMD_KERNEL.findall(metadata):
        fields = dict(_AMD_FIELD.findall(block))
        name = fields["name"].strip("'\"")
        if not _has_call(assembly, name):
            registers.append((name, _amd_register_use(fields)))
    return registers


def _has_call(assembly: str, name: str) -> bool:
    """Return whether a function calls another, which happens only if that one could not be inlined."""
    body = re.search(rf"^{re.escape(name)}:.*?^\.Lfunc_end", assembly, re.MULTILINE | re.DOTALL)
    return body is not None and "s_swappc_b64" in body[0]


def _amd_register_use(fields: Mapping[str, str]) -> RegisterUse:
    return RegisterUse(
        per_item=int(fields["vgpr_count"]),
        per_warp=int(fields["sgpr_count"]),
        spilled=int(fields["vgpr_spill_count"]),
        private_bytes=int(fields["private_segment_fixed_size"]),
        is_allocated=True,
    )
