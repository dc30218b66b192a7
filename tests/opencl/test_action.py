"""The action for GitHub: its scripts, run as a runner runs them, on a shallow checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.opencl

ROOT = Path(__file__).parents[2]
PROGRAM = """
import numpy as np
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
kernel = cl.Program(context, "kernel void add(global float *x) { x[get_global_id(0)] += 1; }").build().add
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
for _ in range(8):
    kernel(queue, (1024,), None, x)
queue.finish()
"""

FEW = {"pairs": "6", "max-pairs": "6"}
"""The fewest pairs that can decide."""


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, str]:
    """A shallow checkout of a repository whose last commit launches once more, and the commit before."""
    origin, there = tmp_path / "origin", tmp_path / "checkout"
    origin.mkdir()
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")

    def git(directory: Path, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(directory), *identity, *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    git(origin, "init", "-q", "-b", "work")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    for text in (PROGRAM, PROGRAM.replace("range(8)", "range(9)")):
        (origin / "app.py").write_text(text)
        git(origin, "add", ".")
        git(origin, "commit", "-q", "-m", "one")
    git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), str(there))
    return there, git(origin, "rev-parse", "HEAD~1")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return found


def run_steps(
    directory: Path, temporary: Path, given: dict[str, str], num_steps: int | None = None
) -> tuple[int, str]:
    """Run the steps behind the installation, or the first of them, as a runner has them.

    Returns the last one's status, and the outputs.
    """
    found = action()
    values = {name: str(one.get("default", "")) for name, one in found["inputs"].items()} | given
    outputs = temporary / "outputs"
    status = 0
    for step in found["runs"]["steps"][1:][:num_steps]:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(temporary),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        }
        said = dict(
            line.split("=", 1) for line in (outputs.read_text().split() if outputs.exists() else ())
        )
        if "steps.base.outputs.revision" in step.get("if", "") and "revision" not in said:
            break
        for name, text in step["env"].items():
            if "steps.base.outputs.revision" in text:
                environment[name] = said["revision"]
                continue
            (key,) = re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
            environment[name] = values[key]
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            script, cwd=directory, env=environment, capture_output=True, text=True, check=False
        )
        status = done.returncode
        if status:
            break
    return status, outputs.read_text() if outputs.exists() else ""


def test_it_fails_a_launch_more_and_says_so_in_the_summary(
    checkout: tuple[Path, str], tmp_path: Path
) -> None:
    there, base = checkout
    given = {
        "command": "python app.py && echo 'done'", "base": base, "pairs": "6", "max-pairs": "6",
        "limits": "add=900%\nother*=5%",
    }  # fmt: skip
    status, outputs = run_steps(there, tmp_path, given)
    assert status == 1
    assert "status=1" in outputs
    summary = (tmp_path / "summary.md").read_text()
    assert "2 counters are higher" in summary
    assert (tmp_path / "cltrace-junit.xml").exists()
    assert (tmp_path / "cltrace-samples.json").exists()


@pytest.mark.parametrize("base", ["main", "origin/main", "0" * 40, ""])
def test_bases_as_events_give_them(checkout: tuple[Path, str], tmp_path: Path, base: str) -> None:
    there, before = checkout
    subprocess.run(["git", "branch", "-f", "main", before], cwd=tmp_path / "origin", check=True)
    given = {"command": "python app.py", "base": base, **FEW}
    status, outputs = run_steps(there, tmp_path, given)
    assert status == (1 if base.endswith("main") else 0)
    assert (f"revision={before}" in outputs) == base.endswith("main")


@pytest.mark.parametrize(
    "base",
    [
        "--upload-pack=touch ran;false",
        "--output=ran",
        "^main",
        "origin/^main",
        "origin/+main",
        "main:refs/heads/evil",
        "+refs/heads/*:refs/heads/*",
        "main evil",
        "main\nrevision=evil",
        "$(touch ran)",
        "`touch ran`",
    ],
)
def test_a_base_is_data(checkout: tuple[Path, str], tmp_path: Path, base: str) -> None:
    there, before = checkout
    subprocess.run(["git", "branch", "-f", "main", before], cwd=tmp_path / "origin", check=True)
    references = subprocess.check_output(["git", "for-each-ref"], cwd=there)
    status, outputs = run_steps(there, tmp_path, {"command": "python app.py", "base": base})
    assert status != 0
    assert "revision" not in outputs
    assert subprocess.check_output(["git", "for-each-ref"], cwd=there) == references
    assert not list(tmp_path.rglob("ran"))


PROGRAMS = {
    "uploadpack": ("remote.origin.uploadpack", "EVIL"),
    "another": ("remote.another.uploadpack", "EVIL"),
    "vcs": ("remote.origin.vcs", "ext"),
    "ssh": ("core.sshCommand", "EVIL"),
    "askpass": ("core.askPass", "EVIL"),
    "proxy": ("core.gitProxy", "EVIL"),
    "helper": ("credential.helper", "!EVIL"),
    "its helper": ("credential.https://nowhere.helper", "!EVIL"),
    "no UTF-8": (os.fsdecode(b"credential.https://nowhere/\xff.helper"), "!EVIL"),
    "hook": ("hook.any.command", "EVIL"),
    "references": ("core.alternateRefsCommand", "EVIL"),
    "ext": ("remote.origin.url", "ext::EVIL"),
    "rewritten": ("url.ext::EVIL .insteadOf", "file:"),
    "partial": ("remote.origin.uploadpack", "EVIL"),
}
"""Settings of a repository that name a program which a fetch may run."""


@pytest.mark.parametrize("how", PROGRAMS)
def test_no_program_of_the_configuration_fetches(
    how: str, checkout: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")  # regular expressions match no other bytes there
    there, before = checkout
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    name, value = (text.replace("EVIL", str(program)) for text in PROGRAMS[how])
    settings = {"protocol.ext.allow": "always", name: value}
    if how == "partial":
        settings |= {"extensions.partialClone": "origin", "remote.origin.promisor": "true"}
    for key, word in settings.items():
        subprocess.run(["git", "config", key, word], cwd=there, check=True)
    status, outputs = run_steps(there, tmp_path, {"command": "python app.py", "base": before})
    assert status != 0
    assert "revision" not in outputs
    assert not ran.exists()


def test_programs_of_the_user_stay(
    checkout: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, before = checkout
    (tmp_path / "gitconfig").write_text(
        "[core]\n\tsshCommand = ssh -q\n[credential]\n\thelper = cache\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    given = {"command": "python app.py", "base": before, **FEW}
    # The first step fetches.
    status, outputs = run_steps(there, tmp_path, given, num_steps=1)
    assert (status, f"revision={before}" in outputs) == (0, True)


@pytest.mark.parametrize("name", ["floor", "limits", "pairs", "max-pairs", "on-ambiguous"])
def test_other_inputs_are_data(checkout: tuple[Path, str], tmp_path: Path, name: str) -> None:
    there, before = checkout
    given = {"command": "python app.py", "base": before, **FEW, name: "--output=ran"}
    status, _ = run_steps(there, tmp_path, given)
    assert status == 2 or name == "on-ambiguous"
    assert not list(tmp_path.rglob("ran"))


def test_what_is_installed_is_data() -> None:
    assert '-- "$INSTALL"' in action()["runs"]["steps"][0]["run"]


def test_inputs_never_become_script() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_every_input_is_used_and_told() -> None:
    found = action()
    text = (ROOT / "action.yml").read_text()
    for name, one in found["inputs"].items():
        assert one["description"]
        assert f"inputs.{name}" in text
