"""Registers and private memory of kernels, as their driver and clang state them."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels import KernelCounts, RegisterUse, Target
from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import default_settings
from cltrace.kernels.machine import Machine
from cltrace.predict.kernel_advice.counting import Counting
from cltrace.predict.kernel_advice.source_edits import has_required_size
from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.trace.reader import Trace

MAX_REGISTERS: Final = 255
"""Registers that a work-item on an NVIDIA GPU can have."""
_MAX_COMPILING_S: Final = 4
"""Limit of CPU time for compiling a program to its registers: branches in large loops take long."""
_UNKNOWN_BYTES: Final = 64
"""Private memory up to which it may be that of a driver's own functions, as of `sin` (40 B)."""
_FULL_SHARE: Final = 0.75
"""Share of the possible registers that values need at least where some are spilled: clang orders
instructions in another way than a driver's compiler, and counts a fifth less."""
_OPTION: Final = re.compile(r"-cl-nv-maxrregcount(?:=|\s*)(\d{1,4})")
_STATED: Final = re.compile(r"(\d{1,6}) bytes spill stores|Used (\d{1,4}) registers")
_MEMORY: Final = """
    SELECT l.launch_id, max(w.private_memory_bytes)
    FROM v_launch l JOIN v_work_group_info w USING (kernel_id)
    WHERE w.private_memory_bytes IS NOT NULL GROUP BY l.launch_id
"""
_LOGS: Final = """
    SELECT l.launch_id, l.kernel, b.log FROM v_launch l JOIN v_kernel k USING (kernel_id)
    JOIN v_build b ON b.program_id = k.program_id WHERE b.log LIKE '%registers%'
"""


class RegisterLimit(StrEnum):
    """Cause of the limit on a work-item's registers."""

    DEVICE = "device"
    OPTION = "option"
    """A build option."""
    GROUP = "group"
    """A work-group size that the source requires: all work-items of a group are resident together."""


_UNKNOWN_LIMIT: Final = (0, RegisterLimit.DEVICE)


@dataclass(frozen=True, slots=True)
class StatedRegisters:
    """Registers and bytes of spill stores of a kernel that a build log states."""

    per_item: int
    spilled_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRegisters:
    """Registers and private memory of a kernel.

    `use` is clang's, `None` where it cannot compile the kernel for the device. `stated` is the driver's,
    `None` where its log has nothing of it, and so is `private_bytes`, the memory of a work-item.
    `max_registers` is the limit of a work-item's registers, 0 if it is not known, and `limit` its cause.
    """

    use: RegisterUse | None
    stated: StatedRegisters | None
    private_bytes: int | None
    max_registers: int
    limit: RegisterLimit = RegisterLimit.DEVICE

    @property
    def needed(self) -> int:
        """Registers of a work-item for all values at once, 0 if they are not known."""
        return 0 if self.use is None else self.use.needed

    @property
    def per_item(self) -> int:
        """Registers that a work-item has, 0 if they are not known."""
        if self.stated is not None:
            return self.stated.per_item
        return min(self.needed, self.max_registers)

    def source_text(self, text: str) -> str:
        """Return a text about `per_item` that says where the number is from."""
        is_bound = self.needed >= self.max_registers > 0
        return text if self.stated is not None or is_bound else f"{text} by clang"

    def spilled_bytes(self, counts: KernelCounts) -> int:
        """Return the private memory of a work-item that holds registers which do not fit."""
        private_bytes = self.private_bytes or 0
        if self.stated is not None:
            stated_bytes = self.stated.spilled_bytes
            return stated_bytes if self.private_bytes is None else min(private_bytes, stated_bytes)
        if self.use is not None:
            is_full = self.needed >= _FULL_SHARE * self.max_registers
            return max(private_bytes - self.use.private_bytes, 0) if is_full else 0
        rest = private_bytes - sum(array.size_bytes for array in counts.private)
        return rest if rest > _UNKNOWN_BYTES else 0


UNKNOWN_REGISTERS: Final = KernelRegisters(
    use=None, stated=None, private_bytes=None, max_registers=0
)


def read_kernel_registers(
    trace: Trace,
    prediction: PredictedTrace,
    launches: Sequence[PredictedLaunch],
    counting: Counting,
    end_s: float | None,
) -> Mapping[int, KernelRegisters]:
    """Return the registers of the kernels of launches on a device, by the id of each launch.

    When the monotonic clock reads `end_s`, the rest is left out.
    """
    device = prediction.profile.device
    is_nvidia = "NVIDIA" in device.platform
    machine = machine_of(device)
    targets = (Target.NVIDIA,) if is_nvidia else ()
    # What does not compile in this time is not kept: reports of a kernel wait longer for its registers.
    settings = replace(counting.settings or default_settings(), cache=None)
    limits = ProcessLimits(cpu_s=_MAX_COMPILING_S)
    counter = TracedLaunchCounter(machine, settings, limits, targets=targets)
    memory = {launch: size for launch, size in trace.rows(_MEMORY) if isinstance(size, int)}
    stated = {
        launch: own
        for launch, kernel, log in trace.rows(_LOGS)
        if (own := read_log(str(log), str(kernel))) is not None
    }
    registers = {}
    for predicted in launches:
        if end_s is not None and monotonic() > end_s:
            break
        number = predicted.launch.launch_id
        limit = _limit(predicted, machine) if is_nvidia else _UNKNOWN_LIMIT
        registers[number] = KernelRegisters(
            use=_compiled(predicted.launch, counter),
            stated=stated.get(number),
            private_bytes=memory.get(number),
            max_registers=limit[0],
            limit=limit[1],
        )
    return registers


def read_log(log: str, kernel: str) -> StatedRegisters | None:
    """Return the registers of a kernel that the log of a build with `-cl-nv-verbose` states."""
    _, _, own = log.partition(f"'{kernel}'")
    spilled_bytes = 0
    for spilled, used in _STATED.findall(own):
        if used:
            return StatedRegisters(int(used), spilled_bytes)
        spilled_bytes = int(spilled)
    return None


def _compiled(launch: TracedLaunch, counter: TracedLaunchCounter) -> RegisterUse | None:
    with suppress(KernelError, MemoryError):
        return counter.code(launch).registers.get(Target.NVIDIA)
    return None


def _limit(predicted: PredictedLaunch, machine: Machine) -> tuple[int, RegisterLimit]:
    """Return the registers that a work-item may have, and the cause."""
    limits = [(MAX_REGISTERS, RegisterLimit.DEVICE)]
    program, counts = predicted.launch.program, predicted.counts
    if program is not None:
        option = _OPTION.search(" ".join(program.options))
        if option is not None and int(option[1]):
            limits.append((int(option[1]), RegisterLimit.OPTION))
        if has_required_size(program.source, predicted.launch.kernel):
            items = max(counts.work_items // max(counts.groups, 1), 1)
            limits.append((machine.max_registers(items), RegisterLimit.GROUP))
    return min(limits, key=lambda limit: limit[0])
