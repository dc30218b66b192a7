"""Build and cache of the layer, and the reasons why a program was not recorded."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from cltrace.errors import LayerCompilerMissingError, LayerError
from cltrace.intercept.native.build import build_layer, compile_layer, find_compilers
from cltrace.intercept.native.environment import layered_environment, takes_layers
from cltrace.intercept.native.loader_check import (
    Absence,
    bundled_loader,
    explain_unrecorded,
)
from tests.conftest import needs
from tests.native.conftest import WARNINGS_AS_ERRORS, BuiltLayers

COPYING_COMPILER = """#!/bin/sh
[ "$1" = --version ] && exec {command} --version
echo build >>{runs}
for word; do
    [ "$previous" = -o ] && output=$word
    previous=$word
done
[ -e {library} ] || {command} "$@" || exit
[ -e {library} ] || cp "$output" {library}
cp {library} "$output"
"""
"""A compiler that compiles the layer the first time, and then copies what it compiled."""


@pytest.fixture(scope="module")
def copying_compiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiler, beside it `runs` with a line per build."""
    compiler = next(find_compilers(), None)
    needs(compiler is not None, "a C compiler")
    assert compiler is not None
    program = tmp_path_factory.mktemp("compiler") / "cc"
    command = shlex.join(compiler.command)
    runs, library = program.with_name("runs"), program.with_name("layer.so")
    program.write_text(COPYING_COMPILER.format(command=command, runs=runs, library=library))
    program.chmod(0o700)
    return program


@pytest.fixture
def cache(copying_compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a built layer."""
    monkeypatch.setenv("PATH", f"{copying_compiler.parent}:{os.environ['PATH']}")
    directory = tmp_path / "cache" / "layer"
    build_layer(directory)
    return directory


def test_the_layer_is_built_once(cache: Path, copying_compiler: Path) -> None:
    (library,) = cache.glob("*.so")
    before = library.stat()
    runs = copying_compiler.with_name("runs")
    num_runs = len(runs.read_text().splitlines())
    assert num_runs > 0
    assert build_layer(cache) == library
    assert len(runs.read_text().splitlines()) == num_runs
    assert library.stat().st_mtime_ns == before.st_mtime_ns
    assert before.st_mode & 0o777 == 0o700
    assert cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["cc", "clang", "zig"])
def test_every_compiler_builds_it_without_a_warning(name: str, layers: BuiltLayers) -> None:
    named = (compiler for compiler in find_compilers() if Path(compiler.command[0]).name == name)
    compiler = next(named, None)
    if compiler is None and name == "clang":
        return  # zig is a clang
    needs(compiler is not None, name)
    assert compiler is not None
    assert layers.find(compiler, WARNINGS_AS_ERRORS).is_file()


def test_a_compiler_with_new_warnings_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = next(find_compilers(), None)
    needs(compiler is not None, "a C compiler")
    assert compiler is not None
    talkative = tmp_path / "bin" / "cc"
    talkative.parent.mkdir()
    talkative.write_text(f'#!/bin/sh\nexec {shlex.join(compiler.command)} "$@" -Wpadded -O0\n')
    talkative.chmod(0o700)
    monkeypatch.setenv("PATH", f"{talkative.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert next(find_compilers()).command == (str(talkative),)
    compile_layer(next(find_compilers()), tmp_path / "layer.so")


def test_a_directory_that_cannot_be_written_is_told() -> None:
    needs(next(find_compilers(), None) is not None, "a C compiler")
    with pytest.raises(LayerError, match="cannot be written"):
        build_layer(Path("/proc/sys/kernel"))  # not even by root


def test_a_changed_library_is_never_loaded(cache: Path) -> None:
    library = build_layer(cache)
    original = library.read_bytes()
    try:
        library.write_bytes(original[:-1] + b"x")
        rebuilt = build_layer(cache)
        assert rebuilt.read_bytes() == original or rebuilt != library
        assert rebuilt.read_bytes()[-1:] == original[-1:]
    finally:
        library.write_bytes(original)


def test_a_library_that_others_may_write_is_never_loaded(cache: Path) -> None:
    library = build_layer(cache)
    library.chmod(0o777)
    rebuilt = build_layer(cache)
    assert rebuilt.stat().st_mode & 0o022 == 0


def test_a_link_is_never_loaded(cache: Path, tmp_path: Path) -> None:
    library = build_layer(cache)
    elsewhere = tmp_path / "layer.so"
    library.rename(elsewhere)
    library.symlink_to(elsewhere)
    assert not build_layer(cache).is_symlink()


def test_a_library_of_another_user_is_never_loaded(cache: Path) -> None:
    if os.getuid() != 0:
        return  # only root can give files away
    library = build_layer(cache)
    os.chown(library, 12345, 12345)
    assert build_layer(cache).stat().st_uid == 0


def test_a_directory_that_others_may_write_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(LayerError, match="can be changed by other users"):
        build_layer(shared / "layer")


def test_a_missing_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(LayerCompilerMissingError, match=r"pip install .*\[predict\]"):
        build_layer(tmp_path / "layer")


def test_a_compiler_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "fatal error: x" >&2; exit 1\n'
    )
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(LayerError, match="fatal error"):
        build_layer(tmp_path / "layer")


def test_the_layer_stands_behind_those_of_the_user() -> None:
    layer = Path("/cache/layer.so")
    once = layered_environment({"OPENCL_LAYERS": "/a.so:/b.so", "HOME": "/"}, layer)
    assert once == {"OPENCL_LAYERS": "/a.so:/b.so:/cache/layer.so", "HOME": "/"}
    assert layered_environment(once, layer) == once


def test_a_program_without_opencl_is_told() -> None:
    reason = explain_unrecorded(Path("/bin/true"))
    assert reason.absence is Absence.NO_OPENCL
    assert "/bin/true" in reason.message


def test_scripts_and_missing_programs_are_told(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert explain_unrecorded(script).absence is Absence.NO_CALL
    assert explain_unrecorded(tmp_path / "missing").absence is Absence.NOT_READABLE


def test_a_program_for_another_machine_is_told(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(b"\x7fELF\x01\x01\x01".ljust(18, b"\0") + b"\x03\0" + b"libOpenCL.so.1\0")
    reason = explain_unrecorded(small)
    assert reason.absence is Absence.OTHER_MACHINE
    assert "size of addresses" in reason.message


def test_a_loader_without_layers_is_named(tmp_path: Path) -> None:
    compiler = next(find_compilers(), None)
    needs(compiler is not None, "a C compiler")
    assert compiler is not None
    (tmp_path / "loader.c").write_text(
        'const char *name = "OCL_ICD_VENDORS"; int clFlush(void *q) { return !q; }'
    )
    (tmp_path / "main.c").write_text("int clFlush(void *); int main(void) { return clFlush(0); }")
    loader, program = tmp_path / "libOpenCL.so.1", tmp_path / "program"
    cc = list(compiler.command)
    flags = ["-shared", "-fPIC", "-Wl,-soname,libOpenCL.so.1"]
    subprocess.run([*cc, *flags, "-o", str(loader), str(tmp_path / "loader.c")], check=True)
    link = ["-o", str(program), str(tmp_path / "main.c"), str(loader), f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([*cc, *link], check=True)
    reason = explain_unrecorded(program)
    assert reason.absence is Absence.OLD_LOADER
    assert str(loader) in reason.message
    assert "2.3" in reason.message


def test_the_loader_of_pyopencl_takes_layers() -> None:
    loader = bundled_loader()
    assert loader is None or takes_layers(loader)
