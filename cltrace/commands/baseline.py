"""`cltrace baseline`: samples kept under a name, to be compared with by later ones."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say
from cltrace.commands.shared.regression_flags import add_baselines_argument
from cltrace.errors import SampleFileError, UsageError
from cltrace.regress.baselines import Baseline, Baselines, devices_of
from cltrace.regress.sample_files import SampleFile, read_samples
from cltrace.report.baselines import baselines_report, samples_report

_ACTIONS = ("save", "list", "show", "rm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `baseline`."""
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="of the baseline")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="samples of `cltrace bench`, to save"
    )
    add_baselines_argument(parser)
    parser.add_argument(
        "--machine",
        metavar="NAME",
        default="",
        help="the beginning of a machine's name, for show and rm",
    )
    parser.add_argument("-f", "--force", action="store_true", help="save over what has the name")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Keep, list, show or remove."""
    known = Baselines(arguments.baselines)
    match arguments.action:
        case "save":
            _save(known, arguments)
        case "list":
            if arguments.name is not None:
                raise UsageError("baseline list takes no name: show tells of one")
            document = baselines_report(list(_readable(known)))
            print_document(document, color=arguments.color, form=arguments.format)
        case "show":
            one = _named(known, arguments)
            document = samples_report(one.name, one.read())
            print_document(document, color=arguments.color, form=arguments.format)
        case _:
            one = _named(known, arguments)
            known.remove(one)
            sys.stdout.write(f"{one.path}\n")
    return 0


def _save(known: Baselines, arguments: argparse.Namespace) -> None:
    if arguments.name is None or arguments.file is None:
        raise UsageError("say what to keep and how to call it: baseline save NAME FILE")
    samples = read_samples(arguments.file)
    path = known.save(arguments.name, samples, overwrite=arguments.force)
    say(f"wrote {path}; next: cltrace check HEAD --baseline {arguments.name}")


def _readable(known: Baselines) -> Iterator[tuple[Baseline, SampleFile]]:
    """The baselines that can be read; of others it is said why not."""
    for one in known.all():
        try:
            samples = one.read()
            devices_of(samples)
        except SampleFileError as error:
            say(str(error))
        else:
            yield one, samples


def _named(known: Baselines, arguments: argparse.Namespace) -> Baseline:
    """The baseline of a name. Raises: `UsageError` where there is none, or several."""
    if arguments.name is None or arguments.file is not None:
        raise UsageError(f"baseline {arguments.action} takes the name of one")
    named = known.named(arguments.name)
    found = [one for one in named if one.machine.startswith(arguments.machine)]
    if not found:
        names = ", ".join(dict.fromkeys(one.name for one in known.all())) or "none"
        raise UsageError(f"there is no baseline {arguments.name}; there are: {names}")
    if len(found) > 1:
        machines = ", ".join(one.machine for one in found)
        raise UsageError(
            f"{arguments.name} is of several machines, --machine names one: {machines}"
        )
    return found[0]
