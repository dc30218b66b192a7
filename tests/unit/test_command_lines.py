"""Command lines that ask for what cannot be: status 2 and one line. Options stand anywhere."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Runner

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-4.cltrace"
SOURCE = "kernel void f(global float *a, float x, int n) { a[get_global_id(0)] = x * n; }"
LONG = "n" * 254
LONGER = "n" * 300

HUGE = [str((1 << 63) - 1), str(1 << 63), str(1 << 64), "9" * 5000, "1e30", "nan", "-1", "0", ""]
LAUNCHES = [
    *([f"--global-size={size}", "--arg=a=4"] for size in HUGE if size != HUGE[0]),
    *([f"--local-size={size}"] for size in HUGE),
    *(
        [f"--global-size={size}"]
        for size in ("1,2,3,4", "1,1,1,1,1", "1,,2", f"{1 << 40}," * 2 + "9")
    ),
    *([f"--local-size={size}"] for size in ("1,2,3,4", "8,8", "4294967296,4294967296")),
    *(
        [f"--arg={word}"]
        for word in (
            "n=nan",
            "n=inf",
            "n=1.5",
            "n=1e400",
            f"n={1 << 63}",
            "n=4294967296",
            "n=-2147483649",
            "n",
            "=3",
            "x=",
            "x=no",
            "a=nan",
            "a=inf",
            "a=-1",
            f"a={1 << 63}",
            "a=1e30",
            "a=99999999999T",
            "a=@nothing.npy",
            "a=@.",
            f"a=@{LONGER}",
            f"{LONGER}",
        )
    ),
    ["--cpu-limit=nan"],
    ["--cpu-limit=-1"],
    ["--cpu-limit=1e300"],
    ["--top=-1"],
    [f"--top={1 << 70}"],
    [f"-I{LONGER}"],
    [f"--profile={LONGER}"],
    [f"--profile={LONG}"],
    ["--cpu=0"],
    ["--options=-fplugin=x"],
]
OTHERS = [
    *(
        [verb, name]
        for verb in ("summary", "info", "timeline", "view", "predict", "check", "recover")
        for name in (LONG, LONGER)
    ),
    ["query", LONGER, "SELECT 1"],
    ["compare", LONGER, LONGER],
    ["kernel", LONGER],
    ["kernel", f"{LONGER}.cl"],
    ["merge", LONGER, "t.cltrace", "-o", "x"],
    ["merge", "t.cltrace", "u.cltrace", "-o", LONGER],
    ["view", "t.cltrace", "-o", LONGER],
    ["export", "t.cltrace", "-o", f"{LONG}.json"],
    ["power", "import", "t.cltrace", LONGER],
    ["profile", "show", LONG],
    ["profile", "show", LONGER],
    ["predict", "t.cltrace", "--profile", LONGER],
    ["baseline", "save", "a", LONGER],
    ["baseline", "save", LONGER, "t.cltrace"],
    ["baseline", "show", LONGER],
    ["baseline", "list", "--baselines", LONGER],
    ["accuracy", "--from", LONGER],
    ["summary", "t.cltrace", "--from", "9" * 30],
    ["summary", "t.cltrace", "--top", str(1 << 70)],
    ["timeline", "t.cltrace", "--from", "nan"],
    ["query", "t.cltrace", "SELECT 1", "--limit", str(1 << 70)],
    ["query", "t.cltrace", "SELECT 1", "--timeout", "nan"],
    ["query", "t.cltrace", "SELECT 1", "--timeout", "1e400"],
    ["check", "t.cltrace", "--floor", "nan%"],
    ["check", "t.cltrace", "--floor", "1e400%"],
    ["query", "t.cltrace", "SELECT 1", "more"],
    ["summary", "t.cltrace", "u.cltrace"],
    ["info", "--nonsense", "t.cltrace"],
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "k.cl").write_text(SOURCE)
    for name in ("t.cltrace", "u.cltrace"):
        shutil.copy(GOLDEN, tmp_path / name)
    return tmp_path


def check_refused(words: list[str], place: Path, run: Runner) -> None:
    done = run(*words, cwd=place)
    messages = done.stderr.splitlines()
    assert done.status == 2, (words, done.stderr[-500:])
    assert len(messages) == 1, (words, done.stderr[-500:])
    assert "internal error" not in done.stderr


def test_launches_that_cannot_be_are_refused(place: Path, run: Runner) -> None:
    right = ["kernel", "k.cl", "--global-size=64", "--arg=x=1", "--arg=n=1"]
    assert run(*right, cwd=place).status == 0
    assert run(*right, "--arg=x=nan", "--arg=n=4294967295", cwd=place).status == 0
    for flags in LAUNCHES:
        check_refused([*right, *flags], place, run)


def test_names_and_numbers_that_cannot_be_are_refused(place: Path, run: Runner) -> None:
    for words in OTHERS:
        check_refused(words, place, run)


def test_options_stand_anywhere(place: Path, run: Runner) -> None:
    wanted = run("query", "t.cltrace", "SELECT 1 AS a", "--format", "csv", cwd=place)
    assert wanted.status == 0, wanted.stderr
    for words in (
        ["query", "t.cltrace", "--format", "csv", "SELECT 1 AS a"],
        ["query", "--format", "csv", "t.cltrace", "SELECT 1 AS a"],
        ["query", "--format=csv", "t.cltrace", "--limit", "5", "SELECT 1 AS a"],
    ):
        assert run(*words, cwd=place) == wanted
    for words in (
        ["compare", "t.cltrace", "--format", "csv", "u.cltrace"],
        ["merge", "t.cltrace", "-o", "m.cltrace", "u.cltrace"],
        ["baseline", "--format", "csv", "list"],
        ["power", "import", "t.cltrace", "--reader", "sim"],
    ):
        done = run(*words, cwd=place)
        assert done.status == 0, (words, done.stderr)


def test_run_refuses_before_the_program(place: Path, run: Runner) -> None:
    for flags in (
        ["-o", LONGER],
        ["-o", LONG],
        ["--delay", "nan"],
        ["--delay", "1e300"],
        ["--duration", "inf"],
        ["--max-events", "9" * 30],
        ["--callsite-depth", "9" * 30],
        ["--callsite-depth", "129"],
        ["--callsite-depth", "4294967296"],
    ):
        done = run("run", *flags, "-c", "print('ran')", cwd=place)
        assert (done.status, done.stdout) == (125, ""), (flags, done.stderr)
    assert run("run", LONGER, cwd=place).status == 127


def test_a_mistyped_option_gets_the_option_that_is_similar(run: Runner) -> None:
    done = run("summary", "--fromat=csv")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "--fromat=csv: did you mean --format? (see `cltrace summary --help`)\n"
    )
    unlike = run("summary", "--qqqqqqq")
    assert unlike.status == 2
    assert unlike.stderr.endswith("arguments: --qqqqqqq (see `cltrace summary --help`)\n")


def test_a_mistyped_option_of_run_keeps_its_status(run: Runner) -> None:
    done = run("run", "--timin", "-c", "print()")
    assert done.status == 125
    assert done.stderr.endswith("did you mean --timing? (see `cltrace run --help`)\n")
