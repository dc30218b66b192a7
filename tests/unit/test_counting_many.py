"""Counting many launches: by several processes, kept on disk, within limits."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.equal_counts import sample_of_tests
from cltrace.errors import KernelError, KernelLimitError
from cltrace.kernels import BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.compiler import BOTH_FORMS, CodeForm
from cltrace.kernels.compiler.cache import DiskCache
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.counts.stored_counts import decode_counts, encode_counts
from cltrace.kernels.counts.traced_launches import TracedLaunch, TracedProgram
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.limits import check_cpu_limit, limit_cpu
from tests.patience import HANG_S

SOURCE = """
__kernel void pick(__global const int *which, __global float *out, int stride, float by) {
    int i = get_global_id(0);
    if (which[i] > 3) out[i * stride] = by;
}
__kernel void product(__global const float *a, __global float *c, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[get_global_id(0) * n + k];
    c[get_global_id(0)] = sum;
}
"""
ENDLESS = """__kernel void spin(__global float *a, int n) {
    float x = get_global_id(0);
    for (int i = 0; i < n; ++i) for (int k = 0; k < i; ++k)
        if (a[k] > x) x += a[(i * k) % 77];
    a[get_global_id(0)] = x;
}"""
WITHOUT_MEMORY = """__kernel void spin(__global float *a, int n) {
    uint x = get_global_id(0), i = 0;
    while (i < 10 * n) { x = x * 1664525u + 1013904223u; if (x >> 20 & 1) ++i; }
    if (x == 3) a[0] = x;
}"""
PROGRAM = TracedProgram(SOURCE, (), {})


def launch(number: int = 0, **changes: object) -> TracedLaunch:
    plain = TracedLaunch(
        launch_id=number,
        kernel="pick",
        program=PROGRAM,
        global_size=(1024,),
        local_size=(64,),
        global_offset=None,
        arguments=(BufferArgument(4096), BufferArgument(1 << 16), 2, np.float32(1.5)),
        calls=1,
    )
    return replace(plain, **changes)  # type: ignore[arg-type] # as the fields are


def launches() -> Sequence[TracedLaunch]:
    """Launches of two kernels at several sizes, one of them without a kernel."""
    product = [BufferArgument(1 << 22), BufferArgument(1 << 16), 40]
    return [
        *(launch(n, global_size=(512 << n,)) for n in range(5)),
        *(
            launch(n, kernel="product", global_size=(512 << n,), arguments=product)
            for n in range(5, 8)
        ),
        launch(8, kernel="missing"),
        launch(9, local_size=(0,)),
    ]


def outcomes(counter: TracedLaunchCounter) -> list[str]:
    results = []
    for one in launches():
        try:
            results.append(repr(counter.count(one)))
        except KernelError as error:
            results.append(str(error))
    return results


def test_launches_of_rebuilt_programs_have_the_same_counts() -> None:
    counter = TracedLaunchCounter(Machine())
    rebuilt = launch(1, program=TracedProgram(SOURCE, (), {}))
    assert counter.count(rebuilt) is counter.count(launch())
    other = launch(2, program=TracedProgram(SOURCE, ("-cl-fast-relaxed-math",), {}))
    assert counter.count(other) is not counter.count(launch())


def test_processes_count_what_one_process_counts(tmp_path: Path) -> None:
    alone = outcomes(TracedLaunchCounter(Machine(), CountingSettings(None)))
    many = TracedLaunchCounter(Machine(), CountingSettings(tmp_path, workers=3))
    states: list[str] = []
    many.count_all(launches(), states.append)
    assert states[-1] == "10 of 10 launches"
    assert all(many.is_counted(one) for one in launches())
    assert outcomes(many) == alone
    assert "no such kernel" in alone[8]
    kept = TracedLaunchCounter(Machine(), CountingSettings(tmp_path))
    assert all(kept.is_counted(one) for one in launches())
    assert outcomes(kept) == alone


def test_a_defect_with_one_kernel_spares_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(program: object, kernel: str, *launch: object, **options: object) -> KernelCounts:
        if kernel == "pick":
            raise IndexError("no such entry")
        return count(program, kernel, *launch, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("cltrace.kernels.launches.tasks.count", fails)
    failed = outcomes(TracedLaunchCounter(Machine(), CountingSettings(tmp_path)))
    assert failed[0] == "internal error: IndexError: no such entry"
    assert failed[6].startswith("KernelCounts(")
    monkeypatch.undo()
    again = outcomes(TracedLaunchCounter(Machine(), CountingSettings(tmp_path)))
    assert again[0].startswith("KernelCounts(")


def test_each_code_form_is_counted_and_kept_by_itself(tmp_path: Path) -> None:
    optimised = frozenset({CodeForm.OPTIMISED})
    predicting = TracedLaunchCounter(Machine(), CountingSettings(tmp_path), forms=optimised)
    counts = predicting.count(launch())
    assert counts.as_written is None
    with pytest.raises(ValueError, match="was not counted as written"):
        _ = counts.written
    assert not predicting.is_counted(launch(), BOTH_FORMS)
    full = TracedLaunchCounter(Machine(), CountingSettings(tmp_path))
    assert not full.is_counted(launch())
    entries = set(tmp_path.iterdir())
    assert full.count(launch()) == predicting.count_as_written(launch())
    assert full.count(launch()) == replace(counts, as_written=full.count(launch()).as_written)
    assert full.count(launch()).written
    (added,) = set(tmp_path.iterdir()) - entries
    assert "-written" in added.name


def test_processes_count_the_code_as_written(tmp_path: Path) -> None:
    optimised = frozenset({CodeForm.OPTIMISED})
    settings = CountingSettings(tmp_path, workers=2)
    counter = TracedLaunchCounter(Machine(), settings, forms=optimised)
    counter.count_all(launches())
    states: list[str] = []
    counter.count_all(launches(), states.append, forms=BOTH_FORMS)
    assert states[-1] == "10 of 10 launches"
    assert all(counter.is_counted(one, BOTH_FORMS) for one in launches())


def test_counts_are_kept_under_everything_that_they_depend_on(tmp_path: Path) -> None:
    TracedLaunchCounter(Machine(), CountingSettings(tmp_path)).count(launch())

    def is_kept(other: TracedLaunch, machine: Machine | None = None) -> bool:
        counter = TracedLaunchCounter(machine or Machine(), CountingSettings(tmp_path))
        return counter.is_counted(other)

    buffers = (BufferArgument(4096), BufferArgument(1 << 16))
    zeros = BufferArgument(4096, np.zeros(1024, np.int32))
    assert is_kept(launch(7, calls=3))
    assert not is_kept(launch(global_size=(2048,)))
    assert not is_kept(launch(local_size=(32,)))
    assert not is_kept(launch(global_offset=(64,)))
    assert not is_kept(launch(arguments=(*buffers, 3, np.float32(1.5))))
    assert not is_kept(launch(arguments=(*buffers, 2, np.float32(2.5))))
    assert not is_kept(launch(arguments=(*buffers, 2, np.float64(1.5))))
    assert not is_kept(launch(arguments=(zeros, buffers[1], 2, np.float32(1.5))))
    assert not is_kept(launch(program=TracedProgram(SOURCE + "//", (), {})))
    assert not is_kept(launch(program=TracedProgram(SOURCE, ("-DN=1",), {})))
    assert not is_kept(launch(program=TracedProgram(SOURCE, (), {"a.h": ""})))
    assert not is_kept(launch(), Machine(compute_units=8))


def test_contents_are_part_of_the_key(tmp_path: Path) -> None:
    def of(value: int) -> TracedLaunch:
        contents = BufferArgument(4096, np.full(1024, value, np.int32))
        return launch(arguments=(contents, BufferArgument(1 << 16), 2, np.float32(1.5)))

    counter = TracedLaunchCounter(Machine(), CountingSettings(tmp_path))
    stores = [
        sum(site.accesses.value for site in counter.count(of(value)).sites if site.memory == "out")
        for value in (0, 9)
    ]
    assert stores == [0, 1024]
    again = TracedLaunchCounter(Machine(), CountingSettings(tmp_path))
    assert again.count(of(9)) == counter.count(of(9))


@pytest.mark.parametrize("damage", ["byte", "cut", "other", "writable", "link", "nonsense"])
def test_a_kept_entry_that_is_not_our_own_is_counted_anew(tmp_path: Path, damage: str) -> None:
    expected = TracedLaunchCounter(Machine(), CountingSettings(tmp_path)).count(launch())
    for path in tmp_path.iterdir():
        raw = path.read_bytes()
        match damage:
            case "byte":
                path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
            case "cut":
                path.write_bytes(raw[: len(raw) // 2])
            case "other":  # an entry under the name of another
                others = [other for other in tmp_path.iterdir() if other != path]
                path.write_bytes(others[0].read_bytes())
            case "writable":
                path.chmod(0o666)
            case "link":
                target = tmp_path.with_name("target")
                path.rename(target)
                path.symlink_to(target)
            case _:
                DiskCache(tmp_path, suffix=".counts.z").put(path.name.split(".")[0], "[1]")
    counter = TracedLaunchCounter(Machine(), CountingSettings(tmp_path))
    if damage != "nonsense":
        assert not counter.is_counted(launch())
    assert counter.count(launch()) == expected


def test_a_cache_of_others_is_neither_read_nor_written(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    cache.put("key", "text")
    assert cache.get("key") == "text"
    (tmp_path / "cache").chmod(0o777)
    assert cache.get("key") is None
    cache.put("new", "text")
    (tmp_path / "cache").chmod(0o700)
    assert cache.get("new") is None
    assert cache.get("key") == "text"


def test_the_cache_is_bounded_and_drops_what_was_used_last_long_ago(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, max_bytes=1000)
    for number in range(20):
        cache.put(f"{number:02}", os.urandom(50).hex())
        os.utime(tmp_path / f"{number:02}.ll.z", (number, number))
    (tmp_path / ".new-left").touch()
    os.utime(tmp_path / ".new-left", (0, 0))
    cache.trim()
    left = sorted(path.name[:2] for path in tmp_path.iterdir())
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1000
    assert left == [f"{number:02}" for number in range(20 - len(left), 20)]


def test_counts_of_a_sample_of_kernels_are_the_same_in_every_bit() -> None:
    golden = json.loads((Path(__file__).parents[1] / "golden" / "counts.json").read_text())
    versions = {"clang": find_clang().version, "numpy": np.__version__}
    if versions != {name: golden[name] for name in versions}:
        pytest.skip(f"the sample is of {golden['clang']=}, {golden['numpy']=}")
    counted = dict(sample_of_tests(30))
    differing = [key for key, outcome in golden["outcomes"].items() if counted.get(key) != outcome]
    assert not differing, "see benchmarks/equal_counts.py"
    assert len(counted) == len(golden["outcomes"]) >= 50


def test_counts_survive_being_stored() -> None:
    product = (BufferArgument(1 << 22), BufferArgument(1 << 16), 40)
    counts: KernelCounts = count(parse(SOURCE), "product", (4096,), (64,), product)
    text = encode_counts(counts)
    assert repr(decode_counts(text)) == repr(counts)
    for wrong in ("[]", "{}", "[1,2]", text.replace('"float"', "7", 1), text[:-1] + ",1]"):
        with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
            decode_counts(wrong)


@pytest.mark.parametrize("source", [ENDLESS, WITHOUT_MEMORY])
def test_counting_ends_at_its_limit(tmp_path: Path, source: str) -> None:
    arguments = [BufferArgument(1 << 20), 3000]
    slow = launch(kernel="spin", program=TracedProgram(source, (), {}), arguments=arguments)
    begin_s = time.process_time()
    with pytest.raises(KernelLimitError, match=r"more than the limit of 0\.2 s of CPU time"):
        TracedLaunchCounter(Machine(), CountingSettings(tmp_path, cpu_s=0.2)).count(slow)
    assert time.process_time() - begin_s < 10
    # The next call knows that this limit is too small, and nothing of a larger one.
    assert TracedLaunchCounter(Machine(), CountingSettings(tmp_path, cpu_s=0.1)).is_counted(slow)
    assert not TracedLaunchCounter(Machine(), CountingSettings(tmp_path, cpu_s=0.3)).is_counted(
        slow
    )
    assert not TracedLaunchCounter(Machine(), CountingSettings(tmp_path, None)).is_counted(slow)


def test_an_inner_limit_has_its_own_time() -> None:
    with limit_cpu(0.05, "outer"):
        with limit_cpu(None, ""):
            _use_cpu(0.2)
            check_cpu_limit()
        check_cpu_limit()
        _use_cpu(0.2)
        with pytest.raises(KernelLimitError, match="outer"):
            check_cpu_limit()


def _use_cpu(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def _children() -> set[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return set(map(int, text.split()))


def test_a_process_that_dies_refuses_its_launch_only(tmp_path: Path) -> None:
    counter = TracedLaunchCounter(Machine(), CountingSettings(tmp_path, workers=2))
    killed: list[int] = []
    others = _children()

    def kill_one(_: str) -> None:
        if not killed:
            killed.append(min(_children() - others))
            os.kill(killed[0], signal.SIGKILL)

    counter.count_all(launches(), kill_one)
    assert killed
    assert all(counter.is_counted(one) for one in launches())


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from cltrace.kernels import Machine
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import CountingSettings
sys.path.insert(0, sys.argv[1])
from tests.unit.test_counting_many import launches

def interrupt(_):
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    print(children, flush=True)
    os.kill(os.getpid(), signal.SIGINT)

counter = TracedLaunchCounter(Machine(), CountingSettings(None, workers=2))
try:
    counter.count_all(launches(), interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_all_processes() -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, root],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    first, *_, last = done.stdout.splitlines()
    assert last == "interrupted"
    assert done.stderr == ""
    assert first.split()
    assert not any(Path("/proc", number).exists() for number in first.split())


def test_what_is_kept_is_text_of_json(tmp_path: Path) -> None:
    TracedLaunchCounter(Machine(), CountingSettings(tmp_path)).count(launch())
    cache = DiskCache(tmp_path, suffix=".counts.z")
    texts = [cache.get(path.name.split(".")[0]) for path in tmp_path.iterdir()]
    assert len(texts) == 3
    assert all(json.loads(text or "") for text in texts)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
