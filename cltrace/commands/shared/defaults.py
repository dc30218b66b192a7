"""Defaults of options from `pyproject.toml` and the environment, checked as the command line is."""

import argparse
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cltrace.commands.shared.argument_types import COLORS
from cltrace.commands.shared.configuration import Configuration, Setting
from cltrace.errors import UsageError
from cltrace.report.untrusted_text import escape_controls
from cltrace.similar_names import suggest_name

ONLY_TRUSTED: Final = frozenset({
    "output", "force", "measure-only", "json", "junit", "markdown", "gab-json", "html", "plot",
    "vs", "open", "keep-secrets", "capture-buffers",
})  # fmt: skip
"""Options that a file does not set.

A stranger's checkout would otherwise choose what is overwritten, executed or kept. The owner of the file
proves nothing: a clone belongs to the user who made it.
"""

ONLY_TRUSTED_OF: Final = {
    ("baseline",): frozenset({"baselines", "machine"}),
    ("calibrate",): frozenset({"from"}),
    ("domain",): frozenset({"emit", "output-path"}),
    ("kernel",): frozenset({"device", "events", "page", "live"}),
    ("power", "calibrate"): frozenset({"from", "profile"}),
}
"""Further options that a file does not set, by verb.

They name what `baseline` writes or removes, what becomes the user's own profile of a device, and what
`domain` and `kernel` write, serve or execute.
"""

_READERS_WITH_ARGUMENT: Final = frozenset({"hwmon", "nvml", "rapl"})
_MAX_SHOWN: Final = 100
_MAX_BITS: Final = 256

_DEFAULT_NOTE: Final = re.compile(r" \(default[^()]*\)$")
_WORDS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


class _Replaceable(list[Any]):
    """Default of an option that appends. The first value of the command line replaces it.

    `argparse` appends to a copy of the default, which is therefore empty.
    """

    def __copy__(self) -> list[Any]:
        return []


@dataclass(frozen=True, slots=True)
class _Choice:
    """Value of an option from a setting. `option` is "" for a switch that the setting clears."""

    setting: Setting
    action: argparse.Action
    value: Any
    option: str


def apply_color(parser: argparse.ArgumentParser, configuration: Configuration) -> None:
    """Set the default of `--color` from the setting of all verbs. Raises: `UsageError`."""
    settings = configuration.file_settings((), frozenset(configuration.table) - {"color"})
    settings += [s for s in configuration.variables((), frozenset()) if s.name == "color"]
    for setting in settings:
        if setting.value not in COLORS:
            raise UsageError(f"{setting.place}: give one of {', '.join(COLORS)}")
        parser.set_defaults(color=setting.value)


def check_tables(configuration: Configuration, verbs: Sequence[str]) -> None:
    """Check that each key of the file's table is a verb or `color`. Raises: `UsageError`."""
    for key in configuration.table:
        if key not in {*verbs, "color"}:
            place = f"{configuration.path} [tool.cltrace] {key}"
            raise UsageError(f"{place}: this is no verb{_suggest(key, [*verbs, 'color'])}")


def apply_defaults(
    parser: argparse.ArgumentParser,
    words: tuple[str, ...],
    options: Sequence[str],
    configuration: Configuration,
) -> list[Setting]:
    """Set the defaults of a verb's parser and of those of its actions. Return the settings used.

    `words` are the verb, or the verb and its action. A setting that excludes one of the `options` of the
    command line is left out. Raises: `UsageError`.
    """
    actions = _subparsers(parser)
    inner = frozenset(actions)
    sources = [
        [_choose(parser, words, setting) for setting in settings]
        for settings in (
            configuration.file_settings(words, inner), configuration.variables(words, inner)
        )
    ]  # fmt: skip
    used: list[Setting] = []
    # The environment comes last and wins.
    for number, choices in enumerate(sources):
        given = {word.partition("=")[0] for word in options}
        given |= {choice.option for later in sources[number + 1 :] for choice in later}
        used += [choice.setting for choice in choices if _apply(parser, choice, choices, given)]
    for name, below in actions.items():
        used += apply_defaults(below, (*words, name), options, configuration)
    return used


def _choose(parser: argparse.ArgumentParser, words: tuple[str, ...], setting: Setting) -> _Choice:
    """Return the option of a setting and its value. Raises: `UsageError`."""
    action = _find_option(parser, words, setting)
    if setting.is_from_file:
        _check_trust(words, setting)
    value = _convert(parser, action, setting)
    is_cleared = action.nargs in {0, "?"} and value != action.const and not value
    return _Choice(setting, action, value, "" if is_cleared else f"--{setting.name}")


def _apply(
    parser: argparse.ArgumentParser,
    choice: _Choice,
    beside: Sequence[_Choice],
    given: Collection[str],
) -> bool:
    """Set the default of an option. Return False for one that a `given` option excludes.

    `beside` are the choices of the same source. Raises: `UsageError` if one of them excludes this one.
    """
    action, setting = choice.action, choice.setting
    rivals = _find_rivals(parser, action) if choice.option else frozenset()
    if not rivals.isdisjoint(given):
        return False
    for other in beside:
        if other.option in rivals:
            raise UsageError(f"{setting.place}: not allowed with {other.setting.place}")
    action.default, action.required = choice.value, False
    if action.help:
        # The place and the value are texts of the file, and argparse formats help with %.
        note = escape_controls(f"default {_show(setting.value)}, from {setting.place}")
        action.help = f"{_DEFAULT_NOTE.sub('', action.help)} ({note.replace('%', '%%')})"
    return True


def _find_option(
    parser: argparse.ArgumentParser, words: tuple[str, ...], setting: Setting
) -> argparse.Action:
    options = {
        option[2:]: action
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of options
        for option in action.option_strings
        if option.startswith("--") and not isinstance(action, argparse._HelpAction)  # noqa: SLF001
    }
    if setting.name not in options:
        allowed = [*options, *_subparsers(parser)]
        text = f"`cltrace {' '.join(words)}` has no option --{setting.name}"
        raise UsageError(f"{setting.place}: {text}{_suggest(setting.name, allowed)}")
    return options[setting.name]


def _check_trust(words: tuple[str, ...], setting: Setting) -> None:
    """Check that a file may set this option of a verb. Raises: `UsageError`."""
    names = ONLY_TRUSTED | ONLY_TRUSTED_OF.get(words, frozenset())
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    executes = setting.name == "power" and any(
        _is_program(value) for value in values if isinstance(value, str)
    )
    if setting.name in names or executes:
        raise UsageError(
            f"{setting.place}: a file may not set this, as it names what is written, executed or "
            "kept; use the command line or the environment"
        )


def _is_program(reader: str) -> bool:
    """Return True for a power reader that executes a program, or may, as one of a plug-in."""
    name, sign, _ = reader.strip().partition(":")
    return name == "exec" or (bool(sign) and name not in _READERS_WITH_ARGUMENT)


def _convert(parser: argparse.ArgumentParser, action: argparse.Action, setting: Setting) -> Any:
    """Return the value of an option as the command line's words would give it. Raises: `UsageError`."""
    try:
        if action.nargs == 0:
            return action.const if _parse_flag(setting.value) else not action.const
        if isinstance(action, argparse._AppendAction):  # noqa: SLF001 - the class has no public name
            return _Replaceable(_convert_text(parser, action, text) for text in _texts(setting))
        if action.nargs == "?" and _find_flag(setting.value) is not None:
            return action.const if _find_flag(setting.value) else None
        return _convert_text(parser, action, _text(setting.value))
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        text = error.message if isinstance(error, argparse.ArgumentError) else str(error)
        raise UsageError(f"{setting.place}: {text}") from error


def _convert_text(parser: argparse.ArgumentParser, action: argparse.Action, text: str) -> Any:
    value = parser._get_value(action, text)  # noqa: SLF001 - argparse's own check of a word
    parser._check_value(action, value)  # noqa: SLF001
    return value


def _parse_flag(value: object) -> bool:
    result = _find_flag(value)
    if result is None:
        raise ValueError(f"{_describe(value)} is no switch: give true or false")
    return result


def _find_flag(value: object) -> bool | None:
    """Return the state of a switch for the value of a setting; None if it is no word for one."""
    if isinstance(value, bool):
        return value
    return _WORDS.get(str(value).lower()) if isinstance(value, str) or value in (0, 1) else None


def _texts(setting: Setting) -> Iterator[str]:
    """Yield the values of an option that may be repeated. A variable's are parted as in a shell."""
    if isinstance(setting.value, list):
        yield from map(_text, setting.value)
    elif setting.is_from_file:
        yield _text(setting.value)
    else:
        yield from shlex.split(str(setting.value))


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f"{_describe(value)} is neither a text nor a number")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ValueError("this number is too large")
    text = str(value)
    if "\0" in text:
        raise ValueError(f"{_describe(value)} has a character 0")
    return text


def _describe(value: object) -> str:
    """Return a value for a message, shortened."""
    if isinstance(value, dict):
        return "a table"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # as for a number of too many digits
        return "this value"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _show(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _find_rivals(parser: argparse.ArgumentParser, action: argparse.Action) -> frozenset[str]:
    """Return the options that may not stand beside this one."""
    return frozenset(
        option
        for group in parser._mutually_exclusive_groups  # noqa: SLF001 - argparse has no public list
        if action in group._group_actions  # noqa: SLF001
        for other in group._group_actions  # noqa: SLF001
        if other is not action
        for option in other.option_strings
    )


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a verb's actions by name."""
    return {
        name: below
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of subparsers
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
        for name, below in action.choices.items()
    }


def _suggest(name: str, allowed: Sequence[str]) -> str:
    return suggest_name(name, allowed) or f"; there are {', '.join(sorted(allowed))}"
