"""Completion scripts: bash completes verbs, options, choices and files as they are declared."""

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest
import shtab

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.commands.completion import SHELLS, make_complete_parser
from tests.conftest import Runner

CASES = {
    ("cltrace", "sum"): {"summary"},
    ("cltrace", "run", "--timi"): {"--timing"},
    ("cltrace", "run", "--timing", "ca"): {"callback"},
    ("cltrace", "power", "characte"): {"characterise"},
    ("cltrace", "completion", "f"): {"fish"},
    ("cltrace", "view", "ma"): {"made.cltrace"},
    ("cltrace", "run", "ma"): {"made.cltrace"},
}
COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_cltrace
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "script.bash"
    path.write_text(shtab.complete(make_complete_parser(), shell="bash"))
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("words", CASES)
def test_bash_completes(words: tuple[str, ...], script: Path, tmp_path: Path) -> None:
    (tmp_path / "made.cltrace").touch()
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", str(script), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {word.strip() for word in done.stdout.splitlines()} == CASES[words]


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
