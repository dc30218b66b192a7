"""When to record: by the clock, by hand, and until there is enough."""

from cltrace.events import NS_PER_S
from cltrace.events.kinds import Severity
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.spool.settings import Settings


class Schedule:
    """Opens and closes a recorder's gate.

    The clock decides until the program does, or a limit is reached. `began_ns` is what it counts
    from, in host ns.
    """

    def __init__(self, recorder: Recorder, settings: Settings, began_ns: int) -> None:
        self._recorder = recorder
        self._most_commands = settings.max_commands
        self._is_by_hand = settings.start_paused
        self._from_ns = began_ns + round(settings.delay_s * NS_PER_S)
        self._until_ns = (
            None
            if settings.duration_s is None
            else self._from_ns + round(settings.duration_s * NS_PER_S)
        )

    def pause(self) -> None:
        """Record nothing until `resume`, whatever the clock says."""
        self._is_by_hand = True
        self._recorder.pause()

    def resume(self) -> None:
        """Record from now on, whatever the clock says."""
        self._is_by_hand = True
        self._recorder.open()

    def follow(self, now_ns: int) -> None:
        """Do what the clock says."""
        if self._is_by_hand or self._recorder.is_closed:
            return
        is_early = now_ns < self._from_ns
        is_late = self._until_ns is not None and now_ns >= self._until_ns
        if is_early or is_late:
            self._recorder.pause()
        else:
            self._recorder.open()

    def limit(self, commands: int) -> None:
        """Pause when so many commands are enough."""
        most, recorder = self._most_commands, self._recorder
        if most is not None and commands >= most and recorder.gate:
            self.pause()
            message = f"recording paused after {commands:,} commands (--max-events {most})"
            recorder.note(Severity.NOTE, "limit-reached", message)
