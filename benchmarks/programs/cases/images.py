"""Images: creation, reads, writes, copies, fills, maps, and sharing with OpenGL."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyopencl as cl

from benchmarks.programs.cases.case import (
    CALL_TARGET_US,
    Case,
    Loop,
    collect,
    entry_point,
    repeat,
)
from benchmarks.programs.cases.environment import Environment, UnsupportedError

_SHAPE: Final = (32, 32)
_BYTE: Final = np.dtype(np.uint8)
_ORIGIN: Final = (0, 0, 0)
_REGION: Final = (32, 32, 1)
_IN_BUFFER: Final[dict[str, Any]] = {"offset": 0, "origin": _ORIGIN, "region": _REGION}
_GL_REASON: Final = "needs a context shared with OpenGL"


def _format() -> cl.ImageFormat:
    return cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8)


def _make_image(environment: Environment) -> cl.Image:
    environment.require_images()
    return cl.Image(environment.context, cl.mem_flags.READ_WRITE, _format(), _SHAPE)


def _make_picture() -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.zeros((*_SHAPE, 4), _BYTE)


def _create(environment: Environment) -> Loop:
    environment.require_images()
    context, flags, image_format = environment.context, cl.mem_flags.READ_WRITE, _format()
    return repeat(lambda: cl.Image(context, flags, image_format, _SHAPE))


def _create_from_array(environment: Environment) -> Loop:
    environment.require_images()
    context, picture = environment.context, _make_picture()
    return repeat(lambda: cl.image_from_array(context, picture, 4, norm_int=True))


def _write(environment: Environment) -> Loop:
    queue, image, picture = environment.queue, _make_image(environment), _make_picture()
    return collect(lambda: cl.enqueue_copy(queue, image, picture, origin=_ORIGIN, region=_REGION))


def _read(environment: Environment) -> Loop:
    queue, image, picture = environment.queue, _make_image(environment), _make_picture()
    return collect(lambda: cl.enqueue_copy(queue, picture, image, origin=_ORIGIN, region=_REGION))


def _copy(environment: Environment) -> Loop:
    queue, source = environment.queue, _make_image(environment)
    target = _make_image(environment)
    return repeat(
        lambda: cl.enqueue_copy(
            queue, target, source, src_origin=_ORIGIN, dest_origin=_ORIGIN, region=_REGION
        )
    )


def _copy_from_buffer(environment: Environment) -> Loop:
    queue, image = environment.queue, _make_image(environment)
    buffer = environment.make_buffer()
    return repeat(lambda: cl.enqueue_copy(queue, image, buffer, **_IN_BUFFER))


def _copy_to_buffer(environment: Environment) -> Loop:
    queue, image = environment.queue, _make_image(environment)
    buffer = environment.make_buffer()
    return repeat(lambda: cl.enqueue_copy(queue, buffer, image, **_IN_BUFFER))


def _fill(environment: Environment) -> Loop:
    queue, image = environment.queue, _make_image(environment)
    black: Any = np.zeros(4, np.float32)
    return repeat(lambda: cl.enqueue_fill_image(queue, image, black, _ORIGIN, _REGION))


def _map(environment: Environment) -> Loop:
    queue, image, flags = environment.queue, _make_image(environment), cl.map_flags.READ
    shape = (*_SHAPE, 4)
    return collect(
        lambda: cl.enqueue_map_image(queue, image, flags, _ORIGIN, _REGION, shape, _BYTE)
    )


def _share_with_gl(_: Environment) -> Loop:
    raise UnsupportedError(_GL_REASON)


def _case(
    name: str, prepare: Callable[[Environment], Loop], function: str, calls: int = 1000
) -> Case:
    return Case(name, prepare, entry_point(function), calls, CALL_TARGET_US)


CASES: Final = (
    Case("Image(), dropped", _create, ("Image._custom_init",), calls=500),
    Case("image_from_array, dropped", _create_from_array, ("Image._custom_init",), calls=500),
    _case("write an image", _write, "_enqueue_write_image", 500),
    _case("read an image", _read, "_enqueue_read_image", 500),
    _case("image to image", _copy, "_enqueue_copy_image"),
    _case("buffer to image", _copy_from_buffer, "_enqueue_copy_buffer_to_image"),
    _case("image to buffer", _copy_to_buffer, "_enqueue_copy_image_to_buffer"),
    _case("fill an image", _fill, "enqueue_fill_image"),
    _case("map an image", _map, "enqueue_map_image", 500),
    Case("acquire from OpenGL", _share_with_gl, entry_point("enqueue_acquire_gl_objects")),
    Case("release to OpenGL", _share_with_gl, entry_point("enqueue_release_gl_objects")),
)
