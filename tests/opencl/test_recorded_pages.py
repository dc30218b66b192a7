"""The commands of the README, the tutorial and the guides run, and say what the pages show."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.opencl

RECORDER = Path(__file__).parents[2] / "docs" / "record.py"


def load_recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_record", RECORDER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LOADED = load_recorder()


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    """The recorder as a module."""
    return LOADED


@pytest.mark.parametrize("page", sorted(LOADED.PAGES))
def test_a_page_comes_true(page: str) -> None:
    """Every command has its status; in the tutorial, the remedy removes the advice."""
    command = [sys.executable, str(RECORDER), "--check", page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_has_a_step(recorder: ModuleType) -> None:
    pages = {
        str(path.relative_to(RECORDER.parent).with_suffix("")): path
        for path in RECORDER.parent.rglob("*.md")
    }
    assert set(recorder.PAGES) <= {"README", *pages}
    for page in {"README": "", **pages}:
        path = recorder.path_of(page)
        names = [match[2] for match in recorder._BLOCK.finditer(path.read_text())]
        assert names == [step.name for step in recorder.PAGES.get(page, ())], page


def test_a_contradiction_is_a_fault(recorder: ModuleType) -> None:
    step = recorder.Step(name="a", command="do it", steady=("2 builds",), absent=("advice",))
    page = "<!-- recorded: a -->\n    $ do it\n    2  builds\n<!-- end -->\n"

    def faults(status: int, output: str) -> list[str]:
        return list(recorder.find_faults((step,), page, {"a": (status, output)}))

    assert not faults(0, "    $ do it\n    2 builds in 3.1 s\n")
    assert "status 2, not 0" in faults(2, "2 builds")[0]
    assert "'2 builds' is missing in the output" in faults(0, "3 builds")[0]
    assert "'advice' must not appear" in faults(0, "2 builds, advice")[0]


def test_a_block_is_cut_between_lines(recorder: ModuleType) -> None:
    step = recorder.Step(name="a", command="do it", first="b", last="d")
    assert list(recorder._shown_lines(step, ["a", "b", "", "c", "", "d"])) == ["b", "", "c", "…"]
    whole = recorder.Step(name="a", command="do it")
    assert list(recorder._shown_lines(whole, ["a", "b"])) == ["a", "b"]
