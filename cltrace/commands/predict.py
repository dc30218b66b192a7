"""`cltrace predict`: what a trace's launches and transfers should take, here or on another device."""

import argparse
from contextlib import suppress

from cltrace.commands.shared.argument_types import natural
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.errors import ProfileError
from cltrace.predict.models import DEFAULT, MODELS
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.predict.traces import predicted_trace
from cltrace.predict.whatif import BreakEven, break_evens
from cltrace.profile import load_profile
from cltrace.report.prediction import prediction_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `predict`."""
    add_trace_argument(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="name or path; another device's says what if (default: the device's own)",
    )
    parser.add_argument(
        "--model", choices=list(MODELS), default=DEFAULT, help=f"which model (default {DEFAULT})"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=natural,
        default=10,
        help="most launches; 0 for all (default 10)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print measured beside predicted."""
    with opened(arguments.trace) as trace:
        own = profile_of_trace(trace)
        wanted: str | None = arguments.profile
        profile = load_profile(wanted) if wanted is not None else own.needed()
        found = predicted_trace(trace, profile, arguments.model)
        breaks: tuple[BreakEven, ...] = ()
        is_other = own.found is not None and own.found.device.name != profile.device.name
        if own.found is not None and is_other and arguments.model == DEFAULT:
            with suppress(ProfileError):  # a profile may lack what only this comparison needs
                breaks = tuple(break_evens(trace, own.found, found))
        document = prediction_report(found, own.devices, breaks, top=arguments.top or None)
    print_document(document, color=arguments.color, form=arguments.format)
    return 0
