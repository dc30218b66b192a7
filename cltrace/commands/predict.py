"""`cltrace predict`: predict the times of a trace's launches and transfers, on this or another device."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from cltrace.commands.shared.argument_types import parse_natural
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import DelayedProgress
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.errors import ProfileError
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.predict.models import DEFAULT, MODELS
from cltrace.predict.trace_profile import (
    TraceDevice,
    choose_profiles,
    devices_of_trace,
    predict_devices,
)
from cltrace.predict.traces import PredictedTrace
from cltrace.predict.whatif import BreakEven, find_break_evens
from cltrace.report.prediction import missing_notes, prediction_report
from cltrace.trace.reader import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `predict`."""
    add_trace_argument(parser)
    parser.add_argument(
        "--profile",
        metavar="[DEVICE=]PROFILE",
        action="append",
        default=[],
        help="use this profile, by name or path, for the devices of its name, or for those whose names "
        "contain DEVICE; that of another device predicts times there (default: each device's own; "
        "repeatable)",
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
        help="show at most N launches per device; 0 for all (default 10)",
    )
    add_counting_arguments(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print measured and predicted times."""
    settings = counting_settings(arguments)
    with open_trace(arguments.trace) as trace, DelayedProgress("counting") as progress:
        devices = devices_of_trace(trace)
        choice = choose_profiles(devices, arguments.profile)
        predictions = predict_devices(
            trace,
            choice,
            arguments.model,
            settings=settings,
            progress=progress,
            as_written=arguments.top or None,
        )
        breaks = _find_break_evens(trace, devices, predictions, settings)
        document = prediction_report(predictions, breaks, top=arguments.top or None)
    document = replace(document, notes=[*document.notes, *missing_notes(choice)])
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _find_break_evens(
    trace: Trace,
    devices: Sequence[TraceDevice],
    predictions: Sequence[PredictedTrace],
    settings: CountingSettings,
) -> tuple[BreakEven, ...]:
    """Return the break-even sizes of the device of a trace and another one; none for several devices."""
    own = devices[0].profile if len(devices) == 1 else None
    if own is None or not predictions[0].is_what_if or predictions[0].model != DEFAULT:
        return ()
    with suppress(ProfileError):  # a profile may lack what only this comparison needs
        return tuple(find_break_evens(trace, own, predictions[0], settings=settings))
    return ()
