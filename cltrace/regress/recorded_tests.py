"""The work of tests, kept by name: a later run of the same tests is compared by counters."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cltrace.files import write_whole
from cltrace.regress.comparison import Comparison, compared
from cltrace.regress.json_files import Form, text
from cltrace.regress.runs import Round, RunSample
from cltrace.regress.sample_files import run_from_json, run_to_json

_MARK: Final = "cltrace_tests"
_SCHEMA: Final = 1
_FORM: Final = Form(_MARK, _SCHEMA, 256 << 20, "tests")


def write_tests(found: Mapping[str, RunSample], path: Path) -> None:
    """Keep the work of tests, by their names. Raises: `OutputError`."""
    tests = {name: run_to_json(run) for name, run in sorted(found.items())}
    write_whole(json.dumps({_MARK: _SCHEMA, "tests": tests}, indent=1) + "\n", path)


def read_tests(path: Path) -> dict[str, RunSample]:
    """Raises: `SampleFileError` for what is not such a file."""
    return _FORM.read(path, _tests)


def _tests(stored: Mapping[str, Any]) -> dict[str, RunSample]:
    return {text(name): run_from_json(run) for name, run in stored["tests"].items()}


def compared_test(base: RunSample, head: RunSample) -> Comparison:
    """A test's work beside that of an earlier run: counters, as times of one process decide nothing."""
    return compared((Round((base,), (head,)),))
