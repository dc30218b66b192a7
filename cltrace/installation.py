"""Commands that add an extra to this cltrace, from the source from which it was installed."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_NAME: Final = "cltrace"


def suggest_install(extra: str) -> str:
    """Return the shell command that installs the packages of an extra for the running interpreter."""
    requirement = find_requirement(extra, Path(__file__).parent, sys.path)
    pip = find_pip(sys.executable, os.environ.get("PATH", ""))
    return shlex.join(pip) + f" install {requirement}"


def find_pip(interpreter: str, path: str) -> Sequence[str]:
    """Return the words that start an interpreter's pip. `path` is the value of PATH.

    `pip` alone serves only where it stands beside the interpreter. Another one would install into
    another environment.
    """
    pip = shutil.which("pip", path=path)
    is_beside = (
        pip is not None and Path(pip).absolute().parent == Path(interpreter).absolute().parent
    )
    return ["pip"] if is_beside or not interpreter else [interpreter, "-m", "pip"]


def find_requirement(extra: str, package: Path, search_path: Sequence[str]) -> str:
    """Return the words of `pip install` that name cltrace with an extra, quoted for a shell.

    `package` is the directory of the package. `search_path` is where the metadata of distributions
    are. A checkout is named by its directory. A copy is named by the directory, the file or the
    repository from which pip made it, and by the name in the index otherwise.
    """
    root = package.parent
    if _is_checkout(root):
        return "-e " + shlex.quote(f"{root}[{extra}]")
    return _origin_requirement(extra, _read_origin(search_path)) or shlex.quote(f"{_NAME}[{extra}]")


def _is_checkout(root: Path) -> bool:
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return f'name = "{_NAME}"' in text.splitlines()


def _read_origin(search_path: Sequence[str]) -> dict[str, Any]:
    """Return pip's record of where the distribution came from (PEP 610); empty for an index."""
    # It imports the packages of mail, which only a message that is printed may cost.
    from importlib.metadata import distributions  # noqa: PLC0415

    for distribution in distributions(name=_NAME, path=list(search_path)):
        try:
            origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        except ValueError:
            return {}
        return origin if isinstance(origin, dict) else {}
    return {}


def _origin_requirement(extra: str, origin: dict[str, Any]) -> str | None:
    """Return the words for an origin; `None` for an index, or where the origin is gone."""
    url = str(origin.get("url", ""))
    vcs = origin.get("vcs_info")
    if isinstance(vcs, dict):
        return shlex.quote(f"{_NAME}[{extra}] @ {_repository_url(url, vcs, origin)}")
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = unquote(parts.path)
        directory = origin.get("dir_info")
        is_editable = isinstance(directory, dict) and directory.get("editable") is True
        words = shlex.quote(f"{path}[{extra}]")
        return None if not Path(path).exists() else f"-e {words}" if is_editable else words
    return shlex.quote(f"{_NAME}[{extra}] @ {url}") if url else None


def _repository_url(url: str, vcs: dict[str, Any], origin: dict[str, Any]) -> str:
    """Return the address of a repository for pip, at the revision that is installed."""
    revision = vcs.get("commit_id") or vcs.get("requested_revision")
    at = f"@{revision}" if revision else ""
    directory = origin.get("subdirectory")
    inside = f"#subdirectory={directory}" if directory else ""
    return f"{vcs.get('vcs', 'git')}+{url}{at}{inside}"
