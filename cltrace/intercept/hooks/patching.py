"""Installation and removal of attribute replacements. Independent of OpenCL."""

import contextlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from cltrace.intercept.hooks.constructors import VectorcallEntry

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """A replacement of `owner.name`, which `wrap` makes from the original.

    `constructor_witness` is set for an `__init__` that nanobind bypasses (`constructors`).
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


class PatchSet:
    """Replacements that are in place: `install` makes them and `remove` undoes them."""

    def __init__(self) -> None:
        self._installed: list[_Installed] = []

    def install(self, patches: Iterable[Patch]) -> None:
        """Install the replacements in order. When one fails, undo those before it."""
        try:
            for patch in patches:
                self._installed.append(_install(patch))
        except BaseException:
            self.remove()
            raise

    def remove(self) -> list[str]:
        """Restore the originals, last first.

        Return the names that were replaced again since the installation. These are not restored.
        """
        unrestored = []
        while self._installed:
            installed = self._installed.pop()
            if not _remove(installed):
                unrestored.append(_name(installed))
        return unrestored

    @property
    def installed_names(self) -> list[str]:
        """The names that are replaced now, for tests and diagnostics."""
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
    """Make `inspect.signature(cls)` return the signature from before the replacement."""
    with contextlib.suppress(TypeError, ValueError):
        signature = inspect.signature(cls)
        instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [instance, *signature.parameters.values()]
        constructor.__signature__ = signature.replace(parameters=parameters)


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
