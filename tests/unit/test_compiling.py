"""A stranger's source: what reaches the compiler, what the compiler sees, what it may use."""

import contextlib
import os
import re
import stat
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.errors import (
    BuildOptionError,
    CltraceError,
    CompilerFailedError,
    CompilerMissingError,
    KernelExecutionError,
    KernelSourceError,
    UnsupportedKernelError,
)
from cltrace.installation import suggest_install
from cltrace.kernels import BufferArgument, Sampling, count, execute, parse
from cltrace.kernels.compiler import CodeForm, Compiler, CompileRequest, read_options
from cltrace.kernels.compiler.cache import DiskCache
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.compiler.confinement import ProcessLimits, run_confined
from tests.kernels.catalogue import CASES
from tests.patience import HANG_S

KERNEL = "__kernel void k(__global int *a) { a[get_global_id(0)] = VALUE; }"


@pytest.mark.parametrize(
    "words",
    [
        "-o /tmp/x", "-o/tmp/x", "-MD", "-MF /tmp/x", "-fplugin=/tmp/x.so", "-Xclang -load",
        "@/etc/passwd",
        "-include /etc/passwd", "-imacros x", "-isystem /usr/include", "-iquote x", "--config=x",
        "-ivfsoverlay x", "-fmodules", "-Wl,-x", "-Wa,x", "-E", "-S", "-target x86_64", "--version",
        "-specs=x", "-B/tmp", "-fuse-ld=x", "-working-directory=/", "-fdebug-prefix-map=a=b", "x.cl",
        "-D", "-D@/etc/passwd", "-D-o", "-U=", "-cl-std=CL9.9", "-fprofile-generate", "-###",
        "-serialize-diagnostics x", "-save-stats", "-ftime-trace", "-emit-ast", "-dumpdir x y",
    ],
)  # fmt: skip
def test_options_that_are_not_of_opencl_are_refused(words: str) -> None:
    with pytest.raises(BuildOptionError):
        parse(KERNEL, words + " -DVALUE=1")


@pytest.mark.parametrize("words", ["-g", "-O3", "-cl-nv-verbose", "-Werror", "-v", "-save-temps"])
def test_options_of_drivers_are_not_passed_on(words: str) -> None:
    options = read_options(words)
    assert options.passed == ()
    assert options.ignored


@given(st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_option_is_listed_or_refused(text: str) -> None:
    try:
        options = read_options(text)
    except BuildOptionError:
        return
    for word in options.passed:
        assert word.startswith(("-D", "-U", "-cl-", "-w"))
        assert word[:3] not in {"-D@", "-U@"}


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret.h"
    path.write_text("int top_secret_number = 4711;\n")
    return path


@pytest.mark.parametrize(
    "form",
    [
        '#include "{}"', "#include <{}>", '#define X "{}"\n#include X', '#include_next "{}"',
        '#import "{}"', "__constant char x[] = {{\n#embed \"{}\"\n}};",
        '#include "/cltrace/headers/../..{}"',
        '#include "{}/../secret.h"', '#pragma clang system_header\n#include "{}"', '#include_macros "{}"',
    ],
)  # fmt: skip
def test_no_file_is_included_but_the_programs_own(form: str, secret: Path) -> None:
    with pytest.raises(KernelSourceError) as error:
        parse(form.format(secret) + "\n" + KERNEL, "-DVALUE=1")
    assert "4711" not in error.value.log
    assert "top_secret" not in error.value.log


def test_whether_a_file_exists_cannot_be_told(secret: Path) -> None:
    source = f'#if __has_include("{secret}") || __has_embed("{secret}")\n#error there\n#endif\n'
    assert parse(source + KERNEL, "-DVALUE=1").kernels


def test_standard_files_are_not_there() -> None:
    for name in ("/etc/passwd", "/proc/self/environ", "/dev/stdin", "stdio.h", "stddef.h"):
        with pytest.raises(KernelSourceError, match="not found"):
            parse(f'#include "{name}"\n{KERNEL}', "-DVALUE=1")


def test_headers_are_found_by_their_names() -> None:
    headers = {"values.h": '#include "sub/deep.h"\n', "sub/deep.h": "#define VALUE 7\n"}
    program = parse('#include "values.h"\n' + KERNEL, headers=headers)
    outputs, _ = execute(program, "k", (4,), (4,), [BufferArgument(16, _zeros(4))])
    assert outputs[0].view("i4").tolist() == [7] * 4


def test_a_header_is_found_by_its_absolute_name_but_never_replaces_ours() -> None:
    source = '#include "/their/place/../values.h"\n' + KERNEL
    assert parse(source, headers={"/their/values.h": "#define VALUE 7\n"}).kernels
    hostile = {"/cltrace/prelude.h": "#error replaced\n", "//cltrace/prelude.h": "#error too\n"}
    assert parse(KERNEL, "-DVALUE=1", headers=hostile).kernels


@pytest.mark.parametrize(("options", "version"), [("", 300), ("-D__OPENCL_VERSION__=120", 120)])
def test_the_version_of_the_device_is_defined(options: str, version: int) -> None:
    source = f"#if __OPENCL_VERSION__ != {version}\n#error another version\n#endif\n{KERNEL}"
    assert parse(source, f"{options} -DVALUE=1").kernels


def _zeros(count: int):  # type: ignore[no-untyped-def]
    import numpy as np  # noqa: PLC0415

    return np.zeros(count, np.int32)


def test_directories_give_their_headers_and_nothing_above(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "v.h").write_text("#define VALUE 3\n")
    (tmp_path / "outside.h").write_text("#define VALUE 4\n")
    assert parse('#include "v.h"\n' + KERNEL, include_dirs=[tmp_path / "inside"]).kernels
    with pytest.raises(KernelSourceError):
        parse('#include "../outside.h"\n' + KERNEL, include_dirs=[tmp_path / "inside"])


def confined(**limits: float) -> Compiler:
    return Compiler(limits=ProcessLimits(**limits))  # type: ignore[arg-type]


MACRO_BOMB = "#define A0 x x x x x x x x\n" + "".join(
    f"#define A{n} {' '.join([f'A{n - 1}'] * 8)}\n" for n in range(1, 12)
)


def test_a_macro_bomb_ends_in_time(tmp_path: Path) -> None:
    began = time.monotonic()
    compiler = Compiler(DiskCache(tmp_path), ProcessLimits(wall_s=6, cpu_s=3, memory_bytes=1 << 30))
    with pytest.raises((CompilerFailedError, KernelSourceError)):
        parse(f"{MACRO_BOMB}\n__kernel void k(void) {{ int x; A11; }}", compiler=compiler)
    assert time.monotonic() - began < HANG_S / 2


def test_a_message_names_the_limit_of_time(tmp_path: Path) -> None:
    bomb = f"{MACRO_BOMB}\n__kernel void k(void) {{ int x; A11; }}"
    for limits, message in (
        (ProcessLimits(cpu_s=1), "limit of 1 s of CPU time"),
        (ProcessLimits(wall_s=0.01), "did not end within 0.01 s"),
    ):
        with pytest.raises(CompilerFailedError, match=message):
            parse(bomb, compiler=Compiler(DiskCache(tmp_path), limits))


def test_output_is_bounded(tmp_path: Path) -> None:
    many = "".join(
        f"__kernel void k{n}(__global int *a) {{ a[{n}] += {n}; }}\n" for n in range(400)
    )
    compiler = Compiler(DiskCache(tmp_path), ProcessLimits(output_bytes=64 << 10))
    with pytest.raises(CompilerFailedError, match="MiB"):
        parse(many, compiler=compiler)


def test_memory_is_bounded(tmp_path: Path) -> None:
    compiler = Compiler(DiskCache(tmp_path), ProcessLimits(memory_bytes=60 << 20))
    with pytest.raises(CltraceError):
        parse(KERNEL, "-DVALUE=1", compiler=compiler)


@pytest.mark.parametrize(
    "source",
    [
        "#pragma clang __debug crash\n", "#pragma clang __debug llvm_fatal_error\n",
        "#pragma clang __debug parser_crash\n", "{" * 100_000, "(" * 5_000,
        "int x = " + "-" * 20_000 + "1;",
        "\0", "#line 7 \"\x1b[31m\"\nint;;;x", "__kernel", "", "\\", "/*", '"', "#if", "??/",
    ],
)  # fmt: skip
def test_a_broken_source_is_an_error_in_one_line(source: str) -> None:
    try:
        program = parse(source)
    except CltraceError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert not program.kernels


def test_an_error_has_the_place_and_the_compilers_words() -> None:
    with pytest.raises(KernelSourceError) as found:
        parse("__kernel void k(__global int *a)\n{\n    a[0] = nothing;\n}\n")
    assert found.value.place == "program.cl:3:12"
    assert "undeclared identifier 'nothing'" in str(found.value)
    with pytest.raises(KernelSourceError) as found:
        parse('#include "h.h"\n', headers={"h.h": "int f( { }"})
    assert found.value.place.startswith("h.h:1:")


def test_what_is_not_supported_is_named_with_its_line() -> None:
    source = '__kernel void k(__global int *a)\n{\n    __asm__ volatile("nop");\n    a[0] = 1;\n}\n'
    program = parse(source)
    with pytest.raises(UnsupportedKernelError, match=r"program\.cl:3: .*inline assembly"):
        count(program, "k", (32,), (32,), [BufferArgument(128)])
    other = parse("int f(int);\n__kernel void k(__global int *a)\n{\n    a[0] = f(1);\n}\n")
    with pytest.raises(UnsupportedKernelError, match=r"program\.cl:4: the function f "):
        count(other, "k", (32,), (32,), [BufferArgument(128)])


def test_recursion_is_an_error() -> None:
    source = "int f(int n) { return n ? n * f(n - 1) + 3 * f(n >> 1) : 1; }\n"
    program = parse(source + "__kernel void k(__global int *a) { a[0] = f(a[1]); }")
    with pytest.raises(UnsupportedKernelError, match="calls itself"):
        count(program, "k", (1,), (1,), [BufferArgument(8)])


def test_an_endless_kernel_ends_in_an_error_with_its_line() -> None:
    program = parse("__kernel void k(__global int *a)\n{\n    for (int i = 1; ; i = i * 5 + 1)\n"
                    "        a[i & 7] += i;\n}\n")  # fmt: skip
    with pytest.raises(KernelExecutionError, match=r"program\.cl:[34]: .* more than"):
        count(program, "k", (64,), (64,), [BufferArgument(64)], sample=Sampling(max_steps=500_000))


def test_gigantic_arrays_are_refused() -> None:
    program = parse("__kernel void k(__global int *a, int n) {\n    char x[1 << 26];\n"
                    "    for (int i = 0; i < n; ++i) x[a[i]] = i;\n    a[0] = x[a[1]];\n}")  # fmt: skip
    with pytest.raises(KernelExecutionError, match="MiB"):
        count(program, "k", (256,), (256,), [BufferArgument(4096), 3])


def test_accesses_out_of_bounds_are_counted_and_harm_nothing() -> None:
    program = parse("__kernel void k(__global int *a) {\n"
                    "    a[get_global_id(0) * 1000003 - 5] = 1;\n"
                    "    a[1 << 30] += a[-7];\n}")  # fmt: skip
    counts = count(program, "k", (64,), (64,), [BufferArgument(64)])
    assert any("out of bounds" in note for note in counts.notes)
    outputs, notes = execute(program, "k", (64,), (64,), [BufferArgument(64, _zeros(16))])
    assert len(outputs[0]) == 64
    assert any("out of bounds" in note for note in notes)


def test_the_cache_is_private_and_survives_damage(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    compiler = Compiler(DiskCache(cache))
    request = CompileRequest(KERNEL, read_options("-DVALUE=5"))
    text = compiler.compile(request, CodeForm.OPTIMISED)
    (stored,) = cache.glob("*.z")
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    stored.write_bytes(stored.read_bytes()[:-3])
    assert compiler.compile(request, CodeForm.OPTIMISED) == text
    other = compiler.compile(CompileRequest(KERNEL, read_options("-DVALUE=6")), CodeForm.OPTIMISED)
    assert other != text


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert Compiler(DiskCache(blocked / "cache")).compile(
        CompileRequest(KERNEL, read_options("-DVALUE=5")), CodeForm.OPTIMISED
    )


def test_several_threads_compile_at_once(tmp_path: Path) -> None:
    compiler = Compiler(DiskCache(tmp_path))
    found: list[str] = []

    def work(value: int) -> None:
        request = CompileRequest(KERNEL, read_options(f"-DVALUE={value % 3}"))
        found.append(compiler.compile(request, CodeForm.OPTIMISED))

    threads = [threading.Thread(target=work, args=(value,)) for value in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 9
    assert len(set(found)) == 3


def test_without_a_compiler_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLTRACE_CLANG", os.devnull)
    with pytest.raises(CompilerMissingError, match=re.escape(suggest_install("predict"))):
        find_clang()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_mutated_kernels_never_end_in_anything_but_an_error(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    text = case.text
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        size = data.draw(st.integers(0, 12))
        new = data.draw(
            st.sampled_from(["", "0", "+", "*", "1", "[", "x", ";", "~", "-", "<<", "l"])
        )
        text = text[:at] + new + text[at + size :]
    try:
        program = parse(text, case.options)
        for name in list(program.kernels)[:2]:
            arguments = [
                BufferArgument(4096) if "*" in parameter.type else 3
                for parameter in program.kernels[name].parameters
            ]
            count(program, name, (64,), (64,), arguments, sample=Sampling(max_steps=2_000_000))
    except CltraceError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_names_beyond_ascii_are_those_of_the_source() -> None:
    program = parse("__constant int größe[2] = {4, 5};\n"
                    "__kernel void kö(__global int *a) { a[0] = größe[a[1] & 1]; }")  # fmt: skip
    assert set(program.kernels) == {"kö"}
    outputs, _ = execute(program, "kö", (1,), (1,), [BufferArgument(8, _zeros(2))])
    assert outputs[0].view("i4").tolist() == [4, 0]


@pytest.mark.parametrize(
    "source",
    [
        "__constant int z[1 << 28] = {1};\n__kernel void k(__global int *o) { o[0] = z[o[1]]; }",
        "//\ud800\n__kernel void k(__global int *o) { o[0] = 1; }",
        "__constant char z[1 << 24] = {0};\n__kernel void k(__global int *o) { o[0] = z[o[1]]; }",
    ],
)
def test_large_constants_and_lone_surrogates_take_no_time(source: str) -> None:
    began = time.process_time()
    with contextlib.suppress(CltraceError):
        count(parse(source), "k", (64,), (64,), [BufferArgument(256)])
    assert time.process_time() - began < 10


def test_a_compiler_that_exits_without_memory_names_the_limit(tmp_path: Path) -> None:
    (tmp_path / "prelude.h").touch()
    command = ("/bin/sh", "-c", "echo 'LLVM ERROR: out of memory'; exit 1")
    with pytest.raises(CompilerFailedError, match="more than 1 GiB of memory"):
        run_confined(command, "", {}, tmp_path / "prelude.h", ProcessLimits())
