"""Launches recorded singly: by `enqueue_nd_range_kernel`, and those that a launch path cannot record."""

from types import FrameType
from typing import Any, Final

import pyopencl as cl

from cltrace.events.kinds import CallFlag, Timing
from cltrace.intercept.hooks.circumstances import is_empty_range, to_tuple
from cltrace.intercept.hooks.contents import ContentCapture
from cltrace.intercept.hooks.launch_contents import LaunchContents
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.objects.arguments import Frozen, Words, to_words

Sizes = tuple[Any, Any, Any, Any, Any]
"""Sizes of a launch as the program passed them: global size, local size, global offset, `g_times_l` (the
global size counts work-groups), `allow_empty_ndrange` (a launch without work-items is a marker)."""


class ArgumentSnapshot:
    """Arguments of a kernel at a launch, by position.

    `number` is that of their argument list, 0 until the drain gives it one.
    """

    __slots__ = ("frozen", "number")

    def __init__(self, frozen: dict[int, Frozen]) -> None:
        self.frozen = frozen
        self.number = 0

    def words(self) -> tuple[Words, ...]:
        """Return the arguments as words, in the order of their positions."""
        return tuple(to_words(self.frozen[position]) for position in sorted(self.frozen))


class SingleLaunches:
    """Recorder of single launches. `is_required` is true if every launch must be recorded singly."""

    def __init__(self, recorder: Recorder, capture: ContentCapture | None = None) -> None:
        self._recorder = recorder
        self._add = recorder.sink.single_launches.extend
        self._capture = capture
        self.watch: Final = capture if isinstance(capture, LaunchContents) else None
        """The capture that is to see launches before they are enqueued, if there is one."""
        self.is_required: Final = (
            recorder.settings.timing is not Timing.EVENT or self._capture is not None
        )

    def record(
        self,
        kernel_id: int,
        sizes: Sizes,
        queue: cl.CommandQueue,
        frame: FrameType | None,
        enter_ns: int,
        return_ns: int,
        event: cl.Event,
        wait_for: Any,
        snapshot: ArgumentSnapshot | None,
    ) -> None:
        """Append the row of a launch that `frame` made.

        `snapshot` is `None` if the arguments were not observed.
        """
        recorder = self._recorder
        flags = 0
        if sizes[4] and is_empty_range(sizes[0], sizes[1]):
            flags = int(CallFlag.EMPTY_RANGE)
        circumstance = recorder.circumstances.number(
            kernel_id,
            *recorder.sites.place(frame),
            recorder.threads.number,
            recorder.registry.queue_handle(queue),
            tuple(sizes[0]),
            to_tuple(sizes[1]),
            to_tuple(sizes[2]),
            sizes[3],
            flags,
        )
        if self._capture is not None and snapshot is not None:
            self._capture_contents(self._capture, circumstance, snapshot)
        mark = 0
        if wait_for or recorder.completions is not None:
            mark = recorder.make_mark(event, wait_for)
        self._add((enter_ns, return_ns, circumstance, snapshot, mark, event))
        if not return_ns & 63:
            recorder.sample_hook_time(return_ns)

    def _capture_contents(
        self, capture: ContentCapture, circumstance: int, snapshot: ArgumentSnapshot
    ) -> None:
        words = snapshot.words()
        snapshot.number, _ = self._recorder.argument_lists.number(words)
        memory = self._recorder.memory.numbers
        buffer_ids = [
            memory.get(argument.words[0], 0)
            for argument in words
            if argument.slot.kind in {"buffer", "image", "svm"}
        ]
        capture.launched(circumstance, snapshot.number, tuple(buffer_ids))
