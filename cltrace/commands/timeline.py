"""`cltrace timeline`: when what ran, why devices waited, and what could be done better."""

import argparse
from dataclasses import replace

from cltrace.commands.shared.argument_types import add_stretch_arguments, check_stretch, natural
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.power.energy import energy_of, has_power
from cltrace.report.energy import energy_table
from cltrace.report.timeline import TimelineOptions, timeline
from cltrace.timeline.analysis import Analysis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `timeline`."""
    add_trace_argument(parser)
    add_stretch_arguments(parser, from_help="show what went on from", to_help="and until T")
    parser.add_argument("--kernel", metavar="GLOB", help="draw only such kernels")
    parser.add_argument(
        "--top",
        metavar="N",
        type=natural,
        default=8,
        help="most kernels a queue, and most rows a table; 0 for all (default 8)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the timeline of a trace."""
    check_stretch(arguments.from_ns, arguments.to_ns)
    options = TimelineOptions(
        from_ns=arguments.from_ns,
        to_ns=arguments.to_ns,
        kernel=arguments.kernel,
        top=arguments.top or None,
    )
    with opened(arguments.trace) as trace:
        analysis = Analysis(trace)
        document = timeline(analysis, options)
        if options.is_whole and has_power(trace):
            energy = energy_table(energy_of(trace, analysis.activity), options.top)
            document = replace(document, tables=[*document.tables, energy])
    print_document(document, color=arguments.color, form=arguments.format)
    return 0
