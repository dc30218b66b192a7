"""`cltrace timeline`: show activity over time, why devices waited, and advice."""

import argparse
from dataclasses import replace

from cltrace.commands.shared.argument_types import (
    add_time_range_arguments,
    check_time_range,
    parse_natural,
)
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import DelayedProgress
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.power.energy import energy_of
from cltrace.predict.kernel_advice import MAX_COUNTING_S, Counting, advise_on_kernels
from cltrace.predict.neighbours.traced import has_several_queues
from cltrace.predict.trace_profile import predict_on_own_devices
from cltrace.report.energy import energy_table
from cltrace.report.neighbour_columns import at_once_table, neighbour_table
from cltrace.report.timeline import TimelineOptions, timeline
from cltrace.timeline.advice.model import MIN_SHARE, NO_KERNEL_ADVICE, KernelAdvice
from cltrace.timeline.analysis import Analysis
from cltrace.trace.power import has_power


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `timeline`."""
    add_trace_argument(parser)
    add_time_range_arguments(parser, "show activity")
    parser.add_argument("--kernel", metavar="GLOB", help="draw only kernels whose names match")
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        default=8,
        help="show at most N kernels per queue and N rows per table; 0 for all (default 8)",
    )
    parser.add_argument(
        "--all",
        dest="shows_all",
        action="store_true",
        help="show advice that saves less than 1 %% of the run, too",
    )
    parser.add_argument(
        "--no-kernels",
        action="store_true",
        help="leave out advice about kernels, whose work has to be counted for it",
    )
    add_counting_arguments(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the timeline of a trace."""
    check_time_range(arguments.from_ns, arguments.to_ns)
    options = TimelineOptions(
        from_ns=arguments.from_ns,
        to_ns=arguments.to_ns,
        kernel=arguments.kernel,
        top=arguments.top or None,
        min_gain_share=0.0 if arguments.shows_all else MIN_SHARE,
    )
    with open_trace(arguments.trace) as trace:
        analysis = Analysis(trace)
        kernels = NO_KERNEL_ADVICE
        if options.is_whole and not arguments.no_kernels:
            kernels = _advise(analysis, counting_settings(arguments))
        document = timeline(analysis, options, kernels)
        if options.is_whole and not arguments.no_kernels and has_several_queues(trace):
            predictions = predict_on_own_devices(trace)
            more = (
                neighbour_table(predictions, options.top),
                at_once_table(predictions, options.top),
            )
            document = replace(document, tables=[*document.tables, *more])
        if options.is_whole and has_power(trace):
            energy = energy_table(energy_of(trace, analysis.activity), options.top)
            document = replace(document, tables=[*document.tables, energy])
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _advise(analysis: Analysis, settings: CountingSettings) -> KernelAdvice:
    """Return the advice about kernels, as far as they are counted in time."""
    with DelayedProgress("counting") as progress:
        return advise_on_kernels(analysis, Counting(settings, MAX_COUNTING_S, progress))
