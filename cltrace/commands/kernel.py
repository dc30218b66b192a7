"""`cltrace kernel`: what kernels have to do, counted from their source and their launches."""

import argparse
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.commands.shared.argument_types import positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import opened
from cltrace.errors import UsageError
from cltrace.kernels import (
    Argument,
    BufferArgument,
    KernelParameter,
    LocalArgument,
    Machine,
    Program,
    count,
    parse,
)
from cltrace.kernels.counts.traced_launches import traced_launches, usual_local_size
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models.thesis import THESIS, Thesis
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.profile import DeviceProfile, load_profile
from cltrace.report.document import Document
from cltrace.report.kernel import kernel_report, program_report
from cltrace.report.traced_kernel import launch_report

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])(?:i?B)?")
_SCALES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ELEMENT_BYTES: Final = {
    "char": 1,
    "short": 2,
    "int": 4,
    "long": 8,
    "float": 4,
    "double": 8,
    "half": 2,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `kernel`."""
    parser.add_argument("file", metavar="FILE.cl|TRACE", type=Path, help="a source, or a trace")
    parser.add_argument("--kernel", metavar="GLOB", default="*", help="only such kernels")
    parser.add_argument(
        "--global-size",
        metavar="N[,N]",
        type=_sizes,
        help="work-items in each dimension, of a source",
    )
    parser.add_argument("--local-size", metavar="N[,N]", type=_sizes, help="those of a work-group")
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument: a number, 4M for a buffer's size, @FILE.npy for contents",
    )
    parser.add_argument(
        "--options", metavar="WORDS", default="", help="build options, such as '-DN=16'"
    )
    parser.add_argument(
        "-I", dest="include", metavar="DIR", action="append", default=[], help="where headers are"
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="count for the device of a profile, with times (default, of a trace: its device's)",
    )
    parser.add_argument(
        "--cpu",
        metavar="CORES",
        type=positive,
        help="count for a CPU of so many cores (default: a GPU)",
    )
    parser.add_argument(
        "--top", metavar="N", type=positive, default=5, help="most launches of a trace (default 5)"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print what kernels have to do."""
    wanted: str | None = arguments.profile
    profile = load_profile(wanted) if wanted is not None else None
    if arguments.file.suffix in {".cl", ".ocl", ".clh"}:
        documents: Iterable[Document] = _of_source(arguments, profile)
    else:
        documents = _of_trace(arguments, profile)
    for document in documents:
        print_document(document, color=arguments.color, form=arguments.format)
    return 0


def _machine(arguments: argparse.Namespace, profile: DeviceProfile | None) -> Machine:
    if arguments.cpu is not None:
        return Machine.of_cpu(arguments.cpu)
    return Machine() if profile is None else machine_of(profile.device)


def _costs(profile: DeviceProfile | None) -> Thesis | None:
    return THESIS.fitted(profile) if profile is not None else None


def _sizes(text: str) -> tuple[int, ...]:
    parts = re.split(r"[,x]", text)
    if not 1 <= len(parts) <= 3:
        raise argparse.ArgumentTypeError(f"{text!r} has not one to three sizes")
    return tuple(positive(part.strip()) for part in parts)


def _of_source(arguments: argparse.Namespace, profile: DeviceProfile | None) -> Iterable[Document]:
    try:
        source = arguments.file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{arguments.file} cannot be read: {error.strerror}") from error
    directories = [arguments.file.parent, *arguments.include] if arguments.include else ()
    program = parse(source, arguments.options, include_dirs=directories)
    if arguments.global_size is None:
        yield program_report(program)
        return
    names = [name for name in program.kernels if fnmatchcase(name, arguments.kernel)]
    if not names:
        raise UsageError(f"no kernel of {arguments.file} is called {arguments.kernel}")
    local = arguments.local_size or usual_local_size(arguments.global_size)
    given = dict(_given(text) for text in arguments.arg)
    for name in names:
        values = _values(program, name, given, arguments.global_size)
        machine = _machine(arguments, profile)
        counts = count(program, name, arguments.global_size, local, values, machine=machine)
        yield kernel_report(program, counts, _costs(profile))


def _given(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(f"--arg {text} is not NAME=VALUE")
    return name, value


def _values(
    program: Program, kernel: str, given: dict[str, str], sizes: Sequence[int]
) -> list[Argument]:
    """The kernel's arguments. Buffers that are not given have an element for each work-item."""
    found: list[Argument] = []
    missing: list[str] = []
    for parameter in program.kernels[kernel].parameters:
        text = given.get(parameter.name)
        if text is not None:
            found.append(_value(parameter, text))
        elif parameter.space in {"global", "constant"} and "*" in parameter.type:
            items = int(np.prod(sizes, dtype=object))
            found.append(BufferArgument(items * _element_bytes(parameter.type)))
        else:
            missing.append(parameter.name)
    if missing:
        raise UsageError(f"{kernel} needs --arg {' --arg '.join(f'{name}=…' for name in missing)}")
    return found


def _element_bytes(kind: str) -> int:
    found = re.match(r"u?(char|short|int|long|float|double|half)(\d*)", kind)
    if found is None:
        return 4
    count = int(found[2] or 1)
    return _ELEMENT_BYTES[found[1]] * (4 if count == 3 else count)


def _value(parameter: KernelParameter, text: str) -> Argument:
    size = _SIZE.fullmatch(text)
    if parameter.space in {"global", "constant", "local"}:
        if text.startswith("@"):
            return _contents(text[1:])
        amount = float(size[1]) * _SCALES[size[2]] if size is not None else _plain(parameter, text)
        if parameter.space == "local":
            return LocalArgument(int(amount))
        return BufferArgument(int(amount))
    return _plain(parameter, text)


def _plain(parameter: KernelParameter, text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise UsageError(f"--arg {parameter.name}={text} is no number") from None


def _contents(path: str) -> BufferArgument:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a .npy file: {error}") from error
    return BufferArgument(array.nbytes, array)


def _of_trace(arguments: argparse.Namespace, profile: DeviceProfile | None) -> Iterable[Document]:
    with opened(arguments.file) as trace:
        if profile is None:
            profile = profile_of_trace(trace).found
        launches = [
            launch
            for launch in traced_launches(trace)
            if fnmatchcase(launch.kernel, arguments.kernel)
        ]
    if not launches:
        raise UsageError(f"{arguments.file} has no launch of {arguments.kernel} with its arguments")
    launches.sort(key=lambda launch: -launch.calls)
    machine, costs = _machine(arguments, profile), _costs(profile)
    for launch in launches[: arguments.top]:
        yield launch_report(launch, machine, costs)
