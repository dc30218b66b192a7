"""Import contracts: every room stands in one list of layers, and an import that goes up fails."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = {
    "intercept/sink.py": "cltrace.timeline.busy",
    "measure/devices.py": "cltrace.intercept.session",
    "inside.py": "cltrace.report.summary",
    "events/kinds.py": "cltrace.profile",
    "spool/layout.py": "cltrace.trace.schema",
    "trace/query.py": "cltrace.power.sampler",
    "timeline/intervals.py": "cltrace.kernels.values",
    "kernels/values.py": "cltrace.suite.filled",
    "power/results.py": "cltrace.predict.quotients",
    "predict/quotients.py": "cltrace.regress.floors",
    "regress/floors.py": "cltrace.inside",
    "runs/child.py": "cltrace.report.document",
    "report/document.py": "cltrace.commands.shared.messages",
    "commands/shared/messages.py": "cltrace.cli",
    "files.py": "cltrace.events.kinds",
    "errors.py": "cltrace.files",
    "tracing_errors.py": "cltrace.errors",
    "profile/files.py": "cltrace.spool.layout",
    "suite/filled.py": "pyopencl",
    "commands/info.py": "cltrace.commands.summary",
    "kernels/ir/types.py": "cltrace.kernels.execute.lanes",
    "intercept/objects/memory.py": "cltrace.intercept.hooks.recorder",
    "report/tracks/rows.py": "cltrace.report.page.columns",
}
"""Forbidden imports by the file that they are planted in."""


def lint_imports(tree: Path) -> tuple[int, str]:
    """Check the contracts of a copy of the package. Returns the exit status and the report."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its contracts."""
    path = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "assets", "*.json")
    shutil.copytree(ROOT / "cltrace", path / "cltrace", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", path)
    return path


@pytest.fixture(scope="module")
def report_of_planted(tree: Path) -> Iterator[str]:
    """The report of the contracts with every forbidden import planted, taken out again afterwards."""
    originals = {name: (tree / "cltrace" / name).read_text() for name in PLANTED}
    for name, imported in PLANTED.items():
        path = tree / "cltrace" / name
        path.write_text(f"{originals[name]}\nimport {imported}\n")
    status, report = lint_imports(tree)
    assert status == 1, report
    yield report
    for name, text in originals.items():
        (tree / "cltrace" / name).write_text(text)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_import_breaks_a_contract(name: str, report_of_planted: str) -> None:
    importer = "cltrace." + name.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {PLANTED[name]} (l." in report_of_planted


def test_without_planted_imports_all_contracts_are_kept() -> None:
    status, report = lint_imports(ROOT)
    assert status == 0, report
    assert " 0 broken" in report


@pytest.mark.parametrize("room", ["", "kernels", "intercept", "commands"])
def test_a_room_that_no_contract_names_breaks_it(room: str, tree: Path) -> None:
    path = tree / "cltrace" / room / "newcomer.py"
    path.write_text('"""A module that stands in no list of layers."""\n')
    try:
        status, report = lint_imports(tree)
    finally:
        path.unlink()
    assert status == 1
    assert "newcomer" in report


def imports_by_module() -> Mapping[str, set[str]]:
    """The imports inside the package by module, those inside functions and for types only too."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "cltrace").rglob("*.py")
    }
    return {name: set(imported(path, paths)) for name, path in paths.items()}


def imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports_by_module()).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
