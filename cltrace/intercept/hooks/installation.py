"""Installing and removing replacements of attributes; no OpenCL in it."""

import contextlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from cltrace.intercept.hooks.constructors import VectorcallEntry

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """A replacement of `owner.name`, made from the original by `wrap`.

    `constructor_witness` is given for an `__init__` that nanobind bypasses (`constructors`).
    """

    owner: Any
    name: str
    wrap: Callable[[Any], Any]
    constructor_witness: type | None = None


@dataclass(frozen=True, slots=True)
class _Installed:
    owner: Any
    name: str
    own_value: Any
    replacement: Any
    entry: VectorcallEntry | None


class Patches:
    """Replacements that are in place; made by `install`, undone by `remove`, once each."""

    def __init__(self) -> None:
        self._installed: list[_Installed] = []

    def install(self, patches: Iterable[Patch]) -> None:
        """Put the replacements in place, in order. When one fails, those before it are undone."""
        try:
            for patch in patches:
                self._installed.append(_install(patch))
        except BaseException:
            self.remove()
            raise

    def remove(self) -> list[str]:
        """Put back what was there, last first.

        Returns the names that someone else replaced meanwhile: they are left alone.
        """
        left = []
        while self._installed:
            installed = self._installed.pop()
            if not _remove(installed):
                left.append(_name(installed))
        return left

    @property
    def installed_names(self) -> list[str]:
        """What is replaced now, for tests and diagnostics."""
        return [_name(installed) for installed in self._installed]


def _install(patch: Patch) -> _Installed:
    entry = None
    if patch.constructor_witness is not None:
        entry = VectorcallEntry(patch.owner, patch.constructor_witness)
    own_value = vars(patch.owner).get(patch.name, _ABSENT)
    replacement = patch.wrap(getattr(patch.owner, patch.name))
    if entry is not None:
        _keep_signature(patch.owner, replacement)
    setattr(patch.owner, patch.name, replacement)
    if entry is not None:
        entry.clear()
    return _Installed(patch.owner, patch.name, own_value, replacement, entry)


def _keep_signature(cls: type, constructor: Any) -> None:
    """Have `inspect.signature(cls)` say what it says while `constructor` is not yet in place."""
    with contextlib.suppress(TypeError, ValueError):
        seen = inspect.signature(cls)
        instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        constructor.__signature__ = seen.replace(parameters=[instance, *seen.parameters.values()])


def _name(installed: _Installed) -> str:
    return f"{getattr(installed.owner, '__name__', installed.owner)}.{installed.name}"


def _remove(installed: _Installed) -> bool:
    if vars(installed.owner).get(installed.name, _ABSENT) is not installed.replacement:
        return False
    if installed.own_value is _ABSENT:
        delattr(installed.owner, installed.name)
    else:
        setattr(installed.owner, installed.name, installed.own_value)
    if installed.entry is not None:
        installed.entry.restore()
    return True
