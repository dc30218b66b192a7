"""Names of a page's slices, numbered."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.report.activity import TRANSFERS
from cltrace.report.tracks.path_builds import BUILDS
from cltrace.report.tracks.scene import NameKind, SliceName
from cltrace.report.tracks.slices import HostSlices, api_name
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.critical_path import PathStep, StepKind

_WAITING: Final = frozenset(map(int, (Api.clFinish, Api.clWaitForEvents)))
_STEP_NAMES: Final = {
    StepKind.LAUNCH: SliceName("launching: enqueued, not yet running", NameKind.LAUNCH),
    StepKind.RETURN: SliceName("returning: done, the host not yet notified", NameKind.RETURN),
}


class NameTable:
    """Table of names, numbered in the order in which they are first used."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._numbers: dict[SliceName, int] = {}

    @property
    def names(self) -> tuple[SliceName, ...]:
        """The names by number."""
        return tuple(self._numbers)

    def number(self, name: SliceName) -> int:
        """Return the number of a name."""
        return self._numbers.setdefault(name, len(self._numbers))

    def number_slice_names(self, positions: Int64s) -> Int64s:
        """Return the numbers of commands' names: the kernel, or the kind of command."""
        commands, kernels = self._activity.commands, self._activity.names.kernels
        kind, kernel = commands.kind[positions], commands.kernel[positions]
        keys = kind * (len(kernels) + 1) + kernel
        values, position = np.unique(keys, return_inverse=True)
        numbers = [
            self.number(self._command_name(*divmod(key, len(kernels) + 1)))
            for key in values.tolist()
        ]
        name_numbers: Int64s = np.array(numbers, np.int64)[position.reshape(-1)]
        return name_numbers

    def number_calls(self, host: HostSlices) -> Int64s:
        """Return the numbers of host calls' names."""
        # A call that enqueued nothing has -1 as its command, which selects the appended last element.
        blocks = np.append(self._activity.commands.is_blocking, np.False_)[host.command]
        values, position = np.unique(host.api * 2 + blocks, return_inverse=True)
        numbers = [self.number(_call_name(*divmod(key, 2))) for key in values.tolist()]
        name_numbers: Int64s = np.array(numbers, np.int64)[position.reshape(-1)]
        return name_numbers

    def number_steps(self, steps: Sequence[PathStep]) -> Int64s:
        """Return the numbers of the names of the critical path's steps."""
        threads = self._activity.names.threads
        numbers = np.empty(len(steps), np.int64)
        on_device = []
        for at, step in enumerate(steps):
            if step.kind is StepKind.DEVICE:
                on_device.append(at)
            elif step.kind is StepKind.HOST:
                thread = threads.get(step.thread, "thread")
                numbers[at] = self.number(SliceName(f"host: {thread}", NameKind.HOST))
            else:
                numbers[at] = self.number(_STEP_NAMES[step.kind])
        positions = np.array([steps[at].command for at in on_device], np.int64)
        numbers[on_device] = self.number_slice_names(positions)
        return numbers

    def number_build(self, api: int) -> int:
        """Return the number of the name of a build by an entry point."""
        return self.number(_call_name(api, 0))

    def _command_name(self, kind: int, kernel: int) -> SliceName:
        kind_name = KINDS[kind] if 0 <= kind < len(KINDS) else "command"
        if kind_name == "kernel":
            return SliceName(self._activity.names.kernels[kernel] or kind_name, NameKind.KERNEL)
        return SliceName(kind_name, NameKind.TRANSFER if kind_name in TRANSFERS else NameKind.OTHER)


def _call_name(api: int, blocks: int) -> SliceName:
    if api in _WAITING:
        return SliceName(api_name(api), NameKind.WAIT)
    if api in BUILDS:
        return SliceName(api_name(api), NameKind.BUILD)
    if blocks:
        return SliceName(f"{api_name(api)} (blocking)", NameKind.WAIT)
    return SliceName(api_name(api), NameKind.CALL)
