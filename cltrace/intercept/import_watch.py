"""Acting right after a module is imported, without importing it before the program does."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class ImportWatch(MetaPathFinder):
    """Calls `action` once, when the module `name` is complete; at once if it is already.

    The module is found and loaded by whoever would have, and its loader is itself again before
    `action` runs. `action` must not raise.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        if name in sys.modules:
            action()
        else:
            sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        """Forget it, if the module was not imported yet."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification that the other finders give, its loader told to call us back."""
        if fullname != self._name:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec(fullname, path, target) if find_spec else None
            if spec is not None:
                if spec.loader is not None:
                    self._act_after(spec.loader)
                return spec
        return None

    def _act_after(self, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # Whoever only asks where the module is gets a loader of its own, with this in it too.
            loader.__dict__.pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                self.cancel()
                self._action()

        # Python leaves the frames of its import machinery out of tracebacks: this is one of them.
        exec_module.__code__ = exec_module.__code__.replace(
            co_filename="<frozen importlib._bootstrap>"
        )
        loader.exec_module = exec_module  # type: ignore[method-assign]
