"""The native OpenCL layer of a recording: its build, and the environment in which loaders load it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cltrace.errors import LayerError, RefusedError
from cltrace.events.kinds import LayerUse, Timing
from cltrace.intercept.native.build import build_layer, find_built_layer
from cltrace.intercept.native.environment import layered_environment
from cltrace.intercept.native.settings import write_layer_settings
from cltrace.spool.settings import Settings, read_session


@dataclass(frozen=True, slots=True)
class RecordingLayer:
    """The layer of a recording. `library` is `None` if it does not record; `problem` says why not.

    With `records_python` it records Python processes, too, whose calls are otherwise recorded by hooks.
    """

    library: Path | None
    problem: str = ""
    records_python: bool = False

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
            library=self.library,
            record_python=self.records_python,
        )
        return layered_environment(environment, self.library)

    def explain_nothing(self, command: Sequence[str]) -> str:
        """Return why no process of a command without Python was recorded."""
        if self.library is None:
            return f"programs without Python are not traced: {self.problem}"
        # Few commands leave no spool.
        from cltrace.intercept.native.loader_check import explain_unrecorded  # noqa: PLC0415

        return explain_unrecorded(Path(command[0])).message


def prepare_layer(settings: Settings, say: Callable[[str], None]) -> RecordingLayer:
    """Build the layer that the settings ask for, and `say` so if it is built for the first time.

    Raises: `RefusedError` if the settings ask for the layer in all processes and it cannot record.
    """
    if settings.layer is LayerUse.OFF:
        return RecordingLayer(None, "--layer off")
    hooks_only = _hooks_only_flag(settings)
    is_event_timing = settings.timing is Timing.EVENT
    problem = "" if is_event_timing else f"the layer does not support {hooks_only}"
    if hooks_only and settings.layer is LayerUse.ON:
        raise RefusedError(f"--layer on: the layer does not support {hooks_only}")
    if not problem:
        try:
            return RecordingLayer(_find_or_build(say), records_python=not hooks_only)
        except LayerError as error:
            problem = str(error)
    if settings.layer is LayerUse.ON:
        raise RefusedError(f"--layer on: {problem}")
    return RecordingLayer(None, problem)


def _find_or_build(say: Callable[[str], None]) -> Path:
    library = find_built_layer()
    if library is None:
        say("building the OpenCL layer, once for this user: this takes some seconds")
        library = build_layer()
    return library


def _hooks_only_flag(settings: Settings) -> str:
    """Return the flag that only hooks support; empty if there is none."""
    if settings.timing is not Timing.EVENT:
        return f"--timing {settings.timing}"
    if settings.inside_kernel:
        return "--inside"
    if settings.measure_overhead:
        return "--measure-overhead"
    return ""
