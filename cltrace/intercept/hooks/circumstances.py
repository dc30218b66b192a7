"""Launch configurations: a kernel, its sizes and its arguments under one number."""

import threading
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.events.records import Launch
from cltrace.intercept.hooks.contents import NO_CAPTURE, ContentCapture
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.arguments import Description, argument_record, replace_handle
from cltrace.intercept.objects.weak_users import HandleUser

MAX_KEYS: Final = 65_536
"""Size at which a table of configurations is cleared: a program that changes an argument at every launch
must not fill the memory. A configuration that was cleared gets a new number when it occurs again."""


@dataclass(frozen=True, slots=True)
class LaunchSizes:
    """Sizes of a launch as the program passed them.

    `is_multiplied` is pyopencl's `g_times_l`: the global size counts work-groups. `may_be_empty` is
    pyopencl's `allow_empty_ndrange`.
    """

    global_size: Any
    local_size: Any
    global_offset: Any = None
    is_multiplied: bool = False
    may_be_empty: bool = False

    @property
    def is_empty(self) -> bool:
        """True if pyopencl enqueues a marker in place of this launch."""
        return self.may_be_empty and 0 in (*self.global_size, *(self.local_size or ()))

    def in_work_items(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return global size, local size and offset. Local size and offset are empty if not passed."""
        size, local = _to_tuple(self.global_size), _to_tuple(self.local_size)
        offset = _to_tuple(self.global_offset)
        if not local:
            return size, (), offset
        padding = (1,) * max(len(local), len(size))
        size = (*size, *padding)[: len(padding)]
        local = (*local, *padding)[: len(padding)]
        if self.is_multiplied:
            size = tuple(a * b for a, b in zip(size, local, strict=True))
            offset = tuple(a * b for a, b in zip(offset, local, strict=False))
        return size, local, offset


class Configurations:
    """Numbers of launch configurations, and rows of launches that are not plain."""

    def __init__(self, recorder: Recorder, capture: ContentCapture = NO_CAPTURE) -> None:
        self._recorder = recorder
        self._launch_configured = capture.launch_configured
        self._next_id = count(1).__next__
        self._ids: dict[tuple[Any, ...], int] = {}
        self._lock = threading.RLock()

    def launch_id(
        self,
        kernel_id: int,
        sizes: LaunchSizes,
        arguments: tuple[Description, ...] | None,
        user: HandleUser | None = None,
    ) -> int:
        """Return the number of a configuration, and record it if it is new.

        `arguments` is `None` when they were not observed. `user.forget()` is called when the handle of
        one of their memory objects gets to stand for another object.
        """
        with self._lock:
            exact = tuple(self._replace_handle(argument, user) for argument in arguments or ())
            work_items = sizes.in_work_items()
            key = (kernel_id, arguments is None, *work_items, *exact)
            launch_id = self._ids.get(key)
            if launch_id is None:
                launch_id = self._next_id()
                if len(self._ids) >= MAX_KEYS:
                    self._ids.clear()
                self._ids[key] = launch_id
                records = tuple(map(argument_record, exact))
                global_size, local_size, global_offset = work_items
                self._recorder.sink.records.append(
                    Launch(
                        id=launch_id,
                        global_size=global_size,
                        local_size=local_size,
                        global_offset=global_offset,
                        arguments_known=arguments is not None,
                        arguments=records,
                        kernel_id=kernel_id,
                    )
                )
                self._launch_configured(launch_id, records)
            return launch_id

    def record(
        self,
        launch_id: int,
        sizes: LaunchSizes,
        queue: cl.CommandQueue,
        span: tuple[int, int],
        event: cl.Event,
        wait_for: Any,
    ) -> None:
        """Append the row of a launch that is not plain."""
        row = CallRow(
            Api.clEnqueueNDRangeKernel,
            self._recorder.registry.queue_handle(queue),
            subject_id=launch_id,
        )
        if sizes.is_empty:
            # pyopencl enqueues a marker in its place.
            row = row._replace(api=Api.clEnqueueMarkerWithWaitList, flags=int(CallFlag.EMPTY_RANGE))
        self._recorder.record_call(row, span, event=event, wait_for=wait_for)

    def _replace_handle(self, description: Description, user: HandleUser | None) -> Description:
        memory = self._recorder.memory
        if description[0] not in {"m", "i", "v", "s"}:
            return description
        handle = description[1]
        if user is not None:
            memory.add_user(handle, user)
        if description[0] == "s":
            return ("s", memory.svm_id(handle), handle)
        return replace_handle(description, memory.id_of_handle(handle))


def _to_tuple(sizes: Any) -> tuple[int, ...]:
    return () if sizes is None else tuple(int(size) for size in sizes)
