"""`cltrace domain`: where a domain iteration should run, its kernel and host code, random iterations."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.commands.shared.argument_types import parse_natural, parse_positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import DelayedProgress, say
from cltrace.domain.decisions import (
    MAX_SAMPLE_BYTES,
    SIZE_EXPONENTS,
    decide,
    decide_over_sizes,
    made_up_arrays,
)
from cltrace.domain.declarations import Declarations, declared_iteration, parse_constant
from cltrace.domain.generation.host_program import host_program
from cltrace.domain.iterations import Iteration
from cltrace.domain.language.scopes import MAX_SOURCE_BYTES, FileScope
from cltrace.domain.place_times import DeviceTimes, Residency
from cltrace.domain.random_functions import (
    GeneratorSettings,
    parse_properties,
    random_functions,
)
from cltrace.domain.shapes import parse_domain
from cltrace.errors import UsageError
from cltrace.files import check_output, read_input, write_atomically
from cltrace.predict.models.thesis import THESIS
from cltrace.profile import DeviceProfile, load_profile
from cltrace.report.document import Document
from cltrace.report.domain import cost_report, decision_report

_RANDOM: Final = "random"
_DEFAULT_SIZE: Final = "4096,4096"
_DEFAULT_PROFILE: Final = "nvidia-h200"
_DEFAULT_SEED: Final = 1
_MAX_PROPERTIES_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class _Request:
    """An iteration, the device to predict for, and data that is on it already."""

    iteration: Iteration
    profile: DeviceProfile
    residency: Residency


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `domain`."""
    parser.add_argument(
        "iteration",
        metavar="FILE.py:NAME|FILE.properties|random",
        help="read this function, or generate random ones",
    )
    parser.add_argument(
        "--size",
        metavar="N[,N]",
        default=_DEFAULT_SIZE,
        help=f"iterate over this domain; also trace:N, utriag:N, ltriag:N (default {_DEFAULT_SIZE})",
    )
    _add_argument_flags(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default=_DEFAULT_PROFILE,
        help=f"predict for the device of this profile, by name or path (default {_DEFAULT_PROFILE})",
    )
    parser.add_argument(
        "--explain", action="store_true", help="print the kernel's costs by type, and no decision"
    )
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="decide for 2^10 to 2^26 elements, too, and find the size from which the device is faster",
    )
    parser.add_argument(
        "--emit", metavar="DIR", type=Path, help="write the kernel and a host program to DIR"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite files")
    _add_generator_flags(parser)
    add_format_argument(parser)


def _add_argument_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of the arguments of a function."""
    parser.add_argument(
        "--array",
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help="declare an array: float32 in the domain's shape, float32[128], 'local float32[128]' "
        "(repeatable; default: the parameter's annotation, or float32)",
    )
    parser.add_argument(
        "--value",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="give a parameter this number (repeatable)",
    )
    parser.add_argument(
        "--resident",
        metavar="NAME",
        action="append",
        default=[],
        help="take this array as on the device already (repeatable)",
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the result on the device, and do not read it"
    )


def _add_generator_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of random iterations: the thesis's properties, and a seed."""
    for name, what in (
        ("complex", "use indices of more than two nodes"),
        ("float-div", "divide floats"),
    ):
        parser.add_argument(
            f"--allow-{name}", metavar="true|false", help=f"random: {what} (default true)"
        )
    for name, what, default in (
        ("min-nodes", "generate trees of N nodes or more", 2),
        ("max-nodes", "generate trees of at most N nodes", 50),
        ("generated-examples", "generate N functions", 10),
    ):
        parser.add_argument(
            f"--{name}",
            metavar="N",
            type=parse_positive,
            help=f"random: {what} (default {default})",
        )
    parser.add_argument("--output-path", metavar="DIR", help="random: write the functions to DIR")
    parser.add_argument(
        "--seed",
        metavar="S",
        type=parse_natural,
        default=_DEFAULT_SEED,
        help=f"random: generate from this seed (default {_DEFAULT_SEED})",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Print where an iteration should run, or write random ones."""
    named: str = arguments.iteration
    if named == _RANDOM or named.endswith(".properties"):
        return _generate(arguments)
    request = _read_request(arguments)
    if arguments.emit is not None:
        _emit(request, arguments.emit, is_forced=arguments.force)
    document = _explain(request) if arguments.explain else _decide(request, arguments.sizes)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _read_request(arguments: argparse.Namespace) -> _Request:
    file, sign, name = arguments.iteration.rpartition(":")
    if not sign or not file or not name:
        raise UsageError(f"{arguments.iteration!r} names no function: write FILE.py:NAME")
    text = _read_text(Path(file), MAX_SOURCE_BYTES)
    declarations = Declarations(
        dict(_pairs(arguments.array, "--array")),
        {key: parse_constant(value) for key, value in _pairs(arguments.value, "--value")},
    )
    iteration = declared_iteration(
        FileScope(text, Path(file).name).function(name),
        parse_domain(arguments.size),
        declarations,
    )
    unknown = set(arguments.resident) - set(iteration.arguments.arrays)
    if unknown:
        raise UsageError(f"--resident {min(unknown)}: {name} has no such array")
    residency = Residency(frozenset(arguments.resident), keeps_result=arguments.keep)
    return _Request(iteration, load_profile(arguments.profile), residency)


def _read_text(path: Path, max_bytes: int) -> str:
    try:
        return read_input(path, max_bytes).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no text in UTF-8: {error}") from error


def _pairs(words: Sequence[str], flag: str) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"{flag} {word[:60]!r}: write NAME=…")
        pairs.append((name, value))
    return pairs


def _decide(request: _Request, over_sizes: bool) -> Document:  # noqa: FBT001 - a flag
    iteration = request.iteration
    array_bytes = sum(array.size_bytes for array in iteration.arguments.arrays.values())
    if array_bytes + iteration.result_type.size_bytes > MAX_SAMPLE_BYTES:
        raise UsageError(
            f"the arrays of {iteration.domain} are too large to be sampled here: choose a smaller --size"
        )
    device = DeviceTimes(request.profile)
    with DelayedProgress("predicting"):
        arrays = made_up_arrays(iteration.arguments.arrays)
        decision = decide(iteration, device, arrays, {}, request.residency)
        exponents = SIZE_EXPONENTS if over_sizes else ()
        sizes = list(decide_over_sizes(iteration, device, request.residency, exponents))
    return decision_report(iteration, request.profile, decision, sizes)


def _explain(request: _Request) -> Document:
    counts = DeviceTimes(request.profile).counts(request.iteration)
    costs = THESIS.for_device(request.profile)
    return cost_report(request.iteration, request.profile, counts, costs)


def _emit(request: _Request, directory: Path, *, is_forced: bool) -> None:
    """Write the kernel and the host program of an iteration."""
    iteration = request.iteration
    kernel = iteration.kernel(request.profile.device.max_group_items)
    name = kernel.name.removesuffix("_0")
    program = host_program(name, kernel, iteration.domain, iteration.result_type, iteration.options)
    texts = {directory / f"{name}.cl": kernel.source, directory / f"{name}_host.py": program}
    for path in texts:
        check_output(path, is_forced=is_forced)
    for path, text in texts.items():
        write_atomically(text, path)
        say(f"wrote {path}")


def _generate(arguments: argparse.Namespace) -> int:
    """Write random iterations, a file for each."""
    settings = _generator_settings(arguments)
    if not settings.output_path:
        raise UsageError("random iterations need a directory: give --output-path DIR")
    directory = Path(settings.output_path)
    nodes = value_nodes = 0
    functions = list(random_functions(settings, arguments.seed))
    for number, function in enumerate(functions, start=1):
        path = directory / f"iteration_{number:04}.py"
        check_output(path, is_forced=arguments.force)
        write_atomically(function.text, path)
        nodes += function.nodes
        value_nodes += function.value_nodes
    say(
        f"wrote {len(functions):,} functions to {directory}: on average {nodes / len(functions):.1f} "
        f"nodes, {value_nodes / len(functions):.1f} without those of indices"
    )
    return 0


def _generator_settings(arguments: argparse.Namespace) -> GeneratorSettings:
    """Return the settings of the properties file, and of the flags, which win."""
    values: dict[str, Any] = {}
    if arguments.iteration != _RANDOM:
        text = _read_text(Path(arguments.iteration), _MAX_PROPERTIES_BYTES)
        values |= parse_properties(text, arguments.iteration)
    flags = {
        name.replace("_", "-"): str(getattr(arguments, name))
        for name in GeneratorSettings.__dataclass_fields__
        if getattr(arguments, name) is not None
    }
    values |= parse_properties("\n".join(f"{key}={value}" for key, value in flags.items()), "flags")
    return GeneratorSettings(**values)
