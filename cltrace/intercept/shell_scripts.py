"""Commands of shells with which the programs that they start are not traced."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SHELLS: Final = {"sh", "bash", "dash", "zsh", "ksh", "env"}

_COMMAND: Final = r"(?:^|[;&|(\n]\s*|\s-\w*c\s+)"
"""Place at which a command begins, in a script or behind a shell's option for one."""
_REMOVES: Final = r"\b(?:unset\s[^;&|\n]{0,200}|env\s[^;&|\n]{0,200}(?:-u\s*|--unset[=\s]\s*))"

_CLEARS: Final = "clears the environment"

# Patterns are compiled when a shell starts: compiled ones take addresses, which may be limited.
_FAULTS: Final = (
    (r"\benv\s+(-\S+\s+|\w+=\S*\s+|[A-Z_]+\s+)*(-i|-|--ignore-environment)(\s|$)", _CLEARS),
    (_COMMAND + r"(exec\s+-[al]*c|sudo|doas|setpriv\s[^;&|\n]{0,200}--reset-env)\s", _CLEARS),
    (_REMOVES + r"(CLTRACE_\w+|OPENCL_LAYERS)\b", "removes variables of cltrace"),
    (r"(^|[\s;&|(])(CLTRACE_\w+|OPENCL_LAYERS)=", "sets variables of cltrace"),
)
"""Words with which a program is not traced at all."""

_HOOK_FAULTS: Final = (
    (r"(^|[\s;&|(])PYTHONPATH=", "sets PYTHONPATH"),
    (_REMOVES + r"PYTHONPATH\b", "removes PYTHONPATH"),
    (r"\bpython[\d.]*\s+(-[A-Za-z]+\s+)*-[A-Za-z]*[IES]", "starts Python with -I, -E or -S"),
)
"""Words with which a Python program is without hooks."""


def is_shell_command(words: Sequence[str]) -> bool:
    """Return whether a command is a shell, or `env`."""
    return bool(words) and Path(words[0]).name in _SHELLS


def script_fault(script: str, uses_layer: object) -> str:
    """Return why a program that a command line of a shell starts is not traced; empty if it seems to be.

    `uses_layer` is true if the layer records Python programs, which need no hooks then.
    """
    faults = _FAULTS if uses_layer else (*_FAULTS, *_HOOK_FAULTS)
    return next((fault for words, fault in faults if re.search(words, script)), "")
