"""Text as a screen can show it."""

from cltrace.report.untrusted_text import escape_controls


def screen_text(text: str, *, is_ascii: bool) -> str:
    """Return text without control characters, and in ASCII for a screen that has nothing else."""
    text = escape_controls(text)
    if not is_ascii:
        return text
    for fancy, simple in (("µ", "u"), ("–", "-"), ("…", "..."), ("\u202f", " "), ("→", "->")):
        text = text.replace(fancy, simple)
    return text.encode("ascii", "backslashreplace").decode()
