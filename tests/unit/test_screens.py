"""What a terminal, a pipe and a file get to see."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import MakeTrace, Runner, clean_environment

VERBS = (["summary"], ["summary", "--by", "callsite"], ["summary", "--failed"], ["info"])
NUMBER_CUT = re.compile(r"\d(…|\.\.\.)")


def columns_of(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_fits_the_terminal_and_cuts_no_number(
    width: int, words: list[str], make_trace: MakeTrace, run: Runner
) -> None:
    done = run(words[0], make_trace(), *words[1:], env={"COLUMNS": str(width)})
    assert done.status == 0
    assert columns_of(done.stdout) <= width
    assert "\x1b" not in done.stdout
    places = {"callsite", "failed"} & {word.lstrip("-") for word in words}
    assert places or not NUMBER_CUT.search(done.stdout)


@pytest.mark.parametrize(
    ("verb", "trace"), [("summary", "schema-1.cltrace"), ("timeline", "schema-2.cltrace")]
)
def test_the_screen_of_the_golden_trace_is_as_it_was(verb: str, trace: str, run: Runner) -> None:
    """A change of the screen is seen: `CLTRACE_NEW_SCREENS=1` writes what it is now."""
    golden = Path(__file__).parents[1] / "golden"
    for width in (60, 80):
        done = run(verb, golden / trace, env={"COLUMNS": str(width)})
        kept = golden / f"{verb}-{width}.txt"
        if os.environ.get("CLTRACE_NEW_SCREENS"):
            kept.write_text(done.stdout)
        assert done.stdout == kept.read_text()


def on_a_terminal(words: Sequence[str | Path], environment: dict[str, str]) -> str:
    """What a command prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cltrace", *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**clean_environment(), "TERM": "xterm-256color", "COLUMNS": "80", **environment},
    )
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        text += part
    assert process.wait(60) == 0
    os.close(ours)
    return text.decode()


def test_colour_is_for_terminals_that_want_it(make_trace: MakeTrace) -> None:
    path = make_trace()
    assert "\x1b[" in on_a_terminal(["summary", path], {})
    wishes: list[tuple[list[str | Path], dict[str, str]]] = [
        (["summary", path], {"NO_COLOR": "1"}),
        (["--color", "never", "summary", path], {}),
        (["summary", path], {"TERM": "dumb"}),
    ]
    for words, environment in wishes:
        text = on_a_terminal(words, environment)
        assert not re.search(r"\x1b\[[0-9;]*3\dm", text)
        assert "scale" in text


def test_ascii_where_nothing_else_can_be_shown(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    done = run("summary", path, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "80"})
    assert done.status == 0
    assert done.stdout.isascii()
    assert "us" in done.stdout
    assert columns_of(done.stdout) <= 80


@pytest.mark.parametrize("words", [["summary"], ["info"], ["query", "SELECT kind FROM v_command"]])
def test_a_reader_that_leaves_early_is_no_error(words: list[str], make_trace: MakeTrace) -> None:
    command = [sys.executable, "-m", "cltrace", words[0], str(make_trace()), *words[1:]]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert said == b""


def test_without_a_name_the_newest_trace_is_read(make_trace: MakeTrace, run: Runner) -> None:
    older, newer = make_trace("older.cltrace"), make_trace("newer.cltrace")
    os.utime(older, ns=(1, 1))
    done = run("summary", cwd=newer.parent)
    assert done.status == 0
    assert "newer.cltrace" in done.stderr


def test_a_value_that_no_flag_takes_is_a_usage_error(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    for words in (
        ["summary", path, "--from", "soon"],
        ["summary", path, "--by", "colour"],
        ["summary", path, "--nosuch"],
        ["query", path, "SELECT 1", "--limit", "many"],
        ["power", "lsit"],
        ["power", "list", "--nosuch"],
        ["nosuch"],
        ["--nosuch"],
    ):
        done = run(*words)
        assert done.status == 2
        (message,) = done.stderr.splitlines()
        assert message.startswith("cltrace: ")
        assert "--help`)" in message
        assert done.stdout == ""


def test_a_wrong_verb_is_answered_with_the_right_one(run: Runner) -> None:
    for words, answer in (
        (["rnu", "python", "app.py"], "did you mean run?"),
        (["app.py", "--flag"], "`cltrace run app.py ...` traces it"),
        (["nosuch", "x"], "there are run, demo"),
    ):
        done = run(*words)
        assert done.status == 2
        assert answer in done.stderr


def test_colour_may_be_chosen_behind_the_verb(make_trace: MakeTrace, run: Runner) -> None:
    assert "\x1b[" in run("summary", make_trace(), "--color", "always").stdout


def test_columns_without_room_are_named(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    done = run("query", path, "SELECT * FROM v_command", env={"COLUMNS": "60"})
    assert done.stdout.split()[0] == "command_id"
    assert "no room for" in done.stdout
    assert "first_launch" in done.stdout
    whole = run("query", path, "SELECT * FROM v_command", "--format", "csv", env={"COLUMNS": "60"})
    assert "no room" not in whole.stdout


def test_texts_of_a_query_are_shortened_before_a_column_is_left_out(
    make_trace: MakeTrace, run: Runner
) -> None:
    sql = f"SELECT 1 AS first, '{'x' * 90}' AS long, '{'y' * 90}' AS other, 2 AS last"
    done = run("query", make_trace(), sql, env={"COLUMNS": "60"})
    assert done.stderr == ""
    assert done.stdout.split()[:4] == ["first", "long", "other", "last"]
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert "…" in done.stdout


def test_one_table_is_plain_csv(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    done = run("summary", path, "--table", "kernels", "--format", "csv")
    assert done.stdout.startswith("name,calls,total_ns,")
    assert "#" not in done.stdout
    refused = run("summary", path, "--table", "nosuch")
    assert refused.status == 2
    assert "there are kernels" in refused.stderr
