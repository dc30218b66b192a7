"""Hook that runs right after the program imports a module, without importing it earlier."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class ImportWatch(MetaPathFinder):
    """Finder that calls `action` once when the module `name` is complete; at once if it already is.

    The other finders find and load the module. Its loader is restored before `action` runs. `action`
    must not raise.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        if name in sys.modules:
            action()
        else:
            sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        """Stop watching, if the module was not imported yet."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification from the other finders, with a loader that runs `action`."""
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
            # A look-up of the module's place gets a loader of its own, which has this function too.
            loader.__dict__.pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                self.cancel()
                self._action()

        # Python leaves the frames of its import machinery out of tracebacks: make this one of them.
        exec_module.__code__ = exec_module.__code__.replace(
            co_filename="<frozen importlib._bootstrap>"
        )
        loader.exec_module = exec_module  # type: ignore[method-assign]
