"""Settings of a user or a project: `[tool.cltrace]` of `pyproject.toml`, and `CLTRACE_VERB_OPTION`."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import UsageError

FILE_NAME: Final = "pyproject.toml"
_TABLE: Final = "tool.cltrace"
_PREFIX: Final = "CLTRACE_"
_MAX_BYTES: Final = 1 << 20
_MAX_DOTS: Final = 1000
_MANY_DIGITS: Final = re.compile(rb"[0-9_]{1000}")


@dataclass(frozen=True, slots=True)
class Setting:
    """Value of an option from outside the command line.

    `name` is the option's without its dashes in front, `place` names the value in messages. `value` is
    as TOML has it, or the text of a variable.
    """

    name: str
    value: object
    place: str
    is_from_file: bool


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings in effect: the table of a file, and the variables of the environment.

    `path` is None where no file has the table.
    """

    path: Path | None
    table: Mapping[str, Any]
    environment: Mapping[str, str]

    def file_settings(self, words: tuple[str, ...], inner: frozenset[str]) -> list[Setting]:
        """Return the file's settings of a verb, or of its action: `("power", "list")`.

        `inner` are the names of tables below it; () is the table of all verbs.
        Raises: `UsageError` where a value stands in the place of a table, or a table in that of a value.
        """
        table: Any = self.table
        for depth, word in enumerate(words):
            table = table.get(word, {})
            if not isinstance(table, dict):
                place = f"{self.path} [{_TABLE}] {'.'.join(words[: depth + 1])}"
                raise UsageError(f"{place}: this must be a table of options, not a value")
        place = f"{self.path} [{'.'.join((_TABLE, *words))}]"
        return [
            Setting(key.replace("_", "-"), value, f"{place} {key}", is_from_file=True)
            for key, value in table.items()
            if key not in inner
        ]

    def variables(self, words: tuple[str, ...], inner: frozenset[str]) -> list[Setting]:
        """Return the environment's settings of a verb, or of its action. An empty one is no setting."""
        prefix = _prefix(words)
        inner_prefixes = tuple(_prefix((*words, word)) for word in inner)
        return [
            Setting(_option_name(name, prefix), value, name, is_from_file=False)
            for name, value in sorted(self.environment.items())
            if value and name.startswith(prefix) and not name.startswith(inner_prefixes)
        ]


def read_configuration(environment: Mapping[str, str]) -> Configuration:
    """Read the nearest `pyproject.toml`, upwards from the working directory, that has the table.

    Raises: `UsageError` where the file names cltrace and is not TOML, or has a value in its place.
    """
    try:
        directory = Path.cwd()
    except OSError:
        return Configuration(None, {}, environment)
    for parent in (directory, *directory.parents):
        table = _read_table(parent / FILE_NAME)
        if table is not None:
            return Configuration(parent / FILE_NAME, table, environment)
    return Configuration(None, {}, environment)


def _read_table(path: Path) -> Mapping[str, Any] | None:
    """Return the table of a file; None if there is none.

    Raises: `UsageError` if the file names cltrace and is not TOML, or has a value in the table's place.
    """
    content = _read_file(path)
    # TOML writes one key in many ways, but its letters either as they are or as escapes.
    if b"cltrace" not in content and b"\\" not in content:
        return None
    try:
        document = _parse(content)
    except (ValueError, RecursionError) as error:
        if b"cltrace" not in content:
            return None
        is_deep = isinstance(error, RecursionError)
        reason = "its values are nested too deeply" if is_deep else str(error)
        raise UsageError(f"{path} is not TOML: {reason}") from error
    tools = document.get("tool")
    if not isinstance(tools, dict) or "cltrace" not in tools:
        return None
    if not isinstance(tools["cltrace"], dict):
        raise UsageError(f"{path} {_TABLE}: this must be a table of verbs, not a value")
    return tools["cltrace"]


def _parse(content: bytes) -> Mapping[str, Any]:
    """Return the document of a file. Raises: `ValueError`, `RecursionError`."""
    for number, line in enumerate(content.splitlines(), 1):
        # The memory of `tomllib` grows with the square of a key's parts.
        if line.count(b".") > _MAX_DOTS:
            raise ValueError(f"more than {_MAX_DOTS} dots (at line {number})")
    try:
        # Editors of Windows begin a file with a mark that is no part of its text.
        return tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:
        # Python's message on a number of too many digits names no place.
        numbers = [n for n, line in enumerate(content.splitlines(), 1) if _MANY_DIGITS.search(line)]
        place = f" (at line {numbers[0]})" if numbers else ""
        raise ValueError(f"a number has too many digits{place}") from error


def _read_file(path: Path) -> bytes:
    """Return what is in a file; nothing for one that is no file, cannot be read, or is too large."""
    try:
        # A pipe, too, may have this name, and would never end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                return b""
            return file.read(_MAX_BYTES)
    except OSError:
        return b""


def _prefix(words: tuple[str, ...]) -> str:
    return f"{_PREFIX}{''.join(f'{word.upper()}_' for word in words)}"


def _option_name(variable: str, prefix: str) -> str:
    return variable.removeprefix(prefix).lower().replace("_", "-")
