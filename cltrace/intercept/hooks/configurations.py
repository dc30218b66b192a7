"""Launch configurations: a kernel, its NDRange and its arguments under one number."""

import threading
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.events.records import Launch
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.arguments import Description, argument_record, with_ids
from cltrace.intercept.objects.weak_users import Forgetful

MOST_KEYS: Final = 65_536
"""A table of configurations forgets what it has beyond this many: a program that changes an argument
at every launch must not fill the memory. What is forgotten gets a new number when it comes again."""


@dataclass(frozen=True, slots=True)
class Ndrange:
    """The sizes of a launch as the program gave them.

    `is_multiplied` is pyopencl's `g_times_l`: the global size counts work-groups. `may_be_empty` is
    its `allow_empty_ndrange`.
    """

    global_size: Any
    local_size: Any
    global_offset: Any = None
    is_multiplied: bool = False
    may_be_empty: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether pyopencl enqueues a marker in the place of this launch."""
        return self.may_be_empty and 0 in (*self.global_size, *(self.local_size or ()))

    def in_work_items(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Global size, local size and offset; the latter two empty where the program gave none."""
        size, local = _whole(self.global_size), _whole(self.local_size)
        offset = _whole(self.global_offset)
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
    """Numbers for launch configurations, and the rows of launches that are not plain."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._next_id = count(1).__next__
        self._ids: dict[tuple[Any, ...], int] = {}
        self._lock = threading.RLock()

    def launch_id(
        self,
        kernel_id: int,
        ndrange: Ndrange,
        arguments: tuple[Description, ...] | None,
        user: Forgetful | None = None,
    ) -> int:
        """The number of a configuration, which is recorded if it is new.

        `arguments` is `None` when they are not known. `user` is to forget when the handle of one of
        their memory objects comes to mean another object.
        """
        with self._lock:
            exact = tuple(self._exact(one, user) for one in arguments or ())
            sizes = ndrange.in_work_items()
            key = (kernel_id, arguments is None, *sizes, *exact)
            known = self._ids.get(key)
            if known is None:
                known = self._next_id()
                if len(self._ids) >= MOST_KEYS:
                    self._ids.clear()
                self._ids[key] = known
                records = tuple(map(argument_record, exact))
                self._recorder.sink.records.append(
                    Launch(known, *sizes, arguments is not None, records, kernel_id)
                )
                self._recorder.configured(known, records)
            return known

    def record(
        self,
        launch_id: int,
        ndrange: Ndrange,
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
        if ndrange.is_empty:
            # pyopencl enqueues a marker in its place.
            row = row._replace(api=Api.clEnqueueMarkerWithWaitList, flags=int(CallFlag.EMPTY_RANGE))
        self._recorder.record_call(row, span, event=event, wait_for=wait_for)

    def _exact(self, description: Description, user: Forgetful | None) -> Description:
        memory = self._recorder.memory
        if description[0] not in {"m", "i", "v", "s"}:
            return description
        handle = description[1]
        if user is not None:
            memory.used_by(handle, user)
        if description[0] == "s":
            return ("s", memory.svm_id(handle), handle)
        return with_ids(description, memory.id_of_handle(handle))


def _whole(sizes: Any) -> tuple[int, ...]:
    return () if sizes is None else tuple(int(one) for one in sizes)
