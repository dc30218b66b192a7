"""`cltrace run`: how a command is given, what is refused, and where the trace goes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cltrace
from cltrace.errors import ExitStatus
from tests.conftest import PROGRAMS, Runner, clean_environment

pytestmark = pytest.mark.opencl

TICK = PROGRAMS / "tick.py"


def launches(path: Path) -> int:
    """Launches of the test kernel in a trace."""
    with cltrace.load(path) as trace:
        return int(trace.rows("SELECT count(*) FROM v_command WHERE kernel = 'tick'")[0][0])


def package(directory: Path) -> None:
    """Lay down a package `pkg` that launches, and prints its arguments."""
    (directory / "pkg").mkdir()
    (directory / "pkg" / "__init__.py").write_text("")
    (directory / "pkg" / "__main__.py").write_text(TICK.read_text())


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([sys.executable, str(TICK), "-q", "a"], "['-q', 'a']"),
        ([str(TICK), "--", "x"], "['--', 'x']"),
        (["-m", "pkg", "-q", "a"], "['-q', 'a']"),
        (["-c", f"exec(open({str(TICK)!r}).read())", "b"], "['b']"),
        (["--", sys.executable, "-m", "pkg", "--", "x"], "['--', 'x']"),
        (["bash", "-c", f"{sys.executable} {TICK} $0 | cat", "c"], "['c']"),
        (["./script.sh", "d"], "['d']"),
    ],
)
def test_traces_a_command_however_it_is_given(
    words: list[str], printed: str, run: Runner, tmp_path: Path
) -> None:
    package(tmp_path)
    script = tmp_path / "script.sh"
    script.write_text(f'#!/bin/sh\ncd / && exec {sys.executable} {TICK} "$@"\n')
    script.chmod(0o755)
    done = run("run", "-q", "-o", "t.cltrace", *words)
    assert (done.status, done.stdout) == (0, f"{printed}\n"), done.stderr
    assert done.stderr == ""
    assert launches(tmp_path / "t.cltrace") == 3


@pytest.mark.parametrize("word", ["pytest", str(Path(sys.executable).parent / "pytest")])
def test_traces_console_scripts(word: str, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"def test_it():\n    exec(compile(open({str(TICK)!r}).read(), 'tick', 'exec'), {{}})\n"
    )
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    words = (word, "-q", "-p", "no:cacheprovider", "test_it.py")
    done = run("run", "-o", "t.cltrace", *words, env={"PATH": path})
    assert done.status == 0, done.stdout
    assert "1 passed" in done.stdout
    assert launches(tmp_path / "t.cltrace") == 3


def test_says_when_a_command_is_not_there_or_cannot_run(run: Runner, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    missing = run("run", "nosuch-program")
    forbidden = run("run", "./plain")
    directory = run("run", str(tmp_path))
    assert [missing.status, forbidden.status, directory.status] == [127, 126, 126]
    for done in (missing, forbidden, directory):
        assert re.fullmatch(r"cltrace: [^\n]+\n", done.stderr), done.stderr
    assert not list(tmp_path.glob("*.cltrace*"))


def test_says_how_it_is_used_without_a_command(run: Runner) -> None:
    for words in (["-q"], ["--nosuch", "true"], ["-m"], ["--delay", "-1", "true"]):
        done = run("run", *words)
        assert (done.status, done.stdout) == (ExitStatus.REFUSED, "")
        assert "cltrace" in done.stderr.splitlines()[-1]


def test_refuses_an_existing_output_before_the_program_starts(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    assert run("run", "-q", "-o", path, TICK).status == 0
    before = path.read_bytes()
    marker = tmp_path / "ran"
    again = run("run", "-o", path, "-c", f"open({str(marker)!r}, 'w')")
    assert again.status == ExitStatus.REFUSED
    assert again.stderr.startswith("cltrace: ")
    assert "-f overwrites it" in again.stderr
    assert not marker.exists()
    assert path.read_bytes() == before
    forced = run("run", "-f", "-q", "-o", path, TICK)
    assert forced.status == 0
    assert path.read_bytes() != before
    assert not list(tmp_path.glob("*.parts"))


def test_a_program_that_fails_leaves_older_traces_alone(run: Runner, tmp_path: Path) -> None:
    older = tmp_path / "older.cltrace"
    assert run("run", "-q", "-o", older, TICK).status == 0
    before = older.read_bytes()
    assert run("run", "-q", "-o", "new.cltrace", "-c", "import nosuchmodule").status == 1
    assert older.read_bytes() == before


def test_a_command_that_cannot_start_leaves_no_trace(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo\n")
    for name, interpreter in (("gone", "/no/such/interpreter -x"), ("script", "/bin/sh")):
        (tmp_path / name).write_text(f"#!{interpreter}\n")
    (tmp_path / "gone").chmod(0o755)
    before = sorted(tmp_path.iterdir())
    for words, status, text in (
        (("nosuchcommand",), ExitStatus.NOT_FOUND, "nosuchcommand was not found"),
        (("nosuch.py",), ExitStatus.NOT_FOUND, "nosuch.py was not found"),
        (("./plain",), ExitStatus.NOT_EXECUTABLE, "./plain cannot be executed"),
        (("./script",), ExitStatus.NOT_EXECUTABLE, "./script cannot be executed"),
        (("./gone",), ExitStatus.NOT_EXECUTABLE, "its interpreter /no/such/interpreter was not"),
    ):
        done = run("run", "--", *words)
        assert (done.status, text in done.stderr) == (status, True), done.stderr
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [("nosuch.py",), ("-uB", "-X", "dev", "-Wignore", "nosuch.py", "x"), (f"{300 * 'x'}.py",)],
)
def test_a_python_without_its_script_ends_as_it_does_untraced(
    words: tuple[str, ...], run: Runner, tmp_path: Path
) -> None:
    alone = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert alone.returncode == 2
    quiet = run("run", "-q", "--", sys.executable, *words)
    assert (quiet.status, quiet.stdout, quiet.stderr) == (2, "", alone.stderr)
    traced = run("run", "-o", "t.cltrace", "--", sys.executable, *words)
    script = next(word for word in words if word.endswith(".py"))
    message = f"cltrace: {script} was not found: no trace is written\n"
    assert (traced.status, traced.stderr) == (2, f"{alone.stderr}{message}")
    assert run("run", "-q", "--strict", "--", sys.executable, *words).status == ExitStatus.REFUSED
    assert not list(tmp_path.iterdir())


def test_a_program_that_ends_like_a_failed_start_leaves_a_trace(
    run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys; sys.exit(2)")
    assert run("run", "-q", "-o", "t.cltrace", sys.executable, "app").status == 2
    assert (tmp_path / "t.cltrace").exists()


def test_a_trace_without_commands_suggests_no_timeline(run: Runner) -> None:
    nothing = run("run", "-o", "nothing.cltrace", "-c", "pass")
    assert nothing.stderr.endswith("cltrace: wrote nothing.cltrace\n")
    calls = run(
        "run", "-o", "calls.cltrace", "-c", "import pyopencl as cl; cl.create_some_context()"
    )
    assert calls.stderr.endswith("wrote calls.cltrace; next: cltrace info calls.cltrace\n")


def test_an_interpreter_without_cltrace_is_refused_before_its_first_line(
    run: Runner, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    python = bare / "bin" / "python"
    refused = run("run", "-o", "t.cltrace", python, "-c", "print('ran')")
    assert (refused.status, refused.stdout) == (ExitStatus.REFUSED, "")
    assert f"{python} -m pip install -e '{Path(__file__).parents[2]}'" in refused.stderr
    assert not list(tmp_path.glob("t.cltrace*"))
    child = f"import subprocess; subprocess.run([{str(python)!r}, '-c', 'print(5)'], check=True)"
    parent = run("run", "-o", "t.cltrace", "-c", child)
    assert (parent.status, parent.stdout) == (0, "5\n")
    told = json.loads(run("info", "t.cltrace", "--format", "json").stdout)["diagnostics"]
    assert [one["code"] for one in told if "has no cltrace" in one["message"]] == ["untraced"]


def test_patterns_name_the_trace(run: Runner, tmp_path: Path) -> None:
    words = ("-q", "-c", "pass")
    for _ in range(2):
        assert run("run", "-o", "a-%n-%q{WHO}.cltrace", *words, env={"WHO": "me"}).status == 0
    assert sorted(one.name for one in tmp_path.glob("a-*")) == ["a-1-me.cltrace", "a-2-me.cltrace"]
    assert run("run", "-o", "b-%q{NOBODY}.cltrace", *words).status == ExitStatus.REFUSED
    assert run("run", "-o", "b-%z.cltrace", *words).status == ExitStatus.REFUSED
    assert not list(tmp_path.glob("b-*"))
    assert run("run", *words).status == 0
    assert len(list(tmp_path.glob("python-20*.cltrace"))) == 1


def test_speaks_after_the_program_and_only_on_stderr(run: Runner) -> None:
    done = run("run", "-o", "t.cltrace", TICK)
    assert done.stdout == "[]\n"
    assert "Kernels" in done.stderr
    assert done.stderr.endswith("cltrace: wrote t.cltrace; next: cltrace timeline t.cltrace\n")
    silent = run("run", "--no-summary", "-f", "-o", "t.cltrace", TICK)
    assert silent.stderr == "cltrace: wrote t.cltrace; next: cltrace timeline t.cltrace\n"


def test_a_pipe_that_closes_early_harms_nothing(tmp_path: Path) -> None:
    line = f"{sys.executable} -m cltrace run -q -o t.cltrace {TICK} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=clean_environment(), capture_output=True, check=True
    )
    plain = f"{sys.executable} {TICK} | true; echo ${{PIPESTATUS[0]}}"
    untraced = subprocess.run(
        ["bash", "-c", plain],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == untraced.stdout
    assert launches(tmp_path / "t.cltrace") == 3


def test_strict_asks_for_something_to_have_been_traced(run: Runner) -> None:
    assert run("run", "-q", "-o", "a.cltrace", "-c", "pass").status == 0
    strict = run("run", "-q", "--strict", "-o", "b.cltrace", "-c", "pass")
    assert strict.status == ExitStatus.REFUSED
    assert "no OpenCL call was traced" in strict.stderr
    assert run("run", "-q", "--strict", "-o", "c.cltrace", TICK).status == 0


def test_the_programs_own_sitecustomize_still_runs(run: Runner, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('mine', __name__)\n")
    words = ("-c", "import sys; print(sys.modules['sitecustomize'].__file__)")
    environment = {"PYTHONPATH": str(own)}
    # Isolated, cltrace's own interpreter does not import it as well.
    tracer = [sys.executable, "-I", "-m", "cltrace", "run", "-qf", "-o", "t.cltrace"]
    plain = run(*words, command=[sys.executable], env=environment)
    traced = run(sys.executable, *words, command=tracer, env=environment)
    assert traced.stdout == plain.stdout
    (own / "sitecustomize.py").write_text("import nosuchmodule\n")
    plain = run(*words, command=[sys.executable], env=environment)
    traced = run(sys.executable, *words, command=tracer, env=environment)
    assert (traced.status, traced.stdout) == (plain.status, plain.stdout)


def test_the_program_sees_its_own_arguments_path_and_environment(run: Runner) -> None:
    code = (
        "import os, sys; print(sys.argv, sys.path, sys.flags, sys.orig_argv, __name__);"
        "ours = {'PYTHONPATH', 'OPENCL_LAYERS'};"
        "print(sorted(n for n in os.environ if not n.startswith('CLTRACE') and n not in ours));"
        "print(sorted(m for m in sys.modules if m.startswith('pyopencl') or m == 'numpy'))"
    )
    plain = run("-c", code, "x", command=[sys.executable])
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code, "x")
    assert traced.stdout == plain.stdout


def test_the_demo_and_the_example_are_traced_and_leave_one_file(
    run: Runner, tmp_path: Path
) -> None:
    example = Path(__file__).parents[2] / "examples" / "nbody.py"
    for words, kernel in ((("demo",), "diffuse"), (("run", "python", example), "accelerate")):
        place = tmp_path / words[0]
        place.mkdir()
        done = run(*words, cwd=place)
        assert done.status == 0, done.stderr
        assert done.stdout
        assert kernel in done.stderr
        assert "Kernels" in done.stderr
        (left,) = place.iterdir()
        with cltrace.load(left) as trace:
            assert trace.meta["state"] == "complete"
            assert trace.rows("SELECT count(*) FROM v_command WHERE kind = 'kernel'")[0][0] > 10


def test_run_imports_what_it_needs_only(tmp_path: Path) -> None:
    words: list[str | Path] = [
        "-m",
        "cltrace",
        "run",
        "-f",
        "-o",
        tmp_path / "a.cltrace",
        "--",
        sys.executable,
        TICK,
    ]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cltrace.trace.writer" in imported
    for slow in ("numpy.ma", "cltrace.power.attribution", "cltrace.intercept.native.loader_check"):
        assert slow not in imported


def test_setting_of_our_own_algebra_is_not_passed_on(run: Runner) -> None:
    done = run("run", "-q", "-c", "import os; print(os.environ.get('OPENBLAS_NUM_THREADS'))")
    assert done.stdout.strip() == str(clean_environment().get("OPENBLAS_NUM_THREADS"))
