"""The names of a page's slices, numbered."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.report.activity import TRANSFERS
from cltrace.report.tracks.scene import Name, NameKind
from cltrace.report.tracks.slices import HostSlices, api_name
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.critical_path import Step, StepKind

_WAITING: Final = frozenset(map(int, (Api.clFinish, Api.clWaitForEvents)))
_STEP_NAMES: Final = {
    StepKind.LAUNCH: Name("launching: enqueued, not yet running", NameKind.LAUNCH),
    StepKind.RETURN: Name("returning: done, the host not yet told", NameKind.RETURN),
}


class Naming:
    """Gives numbers to names, in the order in which they are first used."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._numbers: dict[Name, int] = {}

    @property
    def names(self) -> tuple[Name, ...]:
        """The names by number."""
        return tuple(self._numbers)

    def number(self, name: Name) -> int:
        """The number of a name."""
        return self._numbers.setdefault(name, len(self._numbers))

    def of_commands(self, positions: Int64s) -> Int64s:
        """The numbers of commands' names: the kernel, or what was done."""
        commands, kernels = self._activity.commands, self._activity.names.kernels
        kind, kernel = commands.kind[positions], commands.kernel[positions]
        both = kind * (len(kernels) + 1) + kernel
        values, where = np.unique(both, return_inverse=True)
        numbers = [
            self.number(self._command_name(*divmod(one, len(kernels) + 1)))
            for one in values.tolist()
        ]
        found: Int64s = np.array(numbers, np.int64)[where.reshape(-1)]
        return found

    def of_calls(self, host: HostSlices) -> Int64s:
        """The numbers of host calls' names."""
        # A call that made no command looks at the last place, which is added.
        blocks = np.append(self._activity.commands.is_blocking, np.False_)[host.command]
        values, where = np.unique(host.api * 2 + blocks, return_inverse=True)
        numbers = [self.number(_call_name(*divmod(one, 2))) for one in values.tolist()]
        found: Int64s = np.array(numbers, np.int64)[where.reshape(-1)]
        return found

    def of_steps(self, steps: Sequence[Step]) -> Int64s:
        """The numbers of the names of the critical path's steps."""
        threads = self._activity.names.threads
        numbers = np.empty(len(steps), np.int64)
        on_device = []
        for at, step in enumerate(steps):
            if step.kind is StepKind.DEVICE:
                on_device.append(at)
            elif step.kind is StepKind.HOST:
                thread = threads.get(step.thread, "thread")
                numbers[at] = self.number(Name(f"host: {thread}", NameKind.HOST))
            else:
                numbers[at] = self.number(_STEP_NAMES[step.kind])
        positions = np.array([steps[at].command for at in on_device], np.int64)
        numbers[on_device] = self.of_commands(positions)
        return numbers

    def _command_name(self, kind: int, kernel: int) -> Name:
        what = KINDS[kind] if 0 <= kind < len(KINDS) else "command"
        if what == "kernel":
            return Name(self._activity.names.kernels[kernel] or what, NameKind.KERNEL)
        return Name(what, NameKind.TRANSFER if what in TRANSFERS else NameKind.OTHER)


def _call_name(api: int, blocks: int) -> Name:
    if api in _WAITING:
        return Name(api_name(api), NameKind.WAIT)
    if blocks:
        return Name(f"{api_name(api)} (blocking)", NameKind.WAIT)
    return Name(api_name(api), NameKind.CALL)
