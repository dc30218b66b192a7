"""Scores as one page for the browser: one by itself, or several side by side."""

from collections.abc import Sequence
from pathlib import Path

from cltrace.regress.score import ScoreFile
from cltrace.report.formats.plain_page import plain_page
from cltrace.report.score import score_report, scores_report
from cltrace.report.score_figures import score_picture


def reference_name(path: Path | None) -> str:
    """Return the name of a reference in messages."""
    return "the built-in reference" if path is None else str(path)


def score_page(files: Sequence[ScoreFile], reference: ScoreFile) -> str:
    """Return a page of one score, or of several side by side and then each by itself."""
    documents = [score_report(file, reference) for file in files]
    if len(files) > 1:
        documents.insert(0, scores_report(files, reference))
    return plain_page("cltrace score", documents, [score_picture(files, reference)])
