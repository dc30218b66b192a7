"""What traces are called."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.errors import UsageError
from cltrace.trace.file_names import default_name, expand_pattern


def test_every_pattern_has_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"JOB": "a b/../c", "EMPTY": ""}
    assert expand_pattern("%p.cltrace", environment) == Path(f"{os.getpid()}.cltrace")
    assert expand_pattern("100%%", environment) == Path("100%")
    # A variable's value stays within its directory.
    assert expand_pattern("x-%q{JOB}-%q{EMPTY}", environment) == Path("x-a_b_.._c-")
    assert "%" not in str(expand_pattern("%h-%t", environment))
    assert expand_pattern("%n.t", environment) == Path("1.t")
    Path("1.t").touch()
    Path("2.t.parts").mkdir()
    assert expand_pattern("%n.t", environment) == Path("3.t")


@pytest.mark.parametrize("pattern", ["%", "%x", "a%", "%q{}", "%q{NO}", "%q", "%\n"])
def test_what_means_nothing_is_said(pattern: str) -> None:
    with pytest.raises(UsageError, match="-o"):
        expand_pattern(pattern, {})


@pytest.mark.parametrize(
    ("command", "rank", "start"),
    [
        (["python", "app.py", "x"], None, "app-"),
        (["/usr/bin/python3", "-u", "dir/app.py"], None, "app-"),
        (["app.py"], None, "app-"),
        (["./app.py"], 3, "app-"),
        (["-m", "package.module"], None, "package.module-"),
        (["python", "-m", "pytest", "-q"], None, "pytest-"),
        (["-c", "import os"], None, "python-"),
        (["python", "-c", "app.py"], None, "python-"),
        (["bash", "run.sh"], None, "run-"),
        (["tool"], None, "tool-"),
        (["../../.."], None, "trace-"),
        (["a" * 300], None, "a" * 60 + "-"),
    ],
)
def test_a_trace_is_called_after_its_program(
    command: list[str], rank: int | None, start: str
) -> None:
    name = default_name(command, rank)
    assert name.startswith(start)
    assert name.endswith(f"{os.getpid()}.cltrace")
    assert ("rank3" in name) == (rank == 3)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=3), st.none() | st.integers(0, 99))
def test_a_default_name_is_a_plain_file_name(command: list[str], rank: int | None) -> None:
    name = default_name(command, rank)
    assert name == Path(name).name
    assert name.isascii()
    assert not name.startswith((".", "-"))
    assert len(name) < 140
