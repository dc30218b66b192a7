"""What `--vs` names: a directory, a revision, a command; and nothing of the repository changes."""

import os
import subprocess
from pathlib import Path

import pytest

from cltrace.errors import UsageError
from cltrace.runs.revisions import describe_side, open_base
from cltrace.runs.run_sampler import Invocation


def git(directory: Path, *words: str) -> str:
    plain = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(directory), *plain, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def everything(directory: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(directory)): one.read_bytes()
        for one in sorted(directory.rglob("*"))
        if one.is_file()
    }


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits of `sub/app.py`, and a change that is not committed."""
    there = tmp_path / "repository"
    (there / "sub").mkdir(parents=True)
    git(there, "init", "--quiet", "-b", "main")
    for text in ("old", "new"):
        (there / "sub" / "app.py").write_text(text)
        git(there, "add", ".")
        git(there, "commit", "--quiet", "-m", text)
    (there / "sub" / "app.py").write_text("newer")
    return there


def test_a_revision_is_a_directory_of_its_own(repository: Path) -> None:
    head = Invocation(("app.py", "7"), repository / "sub")
    git(repository, "status")  # it refreshes the index, once
    before = everything(repository)
    with open_base("HEAD~1", head) as (place, revision):
        assert revision == git(repository, "rev-parse", "HEAD~1")
        assert place.words == head.words
        assert (place.directory / "app.py").read_text() == "old"
        assert repository not in place.directory.parents
        assert describe_side(place, revision).revision == revision
    assert not place.directory.exists()
    assert everything(repository) == before
    with open_base("main", head) as (place, _):
        assert (place.directory / "app.py").read_text() == "new"


def test_a_revision_of_a_shallow_repository(repository: Path, tmp_path: Path) -> None:
    base = git(repository, "rev-parse", "HEAD~1")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), str(shallow))
    git(shallow, "fetch", "--quiet", "--depth=1", "origin", base)
    git(shallow, "status")
    before = everything(shallow)
    with open_base(base, Invocation(("app.py",), shallow / "sub")) as (place, revision):
        assert (revision, (place.directory / "app.py").read_text()) == (base, "old")
        assert git(place.directory, "status", "--porcelain") == ""
    assert everything(shallow) == before


def test_hooks_do_not_run_and_variables_of_git_name_no_other_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "post-checkout").chmod(0o755)
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    with open_base("HEAD~1", Invocation(("app.py",), repository / "sub")) as (place, _):
        assert (place.directory / "app.py").read_text() == "old"
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "index").exists()


def test_a_directory_comes_before_a_revision_of_its_name(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = Invocation(("app.py",), repository / "sub")
    other = tmp_path / "main"
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="a directory and a revision"), open_base("main", head):
        pass
    with open_base(str(other), head) as (place, revision):
        assert place == Invocation(("app.py",), other)
        assert revision == ""


def test_anything_else_is_a_command(repository: Path, tmp_path: Path) -> None:
    head = Invocation(("app.py",), repository / "sub")
    (head.directory / "my app.py").touch()
    with open_base("python 'my app.py' --fast", head) as (place, _):
        assert place == Invocation(("python", "my app.py", "--fast"), head.directory)
    outside = Invocation(("app.py",), tmp_path)
    for wrong in ("", "  ", "'", "--help", "no-such-branch"):
        with pytest.raises(UsageError), open_base(wrong, head):
            pass
    with (
        pytest.raises(UsageError, match="no directory, no revision"),
        open_base("HEAD~1", outside),
    ):
        pass


def test_a_directory_that_a_revision_does_not_have(repository: Path) -> None:
    (repository / "later").mkdir()
    with (
        pytest.raises(UsageError, match="HEAD has no directory later"),
        open_base("HEAD", Invocation(("app.py",), repository / "later")),
    ):
        pass


def test_what_is_known_of_a_place(repository: Path, tmp_path: Path) -> None:
    here = describe_side(Invocation(("app.py",), repository / "sub"))
    assert here.revision == git(repository, "rev-parse", "HEAD")
    assert here.is_dirty
    git(repository, "checkout", "--quiet", "--", ".")
    assert not describe_side(Invocation(("app.py",), repository / "sub")).is_dirty
    nowhere = describe_side(Invocation(("app.py",), tmp_path))
    assert (nowhere.revision, nowhere.is_dirty) == ("", False)


def test_no_program_of_the_configuration_runs(repository: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for name in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
        *("core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program"),
        *("credential.helper", "uploadpack.packObjectsHook", "alias.status", "alias.rev-parse"),
    ):
        git(repository, "config", name, f"!{program}" if name.startswith("alias") else str(program))
    git(repository, "config", "filter.evil.required", "true")
    ran.unlink(missing_ok=True)
    (repository / "sub" / "app.py").write_text("new")
    head = Invocation(("app.py",), repository / "sub")
    side = describe_side(head)
    assert side.revision
    with open_base("HEAD~1", head) as (place, revision):
        assert (place.directory / "app.py").read_text() == "old"
        describe_side(place, revision)
    assert not ran.exists()


@pytest.mark.parametrize("name", [b"a=b", b"a\xff", b"a.b", "ä".encode()])
def test_no_filter_runs_whatever_its_name(name: bytes, repository: Path, tmp_path: Path) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_bytes(b"* filter=" + name + b"\n")
    with (repository / ".git" / "config").open("ab") as file:
        file.write(b'[filter "%b"]\n\tclean = %b\n' % (name, os.fsencode(program)))
    (repository / "sub" / "app.py").write_text("nex")  # of the same size, so git compares contents
    assert describe_side(Invocation(("app.py",), repository / "sub")).is_dirty
    assert not ran.exists()


def test_a_revision_runs_in_its_own_files_only(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    git(repository, "rm", "-q", "-r", "-f", "sub")
    (repository / "sub").symlink_to(tmp_path / "other")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "link")
    (repository / "sub").unlink()
    (repository / "sub").mkdir()
    head = Invocation(("app.py",), repository / "sub")
    with pytest.raises(UsageError, match=r"a link to .*, outside of the revision"):  # noqa: SIM117
        with open_base("HEAD", head):
            pass


def test_names_that_are_not_utf_8(repository: Path) -> None:
    renamed = repository.rename(repository.with_name(os.fsdecode(b"a\xffb")))
    git(renamed, "branch", os.fsdecode(b"c\xffd"), "HEAD~1")
    with open_base("HEAD~1", Invocation(("app.py",), renamed / "sub")) as (place, revision):
        assert (place.directory / "app.py").read_text() == "old"
        reference = os.fsdecode(b"refs/remotes/origin/c\xffd")
        assert git(place.directory, "rev-parse", reference) == revision


FETCHES = {
    "uploadpack": {"remote.origin.url": "file:///nowhere", "remote.origin.uploadpack": "EVIL"},
    "ssh": {"remote.origin.url": "ssh://nowhere/x", "core.sshCommand": "EVIL"},
    "ext": {"remote.origin.url": "ext::EVIL", "protocol.ext.allow": "always"},
    "vcs": {
        "remote.origin.url": "EVIL",
        "remote.origin.vcs": "ext",
        "protocol.ext.allow": "always",
    },
    "proxy": {"remote.origin.url": "git://nowhere/x", "core.gitProxy": "EVIL"},
}
"""Settings of a partial clone with which git runs a program to fetch an object that it lacks."""


@pytest.mark.parametrize("how", FETCHES)
def test_no_program_fetches_what_a_partial_clone_lacks(
    how: str, repository: Path, tmp_path: Path
) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    lost = git(repository, "rev-parse", "HEAD~1:sub/app.py")
    settings = {
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        **FETCHES[how],
    }
    for name, value in settings.items():
        git(repository, "config", name, value.replace("EVIL", str(program)))
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    head = Invocation(("app.py",), repository / "sub")
    for text in ("1" * 40, lost, "HEAD~1"):
        with pytest.raises(UsageError), open_base(text, head):
            pass
    describe_side(head)
    assert not ran.exists()


def test_a_revision_has_the_tags_and_branches_of_its_repository(repository: Path) -> None:
    git(repository, "tag", "v1", "HEAD~1")
    git(repository, "tag", "-a", "-m", "two", "v2", "HEAD")
    git(repository, "pack-refs", "--all")
    with open_base("v2", Invocation(("app.py",), repository / "sub")) as (place, _):
        assert git(place.directory, "describe", "--tags") == "v2"
        assert git(place.directory, "log", "--format=%s", "origin/main", "--") == "new\nold"
        assert git(place.directory, "fsck", "--strict") == ""


def test_any_text_is_data(repository: Path, tmp_path: Path) -> None:
    head = Invocation(("app.py",), repository / "sub")
    for text in (
        *(
            "--upload-pack=touch ran",
            "-cfoo",
            "--",
            "HEAD..main",
            "HEAD --",
            "+main:evil",
            "main:x",
        ),
        *("^HEAD", "$(touch ran)", "`touch ran`", "; touch ran", "HEAD\nmain", "@{-1}", "*"),
        *("x" * 300, "x" * 5000, "\u202eHEAD", "HEAD^{/" + "a" * 300 + "}"),
    ):
        with pytest.raises(UsageError), open_base(text, head):
            pass
    assert not list(tmp_path.rglob("ran"))
    with open_base("python -c '" + "x" * 5000 + "'", head) as (place, _):
        assert len(place.words[2]) == 5000


def test_a_work_tree_elsewhere_is_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    git(repository, "config", "core.worktree", str(tmp_path / "other"))
    head = Invocation(("app.py",), repository / "sub")
    with pytest.raises(UsageError), open_base("HEAD", head):
        pass
