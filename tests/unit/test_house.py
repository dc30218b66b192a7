"""Rules of the house that no other tool checks."""

import ast
import json
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_CLASS_LINES, MOST_FUNCTION_LINES = 400, 200, 40

SOURCES = sorted(
    path
    for room in ("cltrace", "tests", "benchmarks", "docs", "examples")
    for path in (ROOT / room).rglob("*.py")
)


def lengths(path: Path) -> Iterator[tuple[str, int, int]]:
    """Everything in a module that has a length, its length, and the most it may have."""
    text = path.read_text()
    yield path.name, len(text.splitlines()), MOST_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            is_class = isinstance(node, ast.ClassDef)
            yield node.name, lines, MOST_CLASS_LINES if is_class else MOST_FUNCTION_LINES


def test_everything_is_small() -> None:
    large = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines, {most} are the most"
        for path in SOURCES
        if "programs" not in path.parts
        for name, lines, most in lengths(path)
        if lines > most
    ]
    assert not large


def test_nothing_names_a_machine() -> None:
    telling = ("/root/", "/work/")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in (*SOURCES, *(ROOT / "docs").glob("*.md"), ROOT / "README.md")
        for word in telling
        if path != Path(__file__) and word in path.read_text()
    ]
    assert not found


HEAVY = ("pyopencl", "numpy", "pandas", "matplotlib", "IPython", "rich", "sqlite3", "subprocess")


def modules_after(statement: str, run: Runner) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = run("-c", code, command=[sys.executable])
    assert done.status == 0, done.stderr
    return set(json.loads(done.stdout))


def test_importing_cltrace_imports_nothing_heavy(run: Runner) -> None:
    before = modules_after("", run)
    found = modules_after("import cltrace", run) - before
    assert not found & set(HEAVY)


@pytest.mark.parametrize("verb", ["summary", "info", "query"])
def test_reading_needs_neither_pyopencl_nor_pandas_nor_counting(verb: str, run: Runner) -> None:
    code = f"""
import sys
from cltrace.cli import main
try:
    main(["{verb}", "nosuch.cltrace"{', "SELECT 1"' if verb == "query" else ""}])
except SystemExit as ended:
    assert ended.code == 2
"""
    heavy = {"pyopencl", "pandas", "matplotlib", "IPython", "cltrace.kernels"}
    assert not modules_after(code, run) & heavy


def test_the_front_door_offers_what_it_says() -> None:
    assert sorted(cltrace.__all__) == list(cltrace.__all__)
    for name in set(cltrace.__all__) - {"__version__"}:
        assert callable(getattr(cltrace, name))
        assert getattr(cltrace, name).__doc__


def test_the_package_of_traces_does_not_replace_the_function(run: Runner) -> None:
    modules_after("import cltrace, cltrace.trace.reader; assert callable(cltrace.trace)", run)


def test_the_bootstrap_parses_on_any_python() -> None:
    """An interpreter without cltrace, of whatever age, runs this file before the program."""
    path = Path(cltrace.__file__).parent / "intercept" / "bootstrap" / "sitecustomize.py"
    tree = ast.parse(path.read_text(), feature_version=(3, 4))
    modern = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Match, ast.Nonlocal, ast.AsyncWith)
    assert not [node for node in ast.walk(tree) if isinstance(node, modern)]
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.arguments)]
    assert not [one for one in keywords if one.kwonlyargs or one.posonlyargs]


def test_typed_for_others() -> None:
    spec = find_spec("cltrace")
    assert spec is not None
    assert spec.origin is not None
    assert os.path.exists(os.path.join(os.path.dirname(spec.origin), "py.typed"))  # noqa: PTH110, PTH118, PTH120
