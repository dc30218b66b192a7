"""Records of a process with what looks like a secret masked."""

from dataclasses import replace
from functools import lru_cache

from cltrace.events.records import Build, Diagnostic, ProcessStarted, Record, Site
from cltrace.spool.secret_words import mask_text, mask_words

mask_path = lru_cache(maxsize=4096)(mask_text)
"""Return the name of a file, masked. Many places of calls are in one file."""


def mask_record(record: Record) -> Record:
    """Return a record with masked command lines, variables, build options, messages and paths."""
    match record:
        case ProcessStarted():
            return replace(
                record,
                argv=mask_words(record.argv),
                environment=tuple(map(_mask_variable, record.environment)),
                working_directory=mask_path(record.working_directory),
                executable=mask_path(record.executable),
            )
        case Build():
            return replace(record, options=mask_text(record.options))
        case Diagnostic():
            return replace(record, message=mask_text(record.message))
        case Site():
            return replace(record, file=mask_path(record.file))
        case _:
            return record


def _mask_variable(variable: tuple[str, str]) -> tuple[str, str]:
    name, value = variable
    (word,) = mask_words([f"{name}={value}"])
    return name, word.removeprefix(f"{name}=")
