"""Files of the work of tests, by the tests' names: a later run of the tests is compared by counters."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cltrace.files import write_atomically
from cltrace.regress.comparison import Comparison, compare_rounds
from cltrace.regress.json_files import JsonFormat, as_text
from cltrace.regress.run_records import Round, RunSample
from cltrace.regress.sample_files import run_from_json, run_to_json

_MARK: Final = "cltrace_tests"
_SCHEMA: Final = 1
_FORMAT: Final = JsonFormat(_MARK, _SCHEMA, 256 << 20, "tests")


def write_tests(samples: Mapping[str, RunSample], path: Path) -> None:
    """Write the work of tests, by their names. Raises: `OutputError`."""
    tests = {name: run_to_json(run) for name, run in sorted(samples.items())}
    write_atomically(json.dumps({_MARK: _SCHEMA, "tests": tests}, indent=1) + "\n", path)


def read_tests(path: Path) -> dict[str, RunSample]:
    """Read the work of tests, by their names. Raises: `SampleFileError` for any other kind of file."""
    return _FORMAT.read(path, _tests_from_json)


def _tests_from_json(stored: Mapping[str, Any]) -> dict[str, RunSample]:
    return {as_text(name): run_from_json(run) for name, run in stored["tests"].items()}


def compare_test(base: RunSample, head: RunSample) -> Comparison:
    """Compare a test's counters with those of an earlier run: times of one process decide nothing."""
    return compare_rounds((Round((base,), (head,)),))
