"""Flags of a launch of a source's kernels: its sizes, arguments and build options."""

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.commands.shared.argument_types import parse_positive
from cltrace.commands.shared.image_arguments import (
    SAMPLER_TYPE,
    image_of_contents,
    image_of_size,
    is_image,
    parse_sampler,
    split_normalised,
)
from cltrace.errors import UsageError
from cltrace.files import read_input
from cltrace.kernels import (
    Argument,
    BufferArgument,
    KernelParameter,
    LocalArgument,
    Machine,
    Program,
    parse,
)
from cltrace.kernels.counts.traced_launches import usual_local_size
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.similar_names import suggest_name

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])(?:i?B)?")
_SCALES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MAX_SOURCE_BYTES: Final = 64 << 20
_MAX_ITEMS: Final = 1 << 63
_MAX_BUFFER_BYTES: Final = 1 << 62
_INTEGER_BITS: Final = {"char": 8, "short": 16, "int": 32, "long": 64, "size_t": 64}
_ELEMENT_BYTES: Final = {
    "char": 1,
    "short": 2,
    "int": 4,
    "long": 8,
    "float": 4,
    "double": 8,
    "half": 2,
}


@dataclass(frozen=True, slots=True)
class SourceLaunch:
    """Launch of the kernels of a source.

    Attributes:
        options: the build options.
        include: the directories of headers.
        global_size: the global size, None for no launch.
        local_size: the size of work-groups, None for the usual one.
        arguments: the arguments that are given, as NAME=VALUE.
    """

    options: str
    include: Sequence[str]
    global_size: tuple[int, ...] | None
    local_size: tuple[int, ...] | None
    arguments: Sequence[str]


def source_launch(arguments: argparse.Namespace) -> SourceLaunch:
    """Return the launch that the flags describe."""
    return SourceLaunch(
        arguments.options,
        arguments.include,
        arguments.global_size,
        arguments.local_size,
        arguments.arg,
    )


def read_program(file: Path, launch: SourceLaunch) -> Program:
    """Read and parse a source. Raises: `UsageError`, `KernelError`."""
    directories = header_directories(file, launch)
    return parse_source(file, launch.options, include_dirs=directories)


def header_directories(file: Path, launch: SourceLaunch) -> Sequence[Path]:
    """Return the directories of a source's headers: its own and the given ones, none if none are."""
    return [file.parent, *map(Path, launch.include)] if launch.include else []


def parse_source(
    file: Path,
    options: str,
    *,
    include_dirs: Sequence[str | Path] = (),
    headers: Mapping[str, str] | None = None,
) -> Program:
    """Read and parse a source with the files that it may include. Raises: `UsageError`, `KernelError`."""
    try:
        source = read_input(file, _MAX_SOURCE_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    return parse(source, options, include_dirs=include_dirs, headers=headers)


def find_launches(
    program: Program, file: Path, pattern: str, launch: SourceLaunch, machine: Machine
) -> list[KernelLaunch]:
    """Return the launch of each kernel whose name matches. Raises: `UsageError`."""
    if launch.global_size is None:
        raise UsageError("a source's kernels need --global-size to be launched")
    names = [name for name in program.kernels if fnmatchcase(name, pattern)]
    if not names:
        suggestion = suggest_name(pattern, program.kernels)
        raise UsageError(f"no kernel of {file} is called {pattern}{suggestion}")
    local_size = launch.local_size or usual_local_size(launch.global_size, machine)
    if len(local_size) != len(launch.global_size):
        raise UsageError("--local-size and --global-size need the same number of dimensions")
    given = dict(_split_argument(text) for text in launch.arguments)
    return [
        KernelLaunch(
            program=program,
            kernel=name,
            global_size=launch.global_size,
            local_size=local_size,
            global_offset=None,
            arguments=_make_arguments(program, name, given, launch.global_size),
        )
        for name in names
    ]


def add_source_launch_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of a source's launch."""
    parser.add_argument(
        "--global-size",
        metavar="N[,N]",
        type=_parse_sizes,
        help="count for a launch of a source's kernels with N work-items per dimension",
    )
    parser.add_argument(
        "--local-size",
        metavar="N[,N]",
        type=_parse_sizes,
        help="count for work-groups of N work-items per dimension",
    )
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set an argument: a number, 4M for a buffer's size, 640x480 for an image's, @FILE.npy for "
        "contents, repeat,linear for a sampler",
    )
    parser.add_argument(
        "--options", metavar="WORDS", default="", help="build with these options: '-DN=16'"
    )
    parser.add_argument(
        "-I",
        dest="include",
        metavar="DIR",
        action="append",
        default=[],
        help="look for headers in DIR",
    )


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = re.split(r"[,x]", text)
    if not 1 <= len(parts) <= 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three sizes, such as 1024,64")
    sizes = tuple(parse_positive(part.strip()) for part in parts)
    if math.prod(sizes) >= _MAX_ITEMS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 2^63 work-items")
    return sizes


def _split_argument(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(f"--arg {text} is not NAME=VALUE")
    return name, value


def _make_arguments(
    program: Program, kernel: str, given: Mapping[str, str], sizes: Sequence[int]
) -> list[Argument]:
    """Return the kernel's arguments. Buffers that are not given have an element per work-item."""
    arguments: list[Argument] = []
    missing: list[str] = []
    for parameter in program.kernels[kernel].parameters:
        text = given.get(parameter.name)
        if text is not None:
            arguments.append(_parse_argument(parameter, text))
        elif parameter.space in {"global", "constant"} and "*" in parameter.type:
            num_items = int(np.prod(sizes, dtype=object))
            arguments.append(BufferArgument(num_items * _element_bytes(parameter.type)))
        else:
            missing.append(parameter.name)
    if missing:
        raise UsageError(f"{kernel} needs --arg {' --arg '.join(f'{name}=…' for name in missing)}")
    return arguments


def _element_bytes(type_name: str) -> int:
    match = re.match(r"u?(char|short|int|long|float|double|half)(\d*)", type_name)
    if match is None:
        return 4
    width = int(match[2] or 1)
    return _ELEMENT_BYTES[match[1]] * (4 if width == 3 else width)


def _parse_argument(parameter: KernelParameter, text: str) -> Argument:
    if parameter.type == SAMPLER_TYPE:
        return parse_sampler(parameter, text)
    if is_image(parameter):
        return _parse_image(parameter, text)
    if parameter.space in {"global", "constant", "local"}:
        if text.startswith("@"):
            array = _read_array(text[1:])
            return BufferArgument(array.nbytes, array)
        size = _SIZE.fullmatch(text)
        num_bytes = (
            float(size[1]) * _SCALES[size[2]]
            if size is not None
            else _parse_number(parameter, text)
        )
        if not 0 <= num_bytes < _MAX_BUFFER_BYTES:
            raise UsageError(f"--arg {parameter.name}={text} is no size of memory")
        if parameter.space == "local":
            return LocalArgument(int(num_bytes))
        return BufferArgument(int(num_bytes))
    number = _parse_number(parameter, text)
    bits = _INTEGER_BITS.get(parameter.type.removeprefix("u"))
    if bits is not None and not (
        isinstance(number, int) and -(1 << (bits - 1)) <= number < 1 << bits
    ):
        raise UsageError(f"--arg {parameter.name}={text} does not fit into {parameter.type}")
    return number


def _parse_number(parameter: KernelParameter, text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise UsageError(f"--arg {parameter.name}={text} is no number") from None


def _parse_image(parameter: KernelParameter, text: str) -> Argument:
    if not text.startswith("@"):
        return image_of_size(parameter, text)
    path, is_normalised = split_normalised(text[1:])
    return image_of_contents(parameter, text, _read_array(path), is_normalised=is_normalised)


def _read_array(path: str) -> NDArray[Any]:
    if not Path(path).is_file():
        raise UsageError(f"{path} cannot be read as a .npy file: it is no regular file")
    try:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a .npy file: {error}") from error
    return array
