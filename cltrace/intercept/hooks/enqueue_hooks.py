"""Hooks of the calls that programs make most often besides launches: enqueues and waits.

Such a call takes about a microsecond, so its hook must not take more. Its code is generated once per
entry point, without calls between the parts of a hook: pyopencl's function runs between two clock
readings, and one row is appended (`sink.RAW_CALL_WIDTH`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.intercept.hooks.call_hook import Hook, copy_identity, failed_row
from cltrace.intercept.hooks.call_shapes import CallShape
from cltrace.intercept.hooks.recorder import Recorder, event_to_keep
from cltrace.intercept.objects.stacks import STACK_TEXT
from cltrace.intercept.tracebacks import GENERATED_FILENAME

_TEMPLATE: Final = """\
def make(original, recorder, shape_of, api, note_failure, parts):
    gate, clock, threads = recorder.gate, recorder.clock, recorder.threads
    getframe, sites, add = recorder.getframe, recorder.sites, recorder.add_call
    program_codes, place = sites.program_codes, sites.place
    Activation, locate = sites.stacks.activation_type, sites.stacks.locate
    registry, handles = recorder.registry, recorder.memory.numbers
    queues, finalised, queue_handle = registry.queues, registry.finalised, registry.queue_handle
    make_mark, has_completions = recorder.make_mark, recorder.completions is not None
    next_mark, add_waits = recorder.sink.next_mark, recorder.add_waits
    Buffer, NannyEvent, keep, handle_of, undescribed, note_map, capture = parts
    sample_hook_time, lose_command = recorder.sample_hook_time, recorder.lose_command
    tallies = recorder.tallies
    def hook(*args, **kwargs):
        enter = clock()
        try:
            result = original(*args, **kwargs)
            leave = clock()
            try:
                if gate:
                    {body}
                    {place}
                    add((enter, leave, api, 0, code, at, threads.number, {row}))
                    if not leave & 63:
                        sample_hook_time(leave)
                {skipped}
            except Exception as fault:
                lose_command(fault)
            return result
        except BaseException as error:
            note_failure(error, args, enter)
            raise
    return hook
"""

_PLACES: Final = {
    0: "code, at = None, 0",
    1: """frame = getframe(1); code = frame.f_code
                    if id(code) not in program_codes:
                        code, at = place(frame)
                    else:
                        at = frame.f_lasti""",
}
"""Code that determines the place of the call, by depth (`callsites`)."""

QUEUE_TEXT: Final = """queue_id = queue.int_ptr
                    if finalised or queue_id not in queues:
                        queue_id = queue_handle(queue)"""
"""Code that determines the handle of the queue, and registers it if it is new."""


def place_text(depth: int) -> str:
    """Return the code that determines the place of the call, for call sites of `depth` frames."""
    return _PLACES.get(depth, STACK_TEXT)


_COMMAND: Final = f"""try:
                        (queue, wait_for, source, target, size_bytes, source_offset,
                         target_offset, flags) = shape_of(*args, **kwargs)
                    except Exception as fault:
                        (queue, wait_for, source, target, size_bytes, source_offset,
                         target_offset, flags) = undescribed(api, args, fault)
                    if source is None:
                        source = 0
                    elif type(source) is Buffer and (handle := source.int_ptr) in handles:
                        source = handle
                    else:
                        source = handle_of(source, enter)
                    if target is None:
                        target = 0
                    elif type(target) is Buffer and (handle := target.int_ptr) in handles:
                        target = handle
                    else:
                        target = handle_of(target, enter)
                    event = result
                    if type(result) is tuple:
                        event, size_bytes = note_map(result, target, size_bytes)
                    {QUEUE_TEXT}
                    mark = 0
                    if has_completions:
                        mark = make_mark(event, wait_for)
                    elif wait_for:
                        mark = next_mark()
                        add_waits(mark, wait_for)
                    if type(event) is NannyEvent:
                        event = keep(event)
                    if capture is not None:
                        capture(api, target, target_offset, size_bytes, args, kwargs, result)"""
_COMMAND_ROW: Final = (
    "queue_id, mark, 0, source, target, size_bytes, source_offset, target_offset, flags, event"
)

_UNMAP: Final = f"""queue, wait_for, target, size_bytes = shape_of(args, kwargs, result)
                    {QUEUE_TEXT}
                    mark = make_mark(result, wait_for) if wait_for or has_completions else 0"""
_UNMAP_ROW: Final = "queue_id, mark, 0, 0, target, size_bytes, 0, 0, 0, result"

_QUEUE_CALL: Final = f"""queue = args[0]
                    {QUEUE_TEXT}"""
_QUEUE_CALL_ROW: Final = "queue_id, 0, 0, 0, 0, -1, 0, 0, 0, None"

_WAIT: Final = "mark = make_mark(None, shape_of(args, kwargs))"
_WAIT_ROW: Final = "0, mark, 0, 0, 0, -1, 0, 0, 0, None"

_SKIPPED: Final = """else:
                    tallies.skip_command()"""


@dataclass(frozen=True, slots=True)
class CommandParts:
    """Functions that a hook calls for what is not frequent.

    `handle_of` takes a memory object and the entry of the call and returns its handle. `undescribed`
    returns the shape of a call whose arguments cannot be described. `note_map` takes the result of a
    call that maps, the handle and the size, and returns event and size. `capture` takes the entry point,
    what the command writes, and the call; `None` if nothing is captured.
    """

    handle_of: Callable[[Any, int], int]
    undescribed: Callable[[int, tuple[Any, ...], Exception], CallShape]
    note_map: Callable[[tuple[Any, ...], int, int], tuple[Any, int]]
    capture: Callable[..., None] | None


def source_of(body: str, row: str, *, depth: int, is_command: bool) -> str:
    """Return the source of a hook: a function `make` that returns the hook."""
    return _TEMPLATE.format(
        body=body,
        row=row,
        place=place_text(depth),
        skipped=_SKIPPED if is_command else "",
    )


def command_hook(
    recorder: Recorder,
    original: Hook,
    api: Api,
    shape_of: Callable[..., CallShape],
    parts: CommandParts,
) -> Hook:
    """Return the hook of an entry point that enqueues a command; `shape_of` describes its arguments."""
    return _make(recorder, original, api, shape_of, (_COMMAND, _COMMAND_ROW), parts)


def unmap_hook(
    recorder: Recorder, original: Hook, api: Api, describe: Callable[..., tuple[Any, ...]]
) -> Hook:
    """Return the hook of `MemoryMap.release`.

    `describe` takes the arguments and the result, and returns queue, wait list, handle and size.
    """
    return _make(recorder, original, api, describe, (_UNMAP, _UNMAP_ROW))


def queue_hook(recorder: Recorder, original: Hook, api: Api) -> Hook:
    """Return the hook of a method of `CommandQueue` that enqueues nothing."""
    return _make(recorder, original, api, None, (_QUEUE_CALL, _QUEUE_CALL_ROW))


def wait_hook(
    recorder: Recorder,
    original: Hook,
    api: Api,
    events_of: Callable[[tuple[Any, ...], dict[str, Any]], Any],
) -> Hook:
    """Return the hook of a call that concerns events; `events_of` takes its arguments."""
    return _make(recorder, original, api, events_of, (_WAIT, _WAIT_ROW))


_codes: Final[dict[str, CodeType]] = {}


def _make(
    recorder: Recorder,
    original: Hook,
    api: Api,
    shape_of: Any,
    text: tuple[str, str],
    parts: CommandParts | None = None,
) -> Hook:
    body, row = text
    depth = recorder.settings.callsite_depth
    source = source_of(body, row, depth=depth, is_command=api in COMMAND_KINDS)
    if source not in _codes:
        _codes[source] = compile(source, GENERATED_FILENAME, "exec")
    namespace: dict[str, Any] = {}
    exec(_codes[source], namespace)

    def note_failure(error: BaseException, args: tuple[Any, ...], enter_ns: int) -> None:
        recorder.call_failed(error, failed_row(recorder, api, args), enter_ns)

    hook: Hook = namespace["make"](
        original,
        recorder,
        shape_of,
        int(api),
        note_failure,
        (
            *(cl.Buffer, cl.NannyEvent, event_to_keep),
            *((None,) * 4 if parts is None else (getattr(parts, name) for name in _PARTS)),
        ),
    )
    return copy_identity(original, hook)


_PARTS: Final = ("handle_of", "undescribed", "note_map", "capture")
