"""`cltrace baseline`: store samples under a name, for comparison with later ones."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say
from cltrace.commands.shared.regression_flags import add_baselines_argument
from cltrace.errors import SampleFileError, UsageError
from cltrace.regress.baselines import Baseline, Baselines, head_devices
from cltrace.regress.sample_files import SampleFile, read_samples
from cltrace.report.baselines import baselines_report, samples_report

_ACTIONS = ("save", "list", "show", "rm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `baseline`."""
    parser.add_argument("action", choices=_ACTIONS, help="save, list, show or remove")
    parser.add_argument("name", metavar="NAME", nargs="?", help="use the baseline NAME")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="save these samples of `cltrace bench`"
    )
    add_baselines_argument(parser)
    parser.add_argument(
        "--machine",
        metavar="NAME",
        default="",
        help="show or remove the baseline of the machine whose name begins with NAME",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="overwrite the baseline of this name"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Store, list, show or remove baselines."""
    baselines = Baselines(arguments.baselines)
    name: str | None = arguments.name
    file: Path | None = arguments.file
    match arguments.action:
        case "save":
            _save(baselines, name, file, is_forced=arguments.force)
        case "list":
            if name is not None:
                raise UsageError("baseline list takes no name: `baseline show NAME` shows one")
            document = baselines_report(list(_readable_baselines(baselines)))
            print_document(document, color=arguments.color, output_format=arguments.format)
        case "show":
            baseline = _find(baselines, _only_name(name, file, "show"), arguments.machine)
            document = samples_report(baseline.name, baseline.read())
            print_document(document, color=arguments.color, output_format=arguments.format)
        case _:
            baseline = _find(baselines, _only_name(name, file, "rm"), arguments.machine)
            baselines.remove(baseline)
            sys.stdout.write(f"{baseline.path}\n")
    return 0


def _save(baselines: Baselines, name: str | None, file: Path | None, *, is_forced: bool) -> None:
    if name is None or file is None:
        raise UsageError("give a name and a file of samples: baseline save NAME FILE")
    samples = read_samples(file)
    path = baselines.save(name, samples, overwrite=is_forced)
    say(f"wrote {path}; next: cltrace check HEAD --baseline {name}")


def _readable_baselines(baselines: Baselines) -> Iterator[tuple[Baseline, SampleFile]]:
    """Yield the baselines that can be read, and say of the others why not."""
    for baseline in baselines.all():
        try:
            samples = baseline.read()
            head_devices(samples)
        except SampleFileError as error:
            say(str(error))
        else:
            yield baseline, samples


def _only_name(name: str | None, file: Path | None, action: str) -> str:
    """Return the name, where no file is given. Raises: `UsageError`."""
    if name is None or file is not None:
        raise UsageError(f"baseline {action} takes one name")
    return name


def _find(baselines: Baselines, name: str, machine: str) -> Baseline:
    """Return the baseline with a name. Raises: `UsageError` where there is none, or several."""
    matches = [
        baseline for baseline in baselines.with_name(name) if baseline.machine.startswith(machine)
    ]
    if not matches:
        names = ", ".join(dict.fromkeys(baseline.name for baseline in baselines.all())) or "none"
        raise UsageError(f"there is no baseline {name}; there are: {names}")
    if len(matches) > 1:
        machines = ", ".join(baseline.machine for baseline in matches)
        raise UsageError(f"{name} is of several machines, --machine names one: {machines}")
    return matches[0]
