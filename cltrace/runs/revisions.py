"""What a command is compared with: another command, another directory, or a revision of this one."""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from cltrace.errors import RefusedError, UsageError
from cltrace.regress.sample_files import Side
from cltrace.runs.child import resolved
from cltrace.runs.sampling import Place

_QUIETLY: Final = ("--no-optional-locks", "-c", f"core.hooksPath={os.devnull}")
"""Nothing of the repository is written, and no hook of the user's runs."""
_LOCAL: Final = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_SHALLOW_FILE",
    }
)  # fmt: skip
"""Variables that name a repository: within a hook of git's they are of another one than a directory's."""


@contextlib.contextmanager
def other_place(text: str, head: Place) -> Iterator[tuple[Place, str]]:
    """The place that `text` names, as long as the block lasts, and the revision there, "" if it is none.

    A directory is one in which the same command runs. A revision is checked out into a directory of its
    own, by a clone that shares the repository's objects: neither the repository nor its files change.
    Anything else is a command. Raises: `UsageError`.
    """
    if text.strip() and Path(text).is_dir():
        if os.sep not in text and _commit(head.directory, text):
            raise UsageError(f"{text} is a directory and a revision: write ./{text} or a full name")
        yield replace(head, directory=Path(text).absolute()), ""
        return
    revision = _commit(head.directory, text)
    if not revision:
        yield Place(_words(text, head.directory), head.directory), ""
        return
    with tempfile.TemporaryDirectory(prefix="cltrace-base-") as there:
        checkout = Path(there) / "checkout"
        top = Path(_git(head.directory, "rev-parse", "--show-toplevel"))
        _share(top, checkout)
        _git(checkout, "checkout", "--quiet", "--detach", revision)
        directory = checkout / head.directory.resolve().relative_to(top.resolve())
        if not directory.is_dir():
            raise UsageError(f"{text} has no directory {head.directory.name}")
        yield replace(head, directory=directory), revision


def _share(top: Path, checkout: Path) -> None:
    """A repository with the objects of another one, and nothing checked out. Raises: `UsageError`."""
    if _git(top, "rev-parse", "--is-shallow-repository") == "false":
        _git(top, "clone", "--quiet", "--shared", "--no-checkout", str(top), str(checkout))
        return
    # A shallow one, as CI has it, is cloned through its references alone, which may lack the revision.
    checkout.mkdir()
    _git(checkout, "init", "--quiet")
    objects = top / _git(top, "rev-parse", "--git-path", "objects")
    shallow = top / _git(top, "rev-parse", "--git-path", "shallow")
    (checkout / ".git" / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n")
    shutil.copy(shallow, checkout / ".git" / "shallow")


def side_of(place: Place, revision: str = "") -> Side:
    """What is known of a place, for whoever reads its samples later. Without git nothing is."""
    if revision:
        return Side(place.words, str(place.directory), revision, is_dirty=False)
    revision = _commit(place.directory, "HEAD")
    changed = _tried(place.directory, "status", "--porcelain", "--untracked-files=no")
    return Side(place.words, str(place.directory), revision, bool(revision and changed))


def _words(text: str, directory: Path) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r} is no command: {error}") from error
    if not words:
        raise UsageError("name a command, a directory or a revision to compare with")
    try:
        with contextlib.chdir(directory):
            resolved(words)
    except RefusedError as error:
        raise UsageError(f"{text!r} is no directory, no revision and no command") from error
    return words


def _commit(directory: Path, text: str) -> str:
    """The commit that a text names in the repository of a directory; "" where it names none."""
    if text.startswith("-") or not text.strip():
        return ""
    return _tried(directory, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}") or ""


def _tried(directory: Path, *words: str) -> str | None:
    """What git says, None where it fails or is not there."""
    try:
        return _git(directory, *words)
    except (OSError, UsageError):
        return None


def _git(directory: Path, *words: str) -> str:
    """What git says. Raises: `UsageError` with what it said instead."""
    environment = {name: one for name, one in os.environ.items() if name not in _LOCAL}
    done = subprocess.run(
        ["git", *_QUIETLY, "-C", str(directory), *words], capture_output=True, text=True,
        check=False, errors="replace", env=environment,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it failed"]
        raise UsageError(f"git {words[0]}: {said[-1]}")
    return done.stdout.strip()
