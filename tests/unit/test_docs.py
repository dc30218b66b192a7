"""The documentation says what the program does."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.commands.power import ACTIONS
from cltrace.errors import CltraceError, ExitStatus
from cltrace.trace.limits import LIMITS
from cltrace.trace.query import query
from cltrace.trace.views import VIEWS
from tests.conftest import MakeTrace, Runner

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def test_generated_parts_are_in_step() -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run python docs/generate.py:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_with_all_its_flags(verb: str, run: Runner) -> None:
    page = (DOCS / f"{verb}.md").read_text()
    shown = run(verb, "--help")
    assert shown.status == 0
    flags = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shown.stdout)) - {"-h", "--help"}
    flags &= {one for action in make_verb_parser(verb)._actions for one in action.option_strings}
    missing = sorted(flag for flag in flags if flag not in page)
    assert not missing
    declared = {
        one
        for action in make_verb_parser(verb)._actions
        for one in action.option_strings
        if one.startswith("--")
    }
    assert declared <= flags | {"--help"}


def parsers(verb: str) -> list[argparse.ArgumentParser]:
    """The parser of a verb, and those of its actions."""
    own = make_verb_parser(verb)
    inner = [
        parser
        for action in own._actions
        if isinstance(action, argparse._SubParsersAction)
        for parser in action.choices.values()
    ]
    return [own, *inner]


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_of_power_has_all_its_flags_on_the_page(action: str) -> None:
    page = (DOCS / "power.md").read_text()
    flags = {
        one
        for parser in parsers("power")
        if parser.prog.endswith(action)
        for each in parser._actions
        for one in each.option_strings
    }
    assert flags
    assert not [one for one in flags - {"-h", "--help"} if one not in page]


def test_a_page_names_no_flag_that_there_is_not() -> None:
    known = {
        one
        for verb in VERBS
        for parser in parsers(verb)
        for action in parser._actions
        for one in action.option_strings
    }
    known |= {"--version", "--group", "--app-flag", "--only", "--rounds", "--json"}
    known |= {"--cltrace-save", "--cltrace-compare", "--cltrace-dir", "--lf"}  # of pytest
    known |= {"--depth"}  # of git
    known |= {"--corpus", "--programs", "--seed", "--port"}  # of benchmarks and of meters
    known |= {
        "--launches",
        "--shapes",
        "--length",
        "--before",
        "--rate",
        "--kills",
    }  # of benchmarks
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", page.read_text()))
        assert not named - known - {"--check"}, page.name


def test_the_queries_in_the_pages_are_answered(make_trace: MakeTrace) -> None:
    path = make_trace()
    page = (DOCS / "query.md").read_text()
    found = [
        re.sub(r"\s+", " ", one).strip()
        for one in re.findall(r"^    SELECT.*?(?=\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    ]
    assert len(found) >= 4
    for sql in found:
        assert query(path, sql, max_rows=10, max_seconds=10).rows, sql


def test_every_view_column_and_limit_is_described() -> None:
    text = (DOCS / "trace-format.md").read_text()
    for view in VIEWS:
        section = text[text.index(f"### `{view.name}`") :].split("###")[1]
        for column in view.columns:
            assert (
                f"| `{column.name}` | {column.description.replace('|', chr(92) + '|')} |" in section
            )
    limits = (DOCS / "limits.md").read_text()
    for limit in LIMITS:
        assert f"- **{limit.code}**:" in limits


def test_links_lead_somewhere() -> None:
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        for target, _ in LINK.findall(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_exit_statuses_are_one_table() -> None:
    statuses = {int(one) for one in ExitStatus}
    assert {0, 1, 2, 3, 4, 70, 125, 126, 127} == statuses
    kinds = [CltraceError]
    while kinds:
        kind = kinds.pop()
        assert int(kind.exit_status) in statuses
        assert kind.__doc__
        kinds += kind.__subclasses__()


def test_the_test_command_is_the_readmes() -> None:
    """`.ci/run` takes the command out of the README: there must be exactly one."""
    command = re.compile(r"^    (python3 -m venv .*make check)$", re.MULTILINE)
    found = command.findall((ROOT / "README.md").read_text())
    assert len(found) == 1


def test_help_of_everything_fits_80_columns(run: Runner) -> None:
    actions = [["power", action] for action in ACTIONS]
    for words in ([], *([verb] for verb in VERBS), *actions):
        shown = run(*words, "--help", env={"COLUMNS": "80"})
        assert shown.status == 0
        assert max(map(len, shown.stdout.splitlines())) <= 80
