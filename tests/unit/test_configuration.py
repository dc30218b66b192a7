"""Defaults from `pyproject.toml` and the environment: precedence, checks, and what a file may not set."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.commands.accuracy import _plan
from cltrace.commands.shared.configuration import Configuration, read_configuration
from cltrace.commands.shared.defaults import (
    ONLY_TRUSTED,
    ONLY_TRUSTED_OF,
    _subparsers,
    apply_defaults,
)
from cltrace.errors import UsageError
from tests.conftest import Runner

READ_ONLY = {
    "energy-from", "trace", "from", "reference", "beside", "baselines", "points", "baseline",
    "against", "kernels",
}  # fmt: skip
"""Options that name files or directories which are only read."""


def parse(
    verb: str,
    words: list[str],
    table: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
) -> argparse.Namespace:
    """Parse the words after a verb under settings of a file and an environment."""
    parser = make_verb_parser(verb)
    configuration = Configuration(Path("pyproject.toml"), table or {}, environment or {})
    apply_defaults(parser, (verb,), words, configuration)
    return parser.parse_args(words)


def test_command_line_wins_over_environment_and_environment_over_file() -> None:
    table: dict[str, object] = {"summary": {"top": 3, "sort": "mean"}}
    variables = {"CLTRACE_SUMMARY_TOP": "4"}
    assert parse("summary", [], table).top == 3
    assert parse("summary", [], table, variables).top == 4
    assert parse("summary", ["--top", "5"], table, variables).top == 5
    assert parse("summary", [], table, variables).sort == "mean"


def test_command_line_replaces_values_of_a_repeatable_option() -> None:
    table: dict[str, object] = {"run": {"include_kernel": ["a*", "b*"]}}
    assert parse("run", [], table).include_kernel == ["a*", "b*"]
    given = ["--include-kernel", "c*", "--include-kernel", "d*"]
    assert parse("run", given, table).include_kernel == ["c*", "d*"]
    variables = {"CLTRACE_RUN_INCLUDE_KERNEL": "x 'y z'"}
    assert parse("run", [], table, variables).include_kernel == ["x", "y z"]


def test_variable_clears_a_switch_of_the_file() -> None:
    table: dict[str, object] = {"run": {"no-env": True}}
    assert parse("run", [], table).no_env is True
    assert parse("run", [], table, {"CLTRACE_RUN_NO_ENV": "0"}).no_env is False


def test_actions_of_power_have_tables_of_their_own() -> None:
    table: dict[str, object] = {"power": {"list": {"format": "json"}}}
    assert parse("power", ["list"], table).format == "json"
    assert parse("power", ["list"], None, {"CLTRACE_POWER_LIST_FORMAT": "csv"}).format == "csv"


def test_given_option_takes_the_place_of_one_that_it_excludes() -> None:
    variables = {"CLTRACE_BENCH_VS": "main"}
    assert parse("bench", [], None, variables).vs == "main"
    assert parse("bench", ["--aa"], None, variables).vs is None


def find_actions(verb: str) -> Iterator[tuple[tuple[str, ...], argparse.Action]]:
    """Yield the options of a verb, and those of its actions, with their words."""
    parser = make_verb_parser(verb)
    for words, own in ((verb,), parser), *(((verb, n), p) for n, p in _subparsers(parser).items()):
        yield from ((words, action) for action in own._actions if action.option_strings)


SWITCHES = [
    (verb, action.option_strings[-1][2:], action.dest)
    for verb in VERBS
    for words, action in find_actions(verb)
    if len(words) == 1 and action.nargs == 0 and action.dest != "help"
]
FILLERS = {
    "domain": ["random"],
    "kernel": ["k.cl"], "profile": ["list"], "check": ["a"], "baseline": ["list"], "compare": ["a"],
    "recover": ["a"], "merge": ["-o", "a", "b"], "completion": ["bash"],
}  # fmt: skip
"""Words that verbs require."""


@pytest.mark.parametrize(("verb", "name", "attribute"), SWITCHES)
def test_switch_is_set_and_cleared(verb: str, name: str, attribute: str) -> None:
    words = FILLERS.get(verb, [])
    variable = f"CLTRACE_{verb}_{name}".upper().replace("-", "_")
    for text, is_set in (("1", True), ("0", False), ("True", True), ("false", False)):
        assert bool(getattr(parse(verb, words, None, {variable: text}), attribute)) is is_set
    for text, is_set in (("yes", True), ("NO", False), ("on", True), ("off", False)):
        assert bool(getattr(parse(verb, words, None, {variable: text}), attribute)) is is_set
    with pytest.raises(UsageError, match=f"{variable}: '2' is no switch"):
        parse(verb, words, None, {variable: "2"})
    assert not getattr(parse(verb, words, None, {variable: ""}), attribute)
    if name in ONLY_TRUSTED | ONLY_TRUSTED_OF.get((verb,), frozenset()):
        return
    for value in (True, False):
        assert bool(getattr(parse(verb, words, {verb: {name: value}}), attribute)) is value
    assert not getattr(parse(verb, words, {verb: {name: True}}, {variable: "0"}), attribute)


def test_cleared_switch_is_as_if_not_given(run: Runner, tmp_path: Path) -> None:
    write(tmp_path, "[tool.cltrace.accuracy]\ncold = false\n")
    assert "leave out --cold" not in run("accuracy", "--trace", "x").stderr
    assert not _plan(parse("accuracy", [], {"accuracy": {"cold": False}})).is_cold
    assert _plan(parse("accuracy", [], {"accuracy": {"cold": True}})).is_cold


def test_option_with_an_optional_value_may_be_a_switch() -> None:
    table: dict[str, object] = {"summary": {"predict": True}}
    assert parse("summary", [], table).predict == ""
    assert parse("summary", [], table, {"CLTRACE_SUMMARY_PREDICT": "no"}).predict is None
    assert parse("summary", [], {"summary": {"predict": False}}).predict is None
    assert parse("summary", [], {"summary": {"predict": "gpu"}}).predict == "gpu"


def test_options_that_exclude_each_other() -> None:
    both = {"CLTRACE_BENCH_VS": "main", "CLTRACE_BENCH_AA": "1"}
    with pytest.raises(UsageError, match="CLTRACE_BENCH_AA: not allowed with CLTRACE_BENCH_VS"):
        parse("bench", [], None, both)
    assert parse("bench", [], None, both | {"CLTRACE_BENCH_AA": "0"}).vs == "main"
    table: dict[str, object] = {"bench": {"aa": True}}
    of_variable = parse("bench", [], table, {"CLTRACE_BENCH_VS": "main"})
    assert (of_variable.vs, of_variable.aa) == ("main", False)


def test_empty_variable_is_no_setting(run: Runner) -> None:
    assert parse("run", [], None, {"CLTRACE_RUN_OUTPUT": ""}).output is None
    assert parse("run", [], {"run": {"delay": 2}}, {"CLTRACE_RUN_DELAY": ""}).delay == 2
    assert run("completion", "bash", env={"CLTRACE_COLOR": ""}).status == 0


def write(directory: Path, text: str) -> Path:
    path = directory / "pyproject.toml"
    path.write_text(text)
    return path


def test_nearest_file_with_the_table_serves(run: Runner, tmp_path: Path) -> None:
    path = write(tmp_path, "[tool.cltrace.summary]\ntop = 37\n")
    below = tmp_path / "below"
    below.mkdir()
    write(below, "[tool.other]\n")
    shown = " ".join(run("summary", "--help", cwd=below, env={"COLUMNS": "500"}).stdout.split())
    assert f"(default 37, from {path} [tool.cltrace.summary] top)" in shown


@pytest.mark.parametrize(
    "text",
    [
        "[ tool . cltrace ]\nsummary.top = 37",
        "tool.cltrace.summary = { top = 37 }",
        "[tool]\ncltrace = { summary = { top = 37 } }",
        "[\"tool\".'cltrace'.summary]\ntop = 37",
        '["tool"."\\u0063l\\U00000074race".summary]\ntop = 37',
        "[tool]\r\ncltrace.summary.top = 37\r\n",
        "\ufeff[tool.cltrace.summary]\ntop = 37",
        "tool = {cltrace.summary.top = 37}",
        "[tool.cltrace.summary]\ntop = 0x25",
    ],
)
def test_table_is_read_as_toml_reads_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    monkeypatch.chdir(tmp_path)
    assert read_configuration({}).table == {"summary": {"top": 37}}


def test_file_that_does_not_name_cltrace_may_be_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content in (b"[tool", b'a = "\\q"', b"\xff\\", b"a\\" + b".a" * 5000):
        (tmp_path / "pyproject.toml").write_bytes(content)
        monkeypatch.chdir(tmp_path)
        assert read_configuration({}).table == {}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[tool.cltrace.summary]\ntop = -1", "[tool.cltrace.summary] top: '-1' is not a whole"),
        ("[tool.cltrace.summary]\nsort = 'x'", "sort: invalid choice: 'x' (choose from"),
        ("[tool.cltrace.summary]\nfailed = 3", "failed: 3 is no switch: give true or false"),
        ("[tool.cltrace.summary]\ntop = [1]", "top: [1] is neither a text nor a number"),
        ("[tool.cltrace.summary]\nformt = 'csv'", "no option --formt: did you mean format?"),
        ("[tool.cltrace.sumary]\ntop = 1", "sumary: this is no verb: did you mean summary?"),
        ("[tool.cltrace]\nsummary = 1", "summary: this must be a table of options"),
        ("[tool.cltrace]\ncolor = 'red'", "color: give one of auto, always, never"),
        ("[tool.cltrace.summary", "is not TOML"),
        ("tool.cltrace = 3", "tool.cltrace: this must be a table of verbs"),
        ("[[tool.cltrace]]", "tool.cltrace: this must be a table of verbs"),
        (f"[tool.cltrace.summary]\ntop = {'9' * 5000}", "a number has too many digits (at line 2)"),
        (f"tool.cltrace.summary.top = 0x{'f' * 5000}", "summary] top: this number is too large"),
        (f"tool.cltrace.summary.energy-from = [0x{'f' * 5000}]", "this number is too large"),
        (f"tool.cltrace.summary.failed = 0x{'f' * 5000}", "failed: this value is no switch"),
        (f"tool.cltrace.color = [0x{'f' * 5000}]", "color: give one of auto, always, never"),
        (f"tool.cltrace.summary.top = {'[' * 5000}", "its values are nested too deeply"),
        (f"tool.cltrace{'.a' * 5000} = 1", "more than 1000 dots (at line 1)"),
        (
            f"tool.cltrace.summary.top{'.a' * 900} = 1",
            "top: a table is neither a text nor a number",
        ),
        (f"tool.cltrace.summary.top = '{'x' * 5000}'", "is not a whole"),
        ('tool.cltrace.summary.kernel = "\\u0000"', "kernel: '\\x00' has a character 0"),
        ("tool.cltrace.summary.top = 1979-05-27", "is neither a text nor a number"),
        ("tool.cltrace.'su\\nm' = 1", "this is no verb"),
        ('tool.cltrace."su\\nm" = 1', "this is no verb"),
    ],
)
def test_wrong_setting_is_one_line(run: Runner, tmp_path: Path, table: str, message: str) -> None:
    path = write(tmp_path, table)
    done = run("summary", "x.cltrace")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert message in done.stderr


def test_wrong_setting_refuses_run_before_the_program(run: Runner, tmp_path: Path) -> None:
    write(tmp_path, "[tool.cltrace.run]\ntiming = 'x'\n")
    assert run("run", "true").status == 125
    assert list(tmp_path.glob("*.cltrace*")) == []


@pytest.mark.parametrize(
    ("verb", "setting"),
    [
        ("run", "output = 'x'"),
        ("run", "power = ['exec:touch x']"),
        ("run", "keep_secrets = true"),
        ("bench", "vs = 'touch x'"),
        ("baseline", "baselines = '/tmp'"),
        ("check", "gab-json = 'x'"),
        ("run", "capture-buffers = 64"),
        ("run", "power = 'plugin:argument'"),
        ("baseline", "machine = 'x'"),
        ("calibrate", "from = 'x'"),
        ("power", "calibrate = {profile = 'x'}"),
        ("power", "calibrate.from = ['x']"),
    ],
)
def test_file_does_not_set_what_is_written_or_executed(
    run: Runner, tmp_path: Path, verb: str, setting: str
) -> None:
    write(tmp_path, f"[tool.cltrace.{verb}]\n{setting}\n")
    done = run(verb)
    assert done.status in {2, 125}
    assert done.stderr.count("\n") == 1
    assert "a file may not set this" in done.stderr


def test_options_with_paths_are_refused_or_only_read() -> None:
    named = {
        option[2:]
        for verb in VERBS
        for words, action in find_actions(verb)
        for option in action.option_strings
        if option.startswith("--")
        and (action.type is Path or action.metavar in {"PATH", "FILE", "DIR"})
        and option[2:] not in ONLY_TRUSTED_OF.get(words, frozenset())
    }
    assert named - ONLY_TRUSTED - READ_ONLY == set()


def test_refused_options_exist() -> None:
    options = {
        (words, option[2:])
        for verb in VERBS
        for words, action in find_actions(verb)
        for option in action.option_strings
    }
    assert {name for _, name in options} >= ONLY_TRUSTED
    assert {(words, name) for words, names in ONLY_TRUSTED_OF.items() for name in names} <= options


def test_doctor_names_the_file(run: Runner, tmp_path: Path) -> None:
    path = write(tmp_path, "[tool.cltrace.summary]\ntop = 3\n")
    done = run("doctor", "--no-surcharge", "--format", "json", env={"CLTRACE_VIEW_OPEN": "0"})
    assert f"{path} [tool.cltrace], CLTRACE_VIEW_OPEN" in done.stdout
