"""Commands and revisions of the two sides of a benchmark, for the heads of reports."""

from cltrace.regress.sample_files import Side
from cltrace.report.document import Fact
from cltrace.report.header import home
from cltrace.report.untrusted_text import escape_controls
from cltrace.trace.reader import Trace


def side_of(trace: Trace) -> Side:
    """Return the command and the directory of a trace, which stores no revision."""
    return Side(tuple(trace.command_line), home(trace), "", is_dirty=False)


def side_facts(base: Side, head: Side) -> list[Fact]:
    """Return base and head as lines: the command, its revision, and what else tells them apart.

    The directory is named where commands and revisions are the same and directories are not.
    """
    texts = [_describe(base), _describe(head)]
    if texts[0] == texts[1] and base.directory != head.directory:
        texts = [
            f"{text}, in {escape_controls(side.directory)}"
            for text, side in zip(texts, (base, head), strict=True)
        ]
    return [Fact(name, name, text) for name, text in zip(("base", "head"), texts, strict=True)]


def revision_text(side: Side) -> str:
    """Return the revision of a side, with a remark on changed files; empty without one."""
    changed = " and changes" if side.is_dirty else ""
    return f"{escape_controls(side.revision[:12])}{changed}" if side.revision else ""


def _describe(side: Side) -> str:
    command = escape_controls(" ".join(side.command)) or "a program that traced itself"
    revision = revision_text(side)
    return f"{command}, revision {revision}" if revision else command
