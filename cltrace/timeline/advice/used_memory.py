"""Memory objects that commands use and that may change."""

from collections.abc import Iterator

from cltrace.timeline.advice.model import READ_ONLY, Evidence
from cltrace.trace.commands import ABSENT


class UsedMemory:
    """Memory objects of commands, by the evidence of a run."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._commands = commands = evidence.activity.commands
        self._is_kernel: list[bool] = commands.is_kind("kernel").tolist()

    def of(self, command: int) -> Iterator[int | None]:
        """Yield the memory objects that a command uses and that may change, `None` for unknown ones.

        A part of a buffer counts as the whole.
        """
        evidence, commands = self._evidence, self._commands
        if self._is_kernel[command]:
            used = evidence.used_buffers.get(int(commands.launch[command]))
            yield from (None,) if used is None else map(self._whole, filter(self._changes, used))
            return
        for column in (commands.source_buffer, commands.target_buffer):
            if column[command] != ABSENT:
                yield self._whole(int(column[command]))

    def _changes(self, buffer: int) -> bool:
        memory = self._evidence.memory.get(buffer)
        return memory is None or not memory.flags & READ_ONLY

    def _whole(self, buffer: int) -> int:
        return self._evidence.parents.get(buffer, buffer)
