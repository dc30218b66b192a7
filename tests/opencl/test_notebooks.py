"""The notebooks run from their first cell to their last, and what is committed of them was run."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.patience import HANG_S

pytestmark = pytest.mark.opencl

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLTRACE_NOTEBOOK_LAUNCHES", "60")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    shutil.copy(path, tmp_path / "notebooks")
    # It is not among the packages that the notebooks' extra installs.
    (tmp_path / "notebooks" / "jinja2.py").write_text('raise ImportError("no jinja2")')
    book = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(tmp_path / "notebooks")}}
    NotebookClient(book, timeout=int(HANG_S), kernel_name="python3", resources=where).execute()
    shown = [one.get("data", {}) for cell in book.cells for one in cell.get("outputs", ())]
    assert any("image/png" in one for one in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed_was_run_and_tells_a_story(path: Path) -> None:
    book = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(one.output_type == "error" for cell in code for one in cell.outputs)
    assert not any("def " in cell.source for cell in code), (
        "what is defined belongs into the package"
    )
    words = [cell for cell in book.cells if cell.cell_type == "markdown"]
    assert len(words) >= len(code), "each cell has words before it"
