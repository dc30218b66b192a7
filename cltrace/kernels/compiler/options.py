"""Build options of OpenCL programs, checked against an allow-list.

A program's options come from a trace, which is untrusted. Clang has options that write files, load
plug-ins and read arguments from files, so only the options listed here are passed on.
"""

import re
import shlex
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.errors import BuildOptionError

_STANDARDS: Final = {
    "CL1.0": "CL1.0",
    "CL1.1": "CL1.1",
    "CL1.2": "CL1.2",
    "CL2.0": "CL2.0",
    "CL3.0": "CL3.0",
    "CL3.1": "CL3.0",
}
"""A device's name of its language, and clang's. Clang has all but a few builtins of 3.1 in 3.0."""

_PASSED_ON: Final = frozenset(
    {
        "-cl-single-precision-constant",
        "-cl-denorms-are-zero",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-opt-disable",
        "-cl-strict-aliasing",
        "-cl-uniform-work-group-size",
        "-cl-no-subgroup-ifp",
        "-cl-mad-enable",
        "-cl-no-signed-zeros",
        "-cl-unsafe-math-optimizations",
        "-cl-finite-math-only",
        "-cl-fast-relaxed-math",
        "-w",
    }
)
_WITHOUT_EFFECT: Final = re.compile(
    r"-(cl-kernel-arg-info|Werror|Wall|Wextra|g|v|O[0-3s]?|cl-nv-\S*|cl-intel-\S*|cl-amd-\S*|qcom-\S*"
    r"|cl-ext=\S*|create-library|enable-link-options|f(no-)?bin-\S*|save-temps\S*|m(no-)?\S*|dump\S*"
    r"|fno-unroll-loops|spir-std=\S*|x|cl-no-stdinc|cl-take-global-address|W(no-)?[\w-]+)"
)
"""Options of drivers, debugging and warnings: they change no count, and none is passed on."""
_DEFINITION: Final = re.compile(r"[A-Za-z_]\w*(\([^()]*\))?(=[\s\S]*)?")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """A program's build options.

    Attributes:
        passed: options that go to clang as they are.
        include_directories: the program's include directories, in order. Their names are looked up only
            among the headers that come with the program.
        ignored: options without effect on counts.
    """

    passed: tuple[str, ...] = ()
    include_directories: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read_options(options: str | Sequence[str]) -> BuildOptions:
    """Read the options of a program: a line as for `clBuildProgram`, or its words.

    Raises: `BuildOptionError` for an option that is neither one of OpenCL C's nor known to be harmless.
    """
    reader = _OptionReader(_split_words(options))
    while reader.words:
        reader.read_next()
    return BuildOptions(tuple(reader.passed), tuple(reader.directories), tuple(reader.ignored))


class _OptionReader:
    """Reader of options: the remaining words, and the options read so far."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = deque(words)
        self.passed: list[str] = []
        self.directories: list[str] = []
        self.ignored: list[str] = []

    def read_next(self) -> None:
        """Read an option."""
        word = self.words.popleft()
        if word[:2] in {"-D", "-U", "-I"}:
            self._read_value(word[:2], word[2:])
        elif word.startswith("-cl-std="):
            self.passed.append(f"-cl-std={_read_standard(word)}")
        elif word in _PASSED_ON:
            self.passed.append(word)
        elif _WITHOUT_EFFECT.fullmatch(word):
            self.ignored.append(word)
            if word == "-x" and self.words:
                self.words.popleft()
        else:
            raise BuildOptionError(f"{word!r} is not a build option of OpenCL C programs")

    def _read_value(self, flag: str, value: str) -> None:
        if not value:
            if not self.words:
                raise BuildOptionError(f"the build option {flag} has no value")
            value = self.words.popleft()
        if flag == "-I":
            self.directories.append(value)
        else:
            self.passed.append(flag + _check_definition(flag, value.strip()))


def _split_words(options: str | Sequence[str]) -> list[str]:
    if not isinstance(options, str):
        return [word.strip() for word in options if word.strip()]
    try:
        return shlex.split(options)
    except ValueError as error:
        raise BuildOptionError(f"cannot read the build options {options!r}: {error}") from error


def _check_definition(flag: str, value: str) -> str:
    if not _DEFINITION.fullmatch(value):
        raise BuildOptionError(f"the build option {flag}{value} does not name a macro")
    if "\0" in value:
        raise BuildOptionError(f"the build option {flag} has a NUL character")
    return value


def _read_standard(word: str) -> str:
    name = word.removeprefix("-cl-std=")
    if name not in _STANDARDS:
        standards = ", ".join(_STANDARDS)
        raise BuildOptionError(
            f"the build option {word} names no version of OpenCL C; use one of {standards}"
        )
    return _STANDARDS[name]
