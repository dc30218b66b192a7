"""Progress of long tasks, for whoever shows it."""

from collections.abc import Callable

Progress = Callable[[str], None]
"""Function that shows the state of a task to the user."""


def no_progress(_: str) -> None:
    """Show nothing."""
