"""Printing of documents, in the format that the user chooses."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Final, TextIO

from cltrace.report.document import Document
from cltrace.report.formats.terminal import console_for, is_ascii_only, renderable
from cltrace.report.formats.text import FORMATS, documents_to_json

_TRAILING_BLANKS: Final = re.compile(r" +$", re.MULTILINE)


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--format`."""
    parser.add_argument(
        "--format",
        choices=["table", *FORMATS],
        default="table",
        help="print in this format (default table)",
    )


def print_json(documents: Sequence[Document], *, is_list: bool) -> None:
    """Print documents of launches as one JSON object, with the list `launches`.

    A single document is printed by itself unless `is_list`.
    """
    if len(documents) == 1 and not is_list:
        print_document(documents[0], output_format="json")
        return
    _write_text(sys.stdout, documents_to_json("launches", documents))


def print_document(
    document: Document,
    *,
    file: TextIO | None = None,
    color: str = "auto",
    output_format: str = "table",
) -> None:
    """Print a document to a stream, by default stdout."""
    stream = sys.stdout if file is None else file
    if output_format != "table":
        _write_text(stream, FORMATS[output_format](document))
    else:
        console = console_for(stream, color=color)
        is_ascii = is_ascii_only(stream.encoding)
        with console.capture() as capture:
            console.print(renderable(document, width=console.width, is_ascii=is_ascii))
        stream.write(_TRAILING_BLANKS.sub("", capture.get()))
    stream.flush()


def _write_text(stream: TextIO, text: str) -> None:
    """Write text, with escapes for characters that the stream's encoding lacks."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
