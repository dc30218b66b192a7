"""Stacks of call sites: the frames from the program's first line to the line that made a call.

Stacks are the nodes of a tree, so that one number stands for a stack. A call must not walk its frames
again, so a running frame carries its *activation*: the numbers of the stacks that end in this frame's
code under this frame's callers, by instruction. The callers of a running function do not change. The
activation is the frame's `f_trace`, which Python uses only while a debugger or a coverage tool traces; it
is not set then, and calling it does nothing. Generators and coroutines are resumed by other callers, so
their frames carry none. Nor do the two innermost frames, which are most likely new at the next call,
unless their code has a loop.
"""

import inspect
import opcode
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from cltrace.events.source_files import is_installed

_MAX_NODES: Final = 100_000
_MAX_WALK: Final = 4096
"""Frames to pass over; what is further out is not part of the stack."""
_RESUMABLE: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_BACKWARD: Final = {number for name, number in opcode.opmap.items() if "JUMP_BACKWARD" in name}

STACK_TEXT: Final = """frame = getframe(1); own = frame.f_trace; code = None
                    if type(own) is Activation:
                        at = own.get(frame.f_lasti)
                        if at is None:
                            at = locate(frame)
                    else:
                        at = locate(frame)"""
"""Code of a hook that determines the place of the call (`callsites`), with this recording's `Activation`
and `locate`."""

Place = tuple[str, int, str]
"""File, line and function."""


class _Node:
    """Stack that ends at a place. `number` is 0 until a call is made there.

    `is_of_program` says that a frame in it is the program's own, `depth` how many frames it has.
    """

    __slots__ = ("activations", "children", "depth", "is_of_program", "number", "outer", "place")

    def __init__(self, outer: "_Node | None", place: Place, *, is_of_program: bool) -> None:
        self.outer = outer
        self.place = place
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.is_of_program = is_of_program
        self.number = 0
        self.children: dict[Place, _Node] = {}
        self.activations: dict[int, Activation] = {}


class Activation(dict[int, int]):
    """Numbers of the stacks that end in a code under given callers, by the offset of an instruction.

    `calls` are the activations of the functions that it calls: by the offset of an instruction, then by
    the address of their code. Code of pyopencl and cltrace (`is_library`) is not part of a stack.
    """

    __slots__ = (
        *("callers", "calls", "code", "has_loop", "is_installed", "is_library", "may_be_carried"),
    )

    def __init__(self, callers: _Node, code: CodeType, *, is_library: bool) -> None:
        self.callers = callers
        self.code = code
        self.is_library = is_library
        self.is_installed = is_installed(code.co_filename)
        self.may_be_carried = not code.co_flags & _RESUMABLE
        self.has_loop = self.may_be_carried and not _BACKWARD.isdisjoint(code.co_code[::2])
        self.calls: dict[int, dict[int, Activation]] = {}

    def __call__(self, *_event: Any) -> None:
        """Do nothing: a debugger that starts while the frame runs calls its `f_trace`."""


class Stacks:
    """Numbers of stacks of at most `depth` frames, 2 or more.

    Frames of packages around the program's first frame are left out, as are those of pyopencl and
    cltrace. A deeper stack lacks frames in its middle: it has the outermost frames, the program's own
    nearest frame, and the frame that made the call.

    `record` takes a stack's number, file, line and function, and the number of its callers' stack, 0 for
    none.
    """

    def __init__(
        self,
        depth: int,
        is_library: Callable[[CodeType], bool],
        next_id: Callable[[], int],
        record: Callable[[int, str, int, str, int], None],
    ) -> None:
        # Each instance has a type of its own: frames may carry activations of an earlier recording.
        self.activation_type: Final[type[Activation]] = type(
            "Activation", (Activation,), {"__slots__": ()}
        )
        self._depth = depth
        self._is_library = is_library
        self._next_id = next_id
        self._record = record
        self._root = _Node(None, ("", 0, ""), is_of_program=False)
        self._nodes = 0
        self._activations = 0
        self._lock = threading.Lock()
        self.locate: Final = self._make_locator()
        """Returns the number of the stack of the call that a frame makes; 0 for none."""

    def _make_locator(self) -> Callable[[FrameType | None], int]:
        """Return `locate`. Most traced calls call it, so it reads no attributes of this object."""
        activation_type, find_caller = self.activation_type, self._find_caller
        walk, number_call = self._walk, self._number_call

        def locate(frame: Any) -> int:
            if frame is None:
                return 0
            own = frame.f_trace
            if type(own) is not activation_type:
                try:
                    # Most often a line calls a function that it has called before.
                    back = frame.f_back
                    around = back.f_trace
                    if type(around) is not activation_type:
                        around = find_caller(back)
                    own = around.calls[back.f_lasti][id(frame.f_code)]
                    if own.has_loop:
                        carry(frame, own)
                except (KeyError, AttributeError):
                    own = walk(frame)
            instruction = frame.f_lasti
            number: int | None = own.get(instruction)
            if number is None:
                number = own[instruction] = number_call(own, instruction)
            return number

        return locate

    def _find_caller(self, frame: Any) -> Activation:
        """Return the activation of a frame that carries none and has made this call before.

        Raises: `KeyError`, `AttributeError` if it is new.
        """
        back = frame.f_back
        own = back.f_trace
        if type(own) is not self.activation_type:
            own = self._find_nested(back)
        found: Activation = own.calls[back.f_lasti][id(frame.f_code)]
        if found.has_loop:
            carry(frame, found)
        return found

    def _find_nested(self, frame: Any) -> Activation:
        """Return the activation of a frame as `_find_caller` does. It and those around carry theirs."""
        path, at = [frame], frame.f_back
        while type(own := at.f_trace) is not self.activation_type:
            path.append(at)
            at = at.f_back
        for inner in reversed(path):
            own = own.calls[at.f_lasti][id(inner.f_code)]
            at = inner
            if own.may_be_carried:
                carry(at, own)
        found: Activation = own
        return found

    def _walk(self, frame: FrameType) -> Activation:
        """Return the activation of a frame in a new stack, and let the frames around it carry theirs."""
        path: list[FrameType] = []
        at: FrameType | None = frame
        callers = self._root
        while at is not None and len(path) < _MAX_WALK:
            carried: Any = at.f_trace
            if type(carried) is self.activation_type:
                callers = self._node_of_caller(carried, at.f_lasti)
                break
            path.append(at)
            at = at.f_back
        while True:
            inner = path.pop()
            own = self._activation(callers, inner.f_code)
            if own.has_loop or (path and own.may_be_carried):
                carry(inner, own)
            if not path:
                return own
            callers = self._node_of_caller(own, inner.f_lasti)

    def _activation(self, callers: _Node, code: CodeType) -> Activation:
        own = callers.activations.get(id(code))
        if own is None:
            own = self.activation_type(callers, code, is_library=self._is_library(code))
            if self._activations < _MAX_NODES:
                own = callers.activations.setdefault(id(code), own)
                self._activations += 1
        return own

    def _node_of_caller(self, own: Activation, instruction: int) -> _Node:
        """Return the stack around a call of a function."""
        node = own.callers
        if not own.is_library and (not own.is_installed or node.depth < self._depth - 1):
            # Of the frames left out, the program's own come first: they are what its author can change.
            if node.depth >= self._depth - 1 and node.outer is not None:
                node = node.outer
            node = self._child(node, own, instruction)
        own.calls[instruction] = node.activations
        return node

    def _number_call(self, own: Activation, instruction: int) -> int:
        node = own.callers if own.is_library else self._child(own.callers, own, instruction)
        with self._lock:
            return self._number(node)

    def _child(self, callers: _Node, own: Activation, instruction: int) -> _Node:
        """Return the stack of a frame's line under its callers; the callers' if there are too many."""
        if not own.is_installed and not callers.is_of_program:
            callers = self._root
        code = own.code
        place = (code.co_filename, line_of(code, instruction), code.co_qualname)
        child = callers.children.get(place)
        if child is None:
            if self._nodes >= _MAX_NODES:
                return callers
            is_of_program = callers.is_of_program or not own.is_installed
            child = _Node(callers, place, is_of_program=is_of_program)
            child = callers.children.setdefault(place, child)
            self._nodes += 1
        return child

    def _number(self, node: _Node) -> int:
        """Return the number of a stack, and record it after its callers if it is new; 0 for no frame."""
        unrecorded = []
        at = node
        while at.outer is not None and not at.number:
            unrecorded.append(at)
            at = at.outer
        outer = at.number
        for each in reversed(unrecorded):
            number = self._next_id()
            self._record(number, *each.place, outer)
            outer = each.number = number
        return outer


def carry(frame: FrameType, own: Activation) -> None:
    """Let a frame carry its activation, unless something traces."""
    if sys.gettrace() is None and (frame.f_trace is None or isinstance(frame.f_trace, Activation)):
        frame.f_trace = own


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of the instruction at an offset; 0 if it has none."""
    for begin, end, line in code.co_lines():
        if begin <= instruction < end:
            return line or 0
    return 0
