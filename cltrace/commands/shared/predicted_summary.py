"""Predicted times beside a trace's summary."""

from dataclasses import replace

from cltrace.commands.shared.messages import DelayedProgress
from cltrace.predict.trace_profile import choose_profiles, devices_of_trace, predict_devices
from cltrace.report.document import Document
from cltrace.report.prediction import missing_notes, prediction_tables
from cltrace.report.profile_caveats import prediction_caveats
from cltrace.trace.reader import Trace


def add_predictions(document: Document, trace: Trace, name: str, top: int | None) -> Document:
    """Return the summary with predicted times. Raises: `ProfileError` without a profile."""
    choice = choose_profiles(devices_of_trace(trace), [name] if name else [])
    with DelayedProgress("counting") as progress:
        predictions = predict_devices(trace, choice, progress=progress)
    tables = prediction_tables(predictions, top=top)
    return replace(
        document,
        facts=[*document.facts, *prediction_caveats(predictions)],
        tables=[*document.tables, *(table for table in tables if table.rows)],
        notes=[*document.notes, *missing_notes(choice)],
    )
