"""Python's side of a process that the layer records: sources, regions, and ends that C does not see."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyopencl as cl

from cltrace.intercept.import_watch import ImportWatch
from cltrace.intercept.native.library import LayerLibrary
from cltrace.intercept.objects.source_text import decode_text
from cltrace.intercept.tracebacks import hide_own_frames
from cltrace.tracing_errors import LayerError

_CACHE: Final = "pyopencl.cache"
_CACHED_BUILD: Final = "_create_built_program_from_source_cached"
"""Function of `_CACHE` that builds a program, from a binary of the cache if there is one."""

_SOURCE_POSITION: Final = 1
"""Position of the source among its arguments."""


class LayerTracer:
    """Counterpart of `Tracer` in a process that the layer records. It has no hooks of OpenCL calls.

    Raises: `OSError`, `LayerError` if the layer does not record this process.
    """

    records_forks: Final = True
    """The layer records a fork of this process by itself."""

    def __init__(self, library: Path, directory: Path) -> None:
        self._library = LayerLibrary(library)
        if not self._library.begin(directory, cl.VERSION_TEXT):
            raise LayerError("the OpenCL layer does not record this process")
        self._watch: ImportWatch | None = None

    def install(self) -> None:
        """Tell the layer from now on what only Python knows."""
        self._watch = ImportWatch(_CACHE, self._watch_cache)

    def pause(self) -> None:
        """Record nothing until `resume`."""
        self._library.pause()

    def resume(self) -> None:
        """Record again."""
        self._library.resume()

    def record_region(self, name: str, entered_ns: int) -> None:
        """Record a region of the program that began at `entered_ns`, in host ns, and ends now."""
        self._library.record_region(name, entered_ns)

    def flush(self) -> None:
        """Write all rows that were recorded so far."""
        self._library.flush()

    def outlives(self, ending: str) -> bool:
        """Return whether the recording goes on after `ending`.

        Python runs its exit functions before it destroys the program's objects. The layer sees these
        releases, and the end of the process.
        """
        return ending == "exit"

    def finish(self, ending: str) -> None:
        """Write what is recorded; end the recording unless it `outlives` the ending."""
        if self.outlives(ending):
            self._library.flush(ending)
        else:
            self._library.end(ending)

    def about_to_exec(self) -> None:
        """Write all rows and an end record: this process image may be about to end."""
        self._library.flush("exec")

    def prepare_fork(self) -> None:
        """Do nothing: the layer prepares itself."""

    def forked_in_parent(self) -> None:
        """Do nothing: the layer goes on by itself."""

    def forked_in_child(self) -> None:
        """Do nothing: the layer begins the child's recording, if that is wanted."""

    def fork_failed(self) -> None:
        """Do nothing: the layer counts forks that it cannot record."""

    def _watch_cache(self) -> None:
        import pyopencl.cache as cache  # noqa: PLC0415 - the program has imported it by now

        original = getattr(cache, _CACHED_BUILD, None)
        if callable(original):
            setattr(cache, _CACHED_BUILD, self._offering_source(original))

    def _offering_source(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its source offered to the layer while it runs."""
        offer = self._library.offer_source

        @functools.wraps(original)
        def build(*args: Any, **kwargs: Any) -> Any:
            source = args[_SOURCE_POSITION] if len(args) > _SOURCE_POSITION else kwargs.get("src")
            try:
                if isinstance(source, (str, bytes)):
                    offer(decode_text(source))
                try:
                    return original(*args, **kwargs)
                finally:
                    offer(None)
            except BaseException as error:
                hide_own_frames(error)
                raise

        return build
