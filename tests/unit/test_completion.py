"""Completion scripts: real shells complete verbs, flags, choices and files as they are declared."""

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.commands.completion import SHELLS, make_complete_parser, make_script
from tests.completing_shells import SHELLS as COMPLETERS
from tests.completing_shells import Candidates
from tests.conftest import Runner

FILES = {"made.cltrace", "sub", "two words.cltrace"}
CASES = {
    "cltrace sum": {"summary"},
    "cltrace run --timi": {"--timing"},
    "cltrace run --timing ca": {"callback"},
    "cltrace run --timing=ca": {"callback"},
    "cltrace run --timing=": {"event", "callback", "sync"},
    "cltrace --color=always sum": {"summary"},
    "cltrace --color never sum": {"summary"},
    "cltrace power characte": {"characterise"},
    "cltrace power list --form": {"--format"},
    "cltrace completion f": {"fish"},
    "cltrace help summ": {"summary"},
    "cltrace profile pl": {"plot"},
    "cltrace domain --allow-complex f": {"false"},
    # Files, the second and later ones included.
    "cltrace view ma": {"made.cltrace"},
    "cltrace view a.cltrace ma": {"made.cltrace"},
    "cltrace compare a b ma": {"made.cltrace"},
    "cltrace merge -f a b ma": {"made.cltrace"},
    "cltrace profile plot a ma": {"made.cltrace"},
    "cltrace check a ma": {"made.cltrace"},
    "cltrace check a b ma": set(),
    "cltrace baseline save name ma": {"made.cltrace"},
    "cltrace domain ma": {"made.cltrace"},
    # Values of flags.
    "cltrace run --output ma": {"made.cltrace"},
    "cltrace run --output=ma": {"made.cltrace"},
    "cltrace predict --profile ma": {"made.cltrace"},
    "cltrace kernel -I ": {"sub"},
    "cltrace domain --emit=": {"sub"},
    "cltrace run --include-kernel ": set(),
    "cltrace bench --limit saxpy=3 --pai": {"--pairs"},
    "cltrace run --power exec:x --live ma": {"made.cltrace"},
    "cltrace summary --predict ": FILES,
    "cltrace summary --predict --form": {"--format"},
    "cltrace summary --predict=a --form": {"--format"},
    # The command of `run` and `bench` has flags of its own.
    "cltrace run ma": {"made.cltrace"},
    "cltrace run -fq --timi": {"--timing"},
    "cltrace run python ma": {"made.cltrace"},
    "cltrace run python a.py --timi": set(),
    "cltrace run --live -m package --timi": set(),
    "cltrace bench --pairs 3 python a.py --pai": set(),
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the scripts of all shells."""
    path = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (path / shell).write_text(make_script(shell))
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory of two files and a directory."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "made.cltrace").touch()
    (tmp_path / "two words.cltrace").touch()
    return tmp_path


def verb_parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each verb, `power list` as well as `power`, and its parser."""
    for verb in VERBS:
        parser = make_verb_parser(verb)
        yield verb, parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"{verb} {name}", below) for name, below in action.choices.items())


def declared_flags(parser: argparse.ArgumentParser) -> Candidates:
    """Return the help of each long flag, as `--help` shows it."""
    formatter = parser._get_formatter()
    return {
        flag: formatter._expand_help(action)
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--") and action.help != argparse.SUPPRESS
    }


def declared_values(parser: argparse.ArgumentParser) -> Iterator[tuple[str, set[str]]]:
    """Yield each flag that has choices or names a path, and what may follow it."""
    for action in parser._actions:
        for flag in action.option_strings:
            if action.choices:
                yield flag, set(map(str, action.choices))
            elif action.type is Path:
                yield flag, {"sub"} if action.metavar == "DIR" else FILES


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_words(shell: str, scripts: Path, directory: Path) -> None:
    candidates = COMPLETERS[shell](scripts / shell, list(CASES), directory)
    assert dict(zip(CASES, map(set, candidates), strict=True)) == CASES


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_every_verb_and_flag(shell: str, scripts: Path, directory: Path) -> None:
    verbs = {verb: entry.summary for verb, entry in VERBS.items()}
    flags = {f"cltrace {verb} --": declared_flags(parser) for verb, parser in verb_parsers()}
    expected = {"cltrace ": verbs, **flags}
    candidates = COMPLETERS[shell](scripts / shell, list(expected), directory)
    if shell == "bash":
        # Bash shows no descriptions.
        expected = {line: dict.fromkeys(words, "") for line, words in expected.items()}
    assert dict(zip(expected, candidates, strict=True)) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_the_values_of_every_flag(
    shell: str, scripts: Path, directory: Path
) -> None:
    expected = {
        f"cltrace {verb} {flag} ": values
        for verb, parser in verb_parsers()
        for flag, values in declared_values(parser)
    }
    assert len(expected) > 100
    candidates = COMPLETERS[shell](scripts / shell, list(expected), directory)
    assert dict(zip(expected, map(set, candidates), strict=True)) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_with_all_verbs(shell: str, run: Runner) -> None:
    done = run("completion", shell)
    assert (done.status, done.stderr) == (0, "")
    assert not [verb for verb in VERBS if verb not in done.stdout]
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_the_script_knows_the_options_that_the_parsers_take() -> None:
    actions = make_complete_parser()._actions
    verbs = next(a for a in actions if isinstance(a, argparse._SubParsersAction)).choices
    assert list(verbs) == list(VERBS)
    for verb, parser in verbs.items():
        assert set(parser._option_string_actions) == set(
            make_verb_parser(verb)._option_string_actions
        )


def test_bash_completes_nothing_after_a_lone_word_break(scripts: Path, directory: Path) -> None:
    """Zsh has commands after `=`."""
    assert COMPLETERS["bash"](scripts / "bash", ["cltrace =", "cltrace :"], directory) == [{}, {}]
