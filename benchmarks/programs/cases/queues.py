"""Creation of contexts and command queues, and queries of the properties of queues."""

from typing import Any, Final

import pyopencl as cl

from benchmarks.programs.cases.case import Case, Loop, repeat
from benchmarks.programs.cases.environment import Environment


def _create_context(environment: Environment) -> Loop:
    devices = [environment.device]
    return repeat(lambda: cl.Context(devices))


def _context_from_handle(environment: Environment) -> Loop:
    handle = environment.context.int_ptr
    return repeat(lambda: cl.Context.from_int_ptr(handle, True))  # noqa: FBT003 - its signature


def _create(environment: Environment) -> Loop:
    context, properties = environment.context, environment.properties
    return repeat(lambda: cl.CommandQueue(context, properties=properties))  # type: ignore[arg-type]


def _with_block(environment: Environment) -> Loop:
    context, properties = environment.context, environment.properties

    def call() -> None:
        with cl.CommandQueue(context, properties=properties):  # type: ignore[arg-type]
            pass

    return repeat(call)


def _from_handle(environment: Environment) -> Loop:
    handle = environment.queue.int_ptr
    return repeat(lambda: cl.CommandQueue.from_int_ptr(handle, True))  # noqa: FBT003 - its signature


def _properties_by_get_info(environment: Environment) -> Loop:
    queue: Any = environment.queue
    return repeat(lambda: queue.get_info(cl.command_queue_info.PROPERTIES))


def _context_by_get_info(environment: Environment) -> Loop:
    queue: Any = environment.queue
    return repeat(lambda: queue.get_info(cl.command_queue_info.CONTEXT))


def _properties(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: queue.properties)


def _properties_array(environment: Environment) -> Loop:
    queue: Any = environment.queue
    version = environment.device.platform.version
    environment.require(version >= "OpenCL 3", "the platform is older than OpenCL 3.0")
    return repeat(lambda: queue.properties_array)


def _device(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: queue.device)


def _references(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: queue.reference_count)


def _context_references(environment: Environment) -> Loop:
    context = environment.context
    return repeat(lambda: context.reference_count)


def _context_references_by_get_info(environment: Environment) -> Loop:
    context: Any = environment.context
    return repeat(lambda: context.get_info(cl.context_info.REFERENCE_COUNT))


_GET_INFO: Final = "CommandQueue.get_info"

CASES: Final = (
    Case("Context(), dropped", _create_context, ("Context.__init__",), calls=200),
    Case("Context.from_int_ptr", _context_from_handle, ("Context.from_int_ptr",)),
    Case("CommandQueue(), dropped", _create, ("CommandQueue.__init__",), calls=200),
    Case(
        "with CommandQueue()",
        _with_block,
        ("CommandQueue.__init__", "CommandQueue.finish", "CommandQueue._finalize"),
        calls=200,
    ),
    Case("CommandQueue.from_int_ptr", _from_handle, ("CommandQueue.from_int_ptr",)),
    Case("get_info(PROPERTIES)", _properties_by_get_info, (_GET_INFO,)),
    Case("get_info(CONTEXT)", _context_by_get_info, (_GET_INFO,)),
    Case("queue.properties", _properties, ("CommandQueue.properties",)),
    Case("queue.properties_array", _properties_array, ("CommandQueue.properties_array",)),
    Case("queue.device", _device, ()),
    Case("queue.reference_count", _references, ("CommandQueue.reference_count",)),
    Case("context.reference_count", _context_references, ("Context.reference_count",)),
    Case(
        "Context.get_info(REFERENCE_COUNT)",
        _context_references_by_get_info,
        ("Context.get_info",),
    ),
)
