"""The base of a benchmark: another command, another directory, or a revision of this one."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from cltrace.errors import RefusedError, UsageError
from cltrace.regress.sample_files import Side
from cltrace.runs.child import resolve_command
from cltrace.runs.run_sampler import Invocation
from cltrace.spool.secret_words import mask_words

_READ_ONLY: Final = (
    "--no-optional-locks",
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
)
"""Options with which git writes nothing into the repository and runs no hooks and no file monitor."""
_SHARED_REFERENCES: Final = ("refs/heads", "refs/tags")
_FILTER: Final = re.compile(r"(filter\..*)\.(clean|smudge|process|required)", re.IGNORECASE)
"""Names of settings that name programs which git runs on contents of files."""
_NOTHING: Final[Mapping[str, str]] = {}
_REPOSITORY_VARIABLES: Final = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_PREFIX",
        "GIT_NAMESPACE",
        "GIT_SHALLOW_FILE",
    }
)
"""Variables that name a repository: within a git hook, another one than the directory's."""


@contextlib.contextmanager
def open_base(text: str, head: Invocation) -> Iterator[tuple[Invocation, str]]:
    """Yield the invocation that `text` names, and its revision, "" if it is none.

    In a directory the same command runs. A revision is checked out into a temporary directory, by a
    clone that shares the repository's objects: neither the repository nor its files change. Anything
    else is a command. Raises: `UsageError`.
    """
    if text.strip() and os.path.isdir(text):  # noqa: PTH112 - a command may be too long for a path
        if os.sep not in text and _find_commit(head.directory, text):
            raise UsageError(f"{text} is a directory and a revision: write ./{text} or a full name")
        yield replace(head, directory=Path(text).absolute()), ""
        return
    revision = _find_commit(head.directory, text)
    if not revision:
        yield Invocation(_split_command(text, head.directory), head.directory), ""
        return
    with tempfile.TemporaryDirectory(prefix="cltrace-base-") as temporary:
        checkout = Path(temporary) / "checkout"
        top = Path(_git(head.directory, "rev-parse", "--show-toplevel"))
        _make_repository_sharing_objects(top, checkout)
        _check_out(checkout, revision)
        if not head.directory.resolve().is_relative_to(top.resolve()):
            raise UsageError(f"{head.directory} is outside of its repository's files in {top}")
        directory = checkout / head.directory.resolve().relative_to(top.resolve())
        if not directory.is_dir():
            raise UsageError(f"{text} has no directory {head.directory.name}")
        if not directory.resolve().is_relative_to(checkout.resolve()):
            name = head.directory.name
            raise UsageError(
                f"{name} of {text} is a link to {directory.resolve()}, outside of the revision"
            )
        yield replace(head, directory=directory), revision


def _make_repository_sharing_objects(top: Path, checkout: Path) -> None:
    """Make a repository with the objects and references of another one, without files.

    A clone would run another git, in the repository and without our options. Raises: `UsageError`.
    """
    checkout.mkdir()
    object_format = _git(top, "rev-parse", "--show-object-format")
    _git(checkout, "init", "--quiet", "--template=", f"--object-format={object_format}")
    repository = checkout / ".git"
    objects = top / _git(top, "rev-parse", "--git-path", "objects")
    alternates = repository / "objects" / "info" / "alternates"
    alternates.write_bytes(os.fsencode(f"{objects.resolve()}\n"))
    shallow = top / _git(top, "rev-parse", "--git-path", "shallow")
    if shallow.is_file():
        shutil.copy(shallow, repository / "shallow")
    references = _git(top, "for-each-ref", "--format=%(objectname) %(refname)", *_SHARED_REFERENCES)
    remote = [
        line.replace(" refs/heads/", " refs/remotes/origin/", 1) for line in references.split("\n")
    ]
    lines = sorted(filter(None, map(os.fsencode, remote)), key=lambda line: line.partition(b" ")[2])
    (repository / "packed-refs").write_bytes(b"".join(line + b"\n" for line in lines))


def _check_out(checkout: Path, revision: str) -> None:
    """Check a revision out. Raises: `UsageError`, also where the repository lacks contents of it."""
    _git(checkout, "checkout", "--quiet", "--detach", revision)
    missing = _git(checkout, "ls-files", "--deleted")
    if missing:  # git reports success
        name = missing.split("\n")[0]
        raise UsageError(f"the repository lacks {name} of {revision}: fetch it with git first")


def describe_side(invocation: Invocation, revision: str = "") -> Side:
    """Return the description of an invocation that sample files store; without git it has no revision.

    What looks like a secret in its words is masked.
    """
    words, directory = mask_words(invocation.words), invocation.directory
    if revision:
        return Side(words, str(directory), revision, is_dirty=False)
    revision = _find_commit(directory, "HEAD")
    quietly = ("--untracked-files=no", "--ignore-submodules=dirty")
    settings = _settings_without_filters(directory)
    changes = _try_git(directory, "status", "--porcelain", *quietly, settings=settings)
    return Side(words, str(directory), revision, bool(revision and changes))


def _split_command(text: str, directory: Path) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r} is no command: {error}") from error
    if not words:
        raise UsageError("name a command, a directory or a revision to compare with")
    try:
        with contextlib.chdir(directory):
            resolve_command(words)
    except RefusedError as error:
        raise UsageError(f"{text!r} is no directory, no revision and no command") from error
    return words


def _find_commit(directory: Path, text: str) -> str:
    """Return the commit that a text names in the repository of a directory, "" if it names none."""
    if text.startswith("-") or not text.strip():
        return ""
    words = ("--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    return _try_git(directory, "rev-parse", *words) or ""


def _settings_without_filters(directory: Path) -> dict[str, str]:
    """Return settings that turn off the filter programs of a repository's configuration."""
    words = ("--null", "--name-only", "--get-regexp", r"^filter\.")
    names = (_try_git(directory, "config", *words) or "").split("\0")
    drivers = dict.fromkeys(match[1] for name in names if (match := _FILTER.fullmatch(name)))
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{driver}.{name}": value for driver in drivers for name, value in off.items()}


def _try_git(directory: Path, *words: str, settings: Mapping[str, str] = _NOTHING) -> str | None:
    """Return the output of git, None where it fails or is not installed."""
    try:
        return _git(directory, *words, settings=settings)
    except (OSError, UsageError):
        return None


def _git(directory: Path, *words: str, settings: Mapping[str, str] = _NOTHING) -> str:
    """Return the output of git, bytes that are not UTF-8 as in file names.

    Raises: `UsageError` with its error message.
    """
    process = subprocess.run(
        ["git", *_READ_ONLY, "-C", str(directory), *words],
        capture_output=True,
        check=False,
        env=_make_environment(settings),
    )
    if process.returncode:
        lines = process.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
        verb = next(word for word in words if not word.startswith("-"))
        raise UsageError(f"git {verb}: {lines[-1]}")
    return os.fsdecode(process.stdout).strip()


def _make_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return variables for git, in which `settings` are the last of its configuration."""
    environment = {
        name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES
    }
    # Git fetches what a partial clone lacks, by programs of the repository's configuration.
    environment["GIT_ALLOW_PROTOCOL"] = ""
    if settings:
        # In `-c NAME=VALUE`, a name ends at its first "=".
        first = environment.get("GIT_CONFIG_COUNT", "")
        begin = int(first) if first.isdecimal() else 0
        for number, (name, value) in enumerate(settings.items(), start=begin):
            environment[f"GIT_CONFIG_KEY_{number}"] = name
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        environment["GIT_CONFIG_COUNT"] = str(begin + len(settings))
    return environment
