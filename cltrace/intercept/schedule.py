"""Schedule of recording: by the clock, by hand, and up to a limit of commands."""

from cltrace.events import NS_PER_S
from cltrace.events.kinds import Severity
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.spool.settings import Settings


class Schedule:
    """Control of a recorder's gate.

    The clock opens and closes the gate until the program does so itself, or a limit is reached.
    `began_ns` is the origin of the delay and the duration, in host ns.
    """

    def __init__(self, recorder: Recorder, settings: Settings, began_ns: int) -> None:
        self._recorder = recorder
        self._max_commands = settings.max_commands
        self._is_by_hand = settings.start_paused
        self._from_ns = began_ns + round(settings.delay_s * NS_PER_S)
        self._until_ns = (
            None
            if settings.duration_s is None
            else self._from_ns + round(settings.duration_s * NS_PER_S)
        )

    def pause(self) -> None:
        """Record nothing until `resume`, whatever the clock shows."""
        self._is_by_hand = True
        self._recorder.pause()

    def resume(self) -> None:
        """Record from now on, whatever the clock shows."""
        self._is_by_hand = True
        self._recorder.open()

    def follow(self, now_ns: int) -> None:
        """Open or close the gate by the clock."""
        if self._is_by_hand or self._recorder.is_closed:
            return
        is_early = now_ns < self._from_ns
        is_late = self._until_ns is not None and now_ns >= self._until_ns
        if is_early or is_late:
            self._recorder.pause()
        else:
            self._recorder.open()

    def limit(self, commands: int) -> None:
        """Pause when the number of recorded commands has reached the limit."""
        limit, recorder = self._max_commands, self._recorder
        if limit is not None and commands >= limit and recorder.gate:
            self.pause()
            message = f"recording paused after {commands:,} commands (--max-events {limit})"
            recorder.note(Severity.NOTE, "limit-reached", message)
