"""`cltrace predict`: predict the times of a trace's launches and transfers, on this or another device."""

import argparse
from contextlib import suppress

from cltrace.commands.shared.argument_types import parse_natural
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import DelayedProgress
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.errors import ProfileError
from cltrace.predict.models import DEFAULT, MODELS
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.predict.traces import predict_trace
from cltrace.predict.whatif import BreakEven, find_break_evens
from cltrace.profile import load_profile
from cltrace.report.prediction import prediction_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `predict`."""
    add_trace_argument(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="use this profile, by name or path; that of another device predicts times there "
        "(default: the device's own)",
    )
    parser.add_argument(
        "--model",
        choices=list(MODELS),
        default=DEFAULT,
        help=f"use this model (default {DEFAULT})",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        default=10,
        help="show at most N launches; 0 for all (default 10)",
    )
    add_counting_arguments(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print measured and predicted times."""
    settings = counting_settings(arguments)
    with open_trace(arguments.trace) as trace, DelayedProgress("counting") as progress:
        own = profile_of_trace(trace)
        profile_name: str | None = arguments.profile
        profile = load_profile(profile_name) if profile_name is not None else own.require()
        predicted = predict_trace(
            trace, profile, arguments.model, settings=settings, progress=progress
        )
        breaks: tuple[BreakEven, ...] = ()
        is_other = own.profile is not None and own.profile.device.name != profile.device.name
        if own.profile is not None and is_other and arguments.model == DEFAULT:
            with suppress(ProfileError):  # a profile may lack what only this comparison needs
                breaks = tuple(
                    find_break_evens(
                        trace, own.profile, predicted, settings=settings, progress=progress
                    )
                )
        document = prediction_report(predicted, own.devices, breaks, top=arguments.top or None)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0
