"""The work of tests, kept by name: a later run of the same tests is compared by counters."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cltrace.errors import SampleFileError
from cltrace.profile import write_whole
from cltrace.regress.comparison import Comparison, compared
from cltrace.regress.runs import Round, RunSample
from cltrace.regress.store import run_from_json, run_to_json

_MARK: Final = "cltrace_tests"
_SCHEMA: Final = 1
_MOST_BYTES: Final = 256 << 20


def write_tests(found: Mapping[str, RunSample], path: Path) -> None:
    """Keep the work of tests, by their names. Raises: `OutputError`."""
    tests = {name: run_to_json(run) for name, run in sorted(found.items())}
    write_whole(json.dumps({_MARK: _SCHEMA, "tests": tests}, indent=1) + "\n", path)


def read_tests(path: Path) -> dict[str, RunSample]:
    """Raises: `SampleFileError` for what is not such a file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SampleFileError(f"{path} is too large to hold tests")
        stored = json.loads(path.read_bytes())
        if stored[_MARK] != _SCHEMA:
            raise SampleFileError(f"{path} was written by another version of cltrace: make it anew")
        return {str(name): run_from_json(run) for name, run in stored["tests"].items()}
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SampleFileError(f"{path} holds no tests of cltrace") from error


def compared_test(base: RunSample, head: RunSample) -> Comparison:
    """A test's work beside that of an earlier run: counters, as times of one process decide nothing."""
    return compared((Round((base,), (head,)),))
