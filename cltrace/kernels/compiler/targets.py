"""The instruction sets for which a program is compiled to see how many registers its kernels need.

clang alone does it, without a device or its driver: for AMD down to allocated registers, for NVIDIA to
PTX, whose registers are without number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from cltrace.kernels.compiler.ptx import PtxFunction, read_ptx

SHIM: Final = Path(__file__).with_name("target.h")
"""OpenCL C's functions in functions of the target."""
BODY: Final = "__clang_ocl_kern_imp_"
"""How clang begins the name of a kernel's body, which the kernel calls as it is written."""
_MOST_NVIDIA: Final = 255
"""How many registers a thread of NVIDIA's can have; what is beyond spills."""


class Target(StrEnum):
    """An instruction set, and the processor of it that is compiled for."""

    NVIDIA = "nvptx64"
    AMD = "amdgcn"


TARGET_FLAGS: Final[Mapping[Target, tuple[str, ...]]] = {
    Target.NVIDIA: ("-target", "nvptx64-nvidia-cuda", "-march=sm_90"),
    Target.AMD: ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a"),
}


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """What a kernel needs of a compute unit's registers, besides local memory what limits occupancy.

    `per_item` are registers of 32 bits of a work-item, `per_warp` those that the lanes of a warp share
    (AMD's scalar registers; 0 elsewhere), `spilled` those of a work-item that do not fit, `private_bytes`
    the memory that a work-item has for variables that are in no register. `is_allocated` says that
    they are those of a register allocator; else they are how many values live at once at most, which
    a device's own compiler goes over or under by how it orders instructions.
    """

    per_item: int
    per_warp: int
    spilled: int
    private_bytes: int
    is_allocated: bool


def read_registers(target: Target, assembly: str) -> Mapping[str, RegisterUse]:
    """The registers of each kernel in `assembly`; kernels that call what is not there are missing."""
    match target:
        case Target.NVIDIA:
            return _of_nvidia(read_ptx(assembly))
        case Target.AMD:
            return dict(_of_amd(assembly))


def _of_nvidia(functions: Mapping[str, PtxFunction]) -> Mapping[str, RegisterUse]:
    found = {}
    for name, function in functions.items():
        body = functions.get(BODY + name, function)
        if function.is_kernel and not body.calls:
            live = body.most_live_registers()
            kept = min(live, _MOST_NVIDIA)
            found[name] = RegisterUse(kept, 0, live - kept, body.private_bytes, is_allocated=False)
    return found


_AMD_KERNEL: Final = re.compile(
    r"^  - \.agpr_count:.*?(?=^  - \.agpr_count:|^amdhsa)", re.MULTILINE | re.DOTALL
)
_AMD_FIELD: Final = re.compile(r"^    \.(\w+): +(\S+)$", re.MULTILINE)


def _of_amd(assembly: str) -> list[tuple[str, RegisterUse]]:
    found = []
    _, _, metadata = assembly.partition("\namdhsa.kernels:\n")
    for block in _AMD_KERNEL.findall(metadata):
        fields = dict(_AMD_FIELD.findall(block))
        name = fields["name"].strip("'\"")
        if not _calls(assembly, name):
            found.append((name, _amd_use(fields)))
    return found


def _calls(assembly: str, name: str) -> bool:
    """Whether a function calls another: all that there are have been inlined."""
    body = re.search(rf"^{re.escape(name)}:.*?^\.Lfunc_end", assembly, re.MULTILINE | re.DOTALL)
    return body is not None and "s_swappc_b64" in body[0]


def _amd_use(fields: Mapping[str, str]) -> RegisterUse:
    return RegisterUse(
        per_item=int(fields["vgpr_count"]),
        per_warp=int(fields["sgpr_count"]),
        spilled=int(fields["vgpr_spill_count"]),
        private_bytes=int(fields["private_segment_fixed_size"]),
        is_allocated=True,
    )
