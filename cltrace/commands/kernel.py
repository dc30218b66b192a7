"""`cltrace kernel`: count the work of kernels, from a source or from the launches of a trace."""

import argparse
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.commands.shared.argument_types import parse_natural, parse_positive
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document, print_json
from cltrace.commands.shared.messages import DelayedProgress
from cltrace.commands.shared.trace_argument import open_trace
from cltrace.errors import UsageError
from cltrace.files import read_input
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
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.limits import limit_counting
from cltrace.predict.models.thesis import THESIS, Thesis
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.profile import DeviceProfile, load_profile
from cltrace.report.document import Document
from cltrace.report.kernel import kernel_report, program_report, register_targets
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.traced_kernel import launch_report
from cltrace.similar_names import suggest_name

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])(?:i?B)?")
_SCALES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DEFAULT_TOP: Final = 5
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
class _Target:
    """The kernels to count, and the device to count for.

    Attributes:
        file: the source or the trace.
        kernel: a glob of kernel names.
        num_cores: the cores of the CPU to count for, None for a GPU.
        profile: the profile of the device to count for, None for none.
    """

    file: Path
    kernel: str
    num_cores: int | None
    profile: DeviceProfile | None

    def machine(self, profile: DeviceProfile | None) -> Machine:
        """Return the machine to count for, by default that of `profile`."""
        if self.num_cores is not None:
            return Machine.of_cpu(self.num_cores)
        return Machine() if profile is None else machine_of(profile.device)


@dataclass(frozen=True, slots=True)
class _SourceLaunch:
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `kernel`."""
    parser.add_argument(
        "file", metavar="FILE.cl|TRACE", type=Path, help="read this source or trace"
    )
    parser.add_argument(
        "--kernel", metavar="GLOB", default="*", help="count only kernels whose names match"
    )
    _add_launch(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="count for the device of a profile, with times (default, for a trace: its device's)",
    )
    parser.add_argument(
        "--cpu",
        metavar="CORES",
        type=parse_positive,
        help="count for a CPU with this number of cores (default: a GPU)",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        help=f"show at most N launches of a trace; 0 for all (default {_DEFAULT_TOP}; all as JSON)",
    )
    add_counting_arguments(parser)
    add_format_argument(parser)


def _add_launch(parser: argparse.ArgumentParser) -> None:
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
        help="set an argument: a number, 4M for a buffer's size, @FILE.npy for contents",
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


def execute(arguments: argparse.Namespace) -> int:
    """Print the work of kernels."""
    profile_name: str | None = arguments.profile
    profile = load_profile(profile_name) if profile_name is not None else None
    target = _Target(arguments.file, arguments.kernel, arguments.cpu, profile)
    settings = counting_settings(arguments)
    is_source = target.file.suffix in {".cl", ".ocl", ".clh"}
    if is_source:
        launch = _SourceLaunch(
            arguments.options,
            arguments.include,
            arguments.global_size,
            arguments.local_size,
            arguments.arg,
        )
        documents = _count_source(target, launch, settings.cpu_s)
    else:
        max_launches = _DEFAULT_TOP if arguments.top is None else arguments.top or None
        if arguments.top is None and arguments.format == "json":
            max_launches = None
        documents = _count_trace(target, max_launches, settings)
    if arguments.format == "json":
        print_json(list(documents), is_list=not is_source)
        return 0
    for document in documents:
        print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _with_caveats(document: Document, profile: DeviceProfile | None) -> Document:
    """Return a report with the caveats of the profile that its times are from."""
    if profile is None:
        return document
    return replace(document, facts=[*document.facts, *caveat_facts(profile)])


def _costs(profile: DeviceProfile | None) -> Thesis | None:
    return THESIS.for_device(profile) if profile is not None else None


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = re.split(r"[,x]", text)
    if not 1 <= len(parts) <= 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three sizes, such as 1024,64")
    sizes = tuple(parse_positive(part.strip()) for part in parts)
    if math.prod(sizes) >= _MAX_ITEMS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 2^63 work-items")
    return sizes


def _count_source(
    target: _Target, launch: _SourceLaunch, cpu_s: float | None
) -> Iterable[Document]:
    """Yield the counts of a source's kernels, or its kernels where nothing is launched."""
    try:
        source = read_input(target.file, _MAX_SOURCE_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{target.file} cannot be read: {error.strerror}") from error
    directories: Sequence[str | Path] = (
        [target.file.parent, *launch.include] if launch.include else ()
    )
    program = parse(source, launch.options, include_dirs=directories)
    if launch.global_size is None:
        yield program_report(program)
        return
    names = [name for name in program.kernels if fnmatchcase(name, target.kernel)]
    if not names:
        suggestion = suggest_name(target.kernel, program.kernels)
        raise UsageError(f"no kernel of {target.file} is called {target.kernel}{suggestion}")
    machine = target.machine(target.profile)
    local_size = launch.local_size or usual_local_size(launch.global_size, machine)
    if len(local_size) != len(launch.global_size):
        raise UsageError("--local-size and --global-size need the same number of dimensions")
    given = dict(_split_argument(text) for text in launch.arguments)
    for name in names:
        values = _make_arguments(program, name, given, launch.global_size)
        try:
            with limit_counting(cpu_s):
                counts = count(
                    program, name, launch.global_size, local_size, values, machine=machine
                )
        except ValueError as error:  # sizes or arguments that no launch can have
            raise UsageError(f"{name} cannot be launched so: {error}") from error
        code = program.code(name, register_targets(machine))
        yield _with_caveats(kernel_report(code, counts, _costs(target.profile)), target.profile)


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
    size = _SIZE.fullmatch(text)
    if parameter.space in {"global", "constant", "local"}:
        if text.startswith("@"):
            return _read_contents(text[1:])
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


def _read_contents(path: str) -> BufferArgument:
    if not Path(path).is_file():
        raise UsageError(f"{path} cannot be read as a .npy file: it is no regular file")
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a .npy file: {error}") from error
    return BufferArgument(array.nbytes, array)


def _count_trace(
    target: _Target, max_launches: int | None, settings: CountingSettings
) -> Iterable[Document]:
    """Yield the counts of a trace's launches, those with the most calls first."""
    profile = target.profile
    with open_trace(target.file) as trace:
        if profile is None:
            profile = profile_of_trace(trace).profile
        traced = list(traced_launches(trace))
        launches = [launch for launch in traced if fnmatchcase(launch.kernel, target.kernel)]
    if not launches:
        suggestion = suggest_name(target.kernel, [launch.kernel for launch in traced])
        raise UsageError(
            f"{target.file} has no launch of {target.kernel} with its arguments{suggestion}"
        )
    launches.sort(key=lambda launch: -launch.calls)
    machine, costs = target.machine(profile), _costs(profile)
    counter = TracedLaunchCounter(machine, settings, targets=register_targets(machine))
    with DelayedProgress("counting") as progress:
        counter.count_all(launches[:max_launches], progress)
    for launch in launches[:max_launches]:
        yield _with_caveats(launch_report(launch, counter, costs), profile)
