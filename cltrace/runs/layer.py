"""The native OpenCL layer of a recording: its build, and the environment in which loaders load it."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import LayerError, RefusedError
from cltrace.events.kinds import LayerUse, Timing
from cltrace.intercept.native.build import build_layer, find_built_layer
from cltrace.intercept.native.environment import layered_environment
from cltrace.intercept.native.settings import write_layer_settings
from cltrace.spool.settings import Settings, read_session

_PYTHON: Final = re.compile(r"python[0-9.]*$")
_NOT_BUILT: Final = "the layer is not built; `cltrace run` of such a program builds it"
_TOLD_BUILD_S: Final = 0.5
"""Time from which the build of the layer is told: the layer was not in the cache."""


@dataclass(frozen=True, slots=True)
class RecordingLayer:
    """The layer of a recording. `library` is `None` if it does not record; `problem` says why not."""

    library: Path | None
    problem: str = ""

    def environment(
        self, environment: Mapping[str, str], parts: Path, settings: Settings
    ) -> dict[str, str]:
        """Return the environment in which programs load the layer, and write its settings in `parts`.

        Raises: `OSError`.
        """
        if self.library is None:
            return dict(environment)
        write_layer_settings(
            parts,
            settings,
            read_session(parts).origin_host_ns,
            record_python=settings.layer is LayerUse.ON,
        )
        return layered_environment(environment, self.library)

    def explain_nothing(self, command: Sequence[str]) -> str:
        """Return why no process of a command without Python was recorded."""
        if self.library is None:
            return f"programs without Python are not traced: {self.problem}"
        # Few commands leave no spool.
        from cltrace.intercept.native.loader_check import explain_unrecorded  # noqa: PLC0415

        return explain_unrecorded(Path(command[0])).message


def prepare_layer(
    settings: Settings, command: Sequence[str], say: Callable[[str], None]
) -> RecordingLayer:
    """Build the layer that the settings ask for, and `say` so if it is built for the first time.

    A Python command needs the layer for other programs that it starts only, so it does not wait for a
    build. Raises: `RefusedError` if the settings ask for the layer in all processes and it cannot record.
    """
    if settings.layer is LayerUse.OFF:
        return RecordingLayer(None, "--layer off")
    unsupported = _unsupported(settings)
    problem = f"the layer does not support {unsupported}" if unsupported else ""
    if not problem:
        is_python = settings.layer is LayerUse.AUTO and _PYTHON.match(Path(command[0]).name)
        try:
            library = find_built_layer() if is_python else _build(say)
        except LayerError as error:
            problem = str(error)
        else:
            return RecordingLayer(library, "" if library else _NOT_BUILT)
    if settings.layer is LayerUse.ON:
        raise RefusedError(f"--layer on: {problem}")
    return RecordingLayer(None, problem)


def _build(say: Callable[[str], None]) -> Path:
    begin = time.monotonic()
    library = build_layer()
    elapsed_s = time.monotonic() - begin
    if elapsed_s > _TOLD_BUILD_S:
        say(f"built the OpenCL layer in {elapsed_s:.1f} s, once for this user")
    return library


def _unsupported(settings: Settings) -> str:
    """Return the flag that the layer does not support; empty if there is none."""
    if settings.timing is not Timing.EVENT:
        return f"--timing {settings.timing}"
    if settings.capture_bytes and settings.layer is LayerUse.ON:
        return "--capture-buffers"
    if settings.measure_overhead and settings.layer is LayerUse.ON:
        return "--measure-overhead"
    return ""
