"""Putting documents and data on a stream, in whatever format was asked for."""

import argparse
import re
import sys
from typing import Final, TextIO

from cltrace.report.document import Document
from cltrace.report.formats.terminal import console_for, is_ascii_only, renderable
from cltrace.report.formats.text import FORMATS

_BLANKS_AT_THE_END: Final = re.compile(r" +$", re.MULTILINE)


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--format`."""
    parser.add_argument(
        "--format",
        choices=["table", *FORMATS],
        default="table",
        help="how to print (default table)",
    )


def print_document(
    document: Document, *, file: TextIO | None = None, color: str = "auto", form: str = "table"
) -> None:
    """Print a document to a stream, stdout unless another is given."""
    stream = sys.stdout if file is None else file
    if form != "table":
        text = FORMATS[form](document)
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    else:
        console = console_for(stream, color=color)
        is_ascii = is_ascii_only(stream.encoding)
        with console.capture() as printed:
            console.print(renderable(document, width=console.width, is_ascii=is_ascii))
        stream.write(_BLANKS_AT_THE_END.sub("", printed.get()))
    stream.flush()
