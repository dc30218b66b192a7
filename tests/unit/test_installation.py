"""The commands that add an extra to cltrace."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cltrace.installation import find_pip, find_requirement, suggest_install

ROOT = Path(__file__).parents[2]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a directory of installed packages, in which cltrace is one."""
    directory = tmp_path / "site-packages"
    metadata = directory / "cltrace-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cltrace\nVersion: 1.0\n")
    return directory


def _requirement(site: Path, origin: dict[str, Any] | None) -> str:
    if origin is not None:
        (site / "cltrace-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    return find_requirement("predict", site / "cltrace", [str(site)])


def test_a_copy_from_an_index_is_named_by_its_name(site: Path) -> None:
    assert _requirement(site, None) == "'cltrace[predict]'"


def test_a_checkout_is_named_by_its_directory() -> None:
    assert find_requirement("predict", ROOT / "cltrace", []) == f"-e '{ROOT}[predict]'"


def test_another_project_that_holds_a_copy_is_no_checkout(tmp_path: Path, site: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert find_requirement("nvml", tmp_path / "cltrace", [str(site)]) == "'cltrace[nvml]'"


def test_a_local_copy_is_named_by_its_source(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "my source"
    source.mkdir()
    url = source.as_uri()
    assert _requirement(site, {"url": url, "dir_info": {}}) == f"'{source}[predict]'"
    editable = {"url": url, "dir_info": {"editable": True}}
    assert _requirement(site, editable) == f"-e '{source}[predict]'"


def test_a_source_that_is_gone_is_not_named(site: Path, tmp_path: Path) -> None:
    origin = {"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}}
    assert _requirement(site, origin) == "'cltrace[predict]'"


def test_a_repository_and_an_archive_are_named_by_their_address(site: Path) -> None:
    url = "https://example.org/cltrace"
    vcs = {"vcs": "git", "requested_revision": "main", "commit_id": "0" * 40}
    repository = {"url": url, "vcs_info": vcs}
    assert _requirement(site, repository) == f"'cltrace[predict] @ git+{url}@{'0' * 40}'"
    branch = {
        "url": url,
        "vcs_info": {"vcs": "git", "requested_revision": "a b"},
        "subdirectory": "c",
    }
    assert _requirement(site, branch) == f"'cltrace[predict] @ git+{url}@a b#subdirectory=c'"
    archive = {"url": f"{url}.zip", "archive_info": {}}
    assert _requirement(site, archive) == f"'cltrace[predict] @ {url}.zip'"


@pytest.mark.parametrize("text", ["{", "[]", '{"url": 5}'])
def test_a_record_that_cannot_be_read_is_ignored(site: Path, text: str) -> None:
    (site / "cltrace-1.0.dist-info" / "direct_url.json").write_text(text)
    assert "cltrace[predict]" in find_requirement("predict", site / "cltrace", [str(site)])


def test_pip_is_the_interpreters_own(tmp_path: Path) -> None:
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        pip = tmp_path / name / "pip"
        pip.write_text("")
        pip.chmod(0o755)
    python = str(tmp_path / "mine" / "python")
    mine, other = str(tmp_path / "mine"), str(tmp_path / "other")
    assert find_pip(python, f"{mine}:{other}") == ["pip"]
    assert find_pip(python, f"{other}:{mine}") == [python, "-m", "pip"]
    assert find_pip(python, "") == [python, "-m", "pip"]


def test_the_hint_names_a_pip_and_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert suggest_install("pocl") == f"{sys.executable} -m pip install -e '{ROOT}[pocl]'"
