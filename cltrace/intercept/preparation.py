"""Profiling of queues that are created between tracings: a notebook's queues outlive its tracings."""

from typing import TYPE_CHECKING

from cltrace.intercept.import_watch import ImportWatch

if TYPE_CHECKING:
    from cltrace.intercept.hooks.patching import PatchSet


class Preparation:
    """Patch that enables profiling on every new queue, from `install` to `remove`. Records nothing."""

    def __init__(self) -> None:
        self._patches: PatchSet | None = None
        self._watch: ImportWatch | None = None

    def install(self) -> None:
        """Install the patch as soon as the program has imported pyopencl."""
        if self._watch is None:
            self._watch = ImportWatch("pyopencl", self._patch)

    def remove(self) -> None:
        """Create later queues as the program asks. Existing queues keep their profiling."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._patches is not None:
            self._patches.remove()
            self._patches = None

    def _patch(self) -> None:
        # Each of these modules imports pyopencl, which the program has imported by now.
        from cltrace.intercept.hooks.constructors import ConstructorHookError  # noqa: PLC0415
        from cltrace.intercept.hooks.hook_table import queue_patches  # noqa: PLC0415
        from cltrace.intercept.hooks.patching import PatchSet  # noqa: PLC0415
        from cltrace.intercept.hooks.queues import QueueHooks  # noqa: PLC0415
        from cltrace.intercept.hooks.recorder import Recorder  # noqa: PLC0415
        from cltrace.intercept.sink import Sink  # noqa: PLC0415
        from cltrace.spool.settings import Settings  # noqa: PLC0415

        patches = PatchSet()
        try:
            patches.install(queue_patches(QueueHooks(Recorder(Settings(), Sink(), None))))
        except ConstructorHookError:
            return
        self._patches = patches
