"""Redacted copies of traces hold nothing of the program but its kernels' names, sizes and times."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import cltrace
from tests.conftest import MakeTrace, Runner

GOLDEN = Path(__file__).parents[1] / "golden"
REVEALING = (
    b"heat.py", b"/srv/heat", b"node1", b"global float", b"MainThread", b"--size", b"get_global_id",
    b"/usr/bin", b"OMP_NUM", b"meter", b"secret_kernel", b"5ec4e70a",
)  # fmt: skip


def test_nothing_is_left_in_the_bytes(make_trace: MakeTrace, run: Runner, tmp_path: Path) -> None:
    path = make_trace("made.cltrace", text=lambda text: f"{text}CANARY")
    reveal_more(path)
    whole, redacted = tmp_path / "whole.cltrace", tmp_path / "redacted.cltrace"
    assert run("export", path, "--to", "cltrace", "-o", whole).status == 0
    done = run("export", path, "--to", "cltrace", "--redact", "-o", redacted)
    assert done.status == 0, done.stderr
    assert "without sources" in done.stderr
    content = redacted.read_bytes()
    assert b"heat.py" in whole.read_bytes()
    assert not [word for word in REVEALING if word in content]
    places = {content[m.start() - 40 : m.end()] for m in re.finditer(b"CANARY", content)}
    allowed = (
        b"scale",
        b"device",
        b"pthread",
        b"Portable",
        b"part of",
        b"5.0",
        b"project",
        b"0000:01",
        b"cl_khr_fp64",
    )
    assert not [place for place in places if not any(word in place for word in allowed)]
    with cltrace.load(path) as before, cltrace.load(redacted) as after:
        sums = "SELECT dimension, activity, calls, total_ns, median_ns FROM v_rollup ORDER BY 1, 2, 3, 4"
        assert after.rows(sums) == before.rows(sums)
        assert after.rows("SELECT count(*) FROM v_launch_arg") == [(0,)]
        assert after.rows("SELECT count(*) FROM v_command") == before.rows(
            "SELECT count(*) FROM v_command"
        )
        assert after.rows("SELECT count(DISTINCT what) FROM v_redaction")[0][0] == 4
        settings = json.loads(after.meta["settings"] or "")
        assert settings["include_kernels"] == ["masked"]
        assert settings["exclude_kernels"] == []
        keys = dict(after.rows("SELECT key, inside FROM v_power_channel"))
        assert keys == {"exec:channel 1": "", "exec:channel 2": "exec:channel 1"}


def test_the_contents_of_a_redacted_trace_are_not_counted(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    path, redacted = make_trace(), tmp_path / "redacted.cltrace"
    assert run("export", path, "--to", "cltrace", "--redact", "-o", redacted).status == 0
    revealed = {
        name: {row["what"]: row["count"] for row in json.loads(shown.stdout)["reveals"]}
        for name, shown in (
            (file.stem, run("info", file, "--format", "json")) for file in (path, redacted)
        )
    }
    assert {what for what, count in revealed["redacted"].items() if count} == {"names of kernels"}
    assert revealed["made"]["names of hosts"] == 1
    assert revealed["made"]["file names and lines"] > 0


@pytest.mark.parametrize(("device", "kept"), [("0000:3b:00.0", "0000:3b:00.0"), ("desk 4", "")])
def test_devices_of_channels_are_addresses_or_left_out(
    device: str, kept: str, make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    path, redacted = make_trace(), tmp_path / "redacted.cltrace"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE power_channel SET device = ?", (device,))
    assert run("export", path, "--to", "cltrace", "--redact", "-o", redacted).status == 0
    with cltrace.load(redacted) as trace:
        assert trace.rows("SELECT DISTINCT device FROM v_power_channel") == [(kept,)]


def test_a_filter_of_kernels_is_known_in_a_redacted_trace(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    path, redacted = make_trace(), tmp_path / "redacted.cltrace"
    reveal_more(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE process SET commands_skipped = 5")
    assert run("export", path, "--to", "cltrace", "--redact", "-o", redacted).status == 0
    assert "or the kernel is excluded" in run("summary", redacted).stdout


def reveal_more(path: Path) -> None:
    """Add what only some recordings hold: filters of kernels, UUIDs, channels inside of others."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE meta SET value = json_set(value, '$.include_kernels', json('[\"secret_kernel\"]')) "
            "WHERE key = 'settings'"
        )
        connection.execute("UPDATE device SET uuid = '5ec4e70a' || printf('%024d', id)")
        connection.execute("UPDATE power_channel SET device = '5ec4e70a' || printf('%024d', 1)")
        connection.execute("UPDATE power_channel SET inside = 'exec:meter:a' WHERE id = 2")


def test_stacks_keep_their_depth_only(make_trace: MakeTrace, run: Runner, tmp_path: Path) -> None:
    path, redacted = make_trace(), tmp_path / "redacted.cltrace"
    assert run("export", path, "--to", "cltrace", "--redact", "-o", redacted).status == 0
    shape = "SELECT site_id, position FROM v_stack ORDER BY 1, 2"
    with cltrace.load(path) as whole, cltrace.load(redacted) as trace:
        assert trace.rows(shape) == whole.rows(shape)
        frames = trace.rows("SELECT file, line, function FROM v_stack WHERE position = 0")
        assert frames == [("file", site, f"site {site}") for site in range(1, len(frames) + 1)]
    for words in (
        ["summary", "--by", "stack"],
        ["export", "--to", "speedscope", "-f", "-o", "x.json"],
    ):
        done = run(words[0], redacted, *words[1:])
        assert done.status == 0, done.stderr
        assert "heat.py" not in done.stdout


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_redacted_copies_are_read_by_every_verb(version: int, run: Runner, tmp_path: Path) -> None:
    source, path = GOLDEN / f"schema-{version}.cltrace", tmp_path / "r.cltrace"
    done = run("export", source, "--to", "cltrace", "--redact", "-o", path)
    assert done.status == 0, done.stderr
    for words in (
        ["summary"], ["info"], ["timeline"], ["view", "-f", "-o", "x.html"], ["compare", path],
        ["export", "-f", "--to", "csv", "-o", "x.csv"], ["merge", source, "-f", "-o", "m.cltrace"],
        ["export", "-f", "--to", "cltrace", "--redact", "-o", "again.cltrace"],
        ["summary", "--by", "callsite"],
    ):  # fmt: skip
        done = run(words[0], path, *words[1:])
        assert done.status == 0, (words, done.stderr)


def test_redact_makes_traces_only(run: Runner, tmp_path: Path) -> None:
    source = GOLDEN / "schema-4.cltrace"
    done = run("export", source, "--to", "chrome", "--redact", "-o", tmp_path / "x.json")
    assert (done.status, len(done.stderr.splitlines())) == (2, 1)
    assert "reveals" in run("view", source, "-o", tmp_path / "x.html").stderr
    assert "reveals" in run("export", source, "-o", tmp_path / "x.json").stderr
