"""`cltrace help` shows the pages of the documentation."""

import os
import pty
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cltrace.commands import VERBS
from cltrace.commands.shared.guide_pages import find_pages
from tests.conftest import CLTRACE, Runner

ROOT = Path(__file__).parents[2]


def test_topics_are_verbs_guides_and_terms(run: Runner) -> None:
    pages = find_pages()
    assert {*VERBS, "tutorial", "glossary", "slow-program", "energy"} <= set(pages)
    done = run("help", env={"COLUMNS": "80"})
    assert done.status == 0
    assert "slow-program: My program is slow" in done.stdout


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("topic", [None, "slow-program", "tutorial", "glossary", "bench"])
def test_a_topic_fits_the_terminal(topic: str | None, columns: int, run: Runner) -> None:
    words = ("help",) if topic is None else ("help", topic)
    done = run(*words, env={"COLUMNS": str(columns)})
    assert done.status == 0
    assert len(done.stdout.splitlines()) > 10
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert "<!--" not in done.stdout
    assert "](" not in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("topic", [None, "energy", "glossary"])
def test_a_terminal_of_ascii_gets_replacements(topic: str | None, run: Runner) -> None:
    words = ("help",) if topic is None else ("help", topic)
    done = run(*words, env={"PYTHONIOENCODING": "ascii", "COLUMNS": "80"})
    assert done.status == 0
    assert len(done.stdout.splitlines()) > 10
    assert "\\u2500" not in done.stdout


def test_help_of_a_verb_escapes_what_the_output_lacks(run: Runner, tmp_path: Path) -> None:
    directory = tmp_path / "Ünïcode"
    directory.mkdir()
    (directory / "pyproject.toml").write_text("[tool.cltrace.summary]\ntop = 3\n")
    done = run("summary", "--help", cwd=directory, env={"PYTHONIOENCODING": "ascii"})
    assert done.status == 0
    assert "\\xdcn\\xefcode" in "".join(done.stdout.split())


def test_color_is_as_asked(run: Runner) -> None:
    assert "\x1b[" in run("help", "energy", "--color", "always").stdout
    assert "\x1b" not in run("help", "energy", "--color", "never").stdout


def test_an_unknown_topic_gets_the_nearest(run: Runner) -> None:
    done = run("help", "tutorail")
    assert done.status == 2
    assert "there is no topic 'tutorail': did you mean tutorial?" in done.stderr
    assert "`cltrace help` lists the topics" in run("help", "xyzzy").stderr


def test_a_terminal_gets_the_pager() -> None:
    parent, child = pty.openpty()
    env = {**os.environ, "PAGER": "sed s/^/paged:/", "TERM": "xterm"}
    with subprocess.Popen([*CLTRACE, "help", "energy"], stdout=child, stdin=child, env=env) as done:
        os.close(child)
        shown = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # how a terminal says that the last writer has gone
                break
            shown += part
    os.close(parent)
    assert done.returncode == 0
    assert b"paged:" in shown


def test_the_wheel_has_the_pages(tmp_path: Path) -> None:
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for topic in ("tutorial", "glossary", "bench", "guides/energy"):
        assert f"cltrace/docs/{topic}.md" in names
