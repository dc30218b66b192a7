"""Domain iterations on PoCL: results bit for bit, random functions, data that stays, host programs."""

import csv
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

import cltrace
from cltrace.domain import share
from cltrace.domain.declarations import Declarations, declared_iteration
from cltrace.domain.generation.host_program import host_program
from cltrace.domain.host.numpy_evaluation import evaluate_with_numpy
from cltrace.domain.iterations import Iteration, scalar_values
from cltrace.domain.language.scopes import FileScope
from cltrace.domain.random_functions import (
    FUNCTION,
    GeneratorSettings,
    random_functions,
    restricted,
)
from cltrace.domain.running import DomainRunner
from cltrace.domain.shapes import Box
from cltrace.errors import CltraceError
from cltrace.kernels import BufferArgument, execute, parse
from cltrace.measure import find_device
from cltrace.measure.domain_device import DomainDevice
from cltrace.suite.domain_iterations import matrix_of
from tests.conftest import Runner
from tests.domain_cases import (
    CASES,
    MATRIX,
    Case,
    in_python,
    iteration_of,
    same_bits,
    scaled,
    stencil,
)

pytestmark = pytest.mark.opencl
PROFILE = "pocl-cpu"
"""A shipped profile, of another machine's processor: tests depend on no times."""
HEIGHT, WIDTH = 5, 7
BATCH = 20
"""Kernels per program: PoCL takes long to build each program."""


@pytest.fixture(scope="module")
def device() -> DomainDevice:
    return DomainDevice(find_device())


def on_device(
    device: DomainDevice, iteration: Iteration, values: dict[str, Any], source: str = ""
) -> np.ndarray:
    kernel = iteration.kernel(1024)
    arguments: list[Any] = [device.upload(values[array.name]) for array in kernel.arrays]
    result = iteration.result_type
    buffer = device.launch(
        (source or kernel.source, kernel.name, iteration.options),
        (kernel.group.global_items, kernel.group.group_items),
        [*arguments, *scalar_values(iteration, values)],
        result.size_bytes,
    )
    return device.download(buffer, result.dtype, result.shape)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_device_agrees_with_python(case: Case, device: DomainDevice) -> None:
    assert same_bits(on_device(device, iteration_of(case), case[2]), in_python(case))


def test_padding_leaves_the_result_alone(device: DomainDevice) -> None:
    m = np.arange(10007, dtype=np.float32)
    text = "def f(x, m):\n    return m[x] * 2\n"
    function = FileScope(text, "f.py").function("f")
    iteration = declared_iteration(function, Box((10007,)), Declarations({}, {}))
    assert same_bits(on_device(device, iteration, {"m": m}), m * 2)


ARRAYS = {
    "matrix": matrix_of(HEIGHT, WIDTH),
    "shared": (np.arange(128) * 0.5 + 1).astype(np.float32),
}


def random_iterations(count: int) -> Iterator[tuple[str, str]]:
    """Texts of random functions, half of them restricted, with names of their own."""
    settings = GeneratorSettings(generated_examples=count // 2)
    both = (*random_functions(settings, 3), *random_functions(restricted(settings), 4))
    for number, function in enumerate(both):
        name = f"{FUNCTION}{number}"
        yield name, function.text.replace(f"def {FUNCTION}(", f"def {name}(")


def check_random(texts: Sequence[tuple[str, str]], device: DomainDevice) -> None:
    """Check that Python, numpy, the executor and the device agree, in one program for all."""
    domain = Box((HEIGHT, WIDTH))
    iterations = []
    for name, text in texts:
        function = FileScope(text, "random.py").function(name)
        iterations.append(declared_iteration(function, domain, Declarations({}, {})))
    source = "\n".join(each.kernel(1024).source for each in iterations)
    program = parse(source)
    for (name, text), iteration in zip(texts, iterations, strict=True):
        names: dict[str, Any] = {}
        exec(text, names)
        parameters = [ARRAYS[array.name] for array in iteration.arguments.arrays.values()]
        with np.errstate(all="ignore"):
            expected = np.array(
                [names[name](x, y, *parameters) for x in range(HEIGHT) for y in range(WIDTH)],
                np.float32,
            )
        kernel = iteration.kernel(1024)
        arguments: list[Any] = [
            BufferArgument(ARRAYS[each.name].nbytes, ARRAYS[each.name]) for each in kernel.arrays
        ]
        arguments.append(BufferArgument(expected.nbytes, np.zeros_like(expected)))
        size = (kernel.group.global_items,), (kernel.group.group_items,)
        outputs, _ = execute(program, kernel.name, *size, arguments)
        assert same_bits(outputs[len(arguments) - 1].view(np.float32), expected), text
        by_numpy = evaluate_with_numpy(iteration.tree, domain, ARRAYS, {})
        assert same_bits(by_numpy, expected), text
        assert same_bits(on_device(device, iteration, ARRAYS, source), expected), text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_functions_agree_everywhere(device: DomainDevice) -> None:
    check_random(list(random_iterations(2 * BATCH)), device)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_1000_random_functions_agree_everywhere(device: DomainDevice) -> None:
    texts = list(random_iterations(1000))
    for first in range(0, len(texts), BATCH):
        check_random(texts[first : first + BATCH], device)


@pytest.fixture
def runner(device: DomainDevice) -> DomainRunner:
    return DomainRunner(device, PROFILE)


def test_shared_data_is_copied_once_and_results_stay(tmp_path: Path) -> None:
    path = tmp_path / "domain.cltrace"
    matrix = share(MATRIX)
    with cltrace.trace(path):
        own = DomainRunner(DomainDevice(find_device()), PROFILE)
        first = own.iterate(stencil, (6, 7), {"m": matrix}, where="device")
        second = own.iterate(stencil, (6, 7), {"m": first}, where="device")
        values = {"m": matrix, "factor": np.float32(2), "plain": 1}
        third = own.iterate(scaled, (6, 7), values, where="device")
        assert not any(each.is_on_host for each in (first, second, third))
        result, again = np.asarray(second), np.asarray(second)
    assert result.base is again.base  # read once
    trace = cltrace.load(path)
    kinds = trace["v_command"]["kind"].value_counts()
    assert kinds["kernel"] == 3
    assert kinds["write"] == 1
    assert kinds["read"] == 1
    with np.errstate(all="ignore"):
        once = in_python((stencil, (6, 7), {"m": MATRIX})).reshape(6, 7)
        assert same_bits(result, in_python((stencil, (6, 7), {"m": once})))


def test_read_only_arrays_are_shared_and_others_are_not(runner: DomainRunner) -> None:
    constant, changing = MATRIX.copy(), MATRIX.copy()
    constant.flags.writeable = False
    values = {"factor": np.float32(1), "plain": 0}
    for _ in range(2):
        runner.iterate(scaled, (6, 7), {"m": constant, **values}, where="device")
    assert runner._shared.array_of(constant).is_on(runner.device)
    before = runner.iterate(scaled, (6, 7), {"m": changing, **values}, where="device")
    changing += 1
    after = runner.iterate(scaled, (6, 7), {"m": changing, **values}, where="device")
    assert np.array_equal(np.asarray(before) + 1, np.asarray(after))


def test_buffers_of_read_only_arrays_go_with_them(runner: DomainRunner) -> None:
    values = {"factor": np.float32(1), "plain": 0}
    constant = MATRIX.copy()
    constant.flags.writeable = False
    runner.iterate(scaled, (6, 7), {"m": constant, **values}, where="device")
    gone = weakref.ref(constant)
    key = id(constant)
    del constant
    gc.collect()
    assert gone() is None
    assert key not in runner._shared._buffers


def test_an_array_that_was_read_only_is_copied_again(runner: DomainRunner) -> None:
    values = {"factor": np.float32(1), "plain": 0}
    array = MATRIX.copy()

    def run(*, is_writeable: bool) -> NDArray[Any]:
        array.flags.writeable = is_writeable
        given = {"m": array, **values}
        return np.asarray(runner.iterate(scaled, (6, 7), given, where="device"))

    before = run(is_writeable=False)
    assert np.array_equal(run(is_writeable=True), before)
    array += 1
    assert np.array_equal(run(is_writeable=False), before + 1)


SCALE = 3


def by_scale(i: int, m: Any) -> Any:
    return helped(m[i]) * SCALE


def helped(x: Any) -> Any:
    return x + 1


def more_helped(x: Any) -> Any:
    return x + 100


def times(i: int, m: Any, k: Any) -> Any:
    return m[i] * k


@pytest.mark.parametrize("where", ["host", "device"])
def test_what_a_function_uses_may_change(
    where: str, runner: DomainRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = np.arange(8, dtype=np.int32)

    def run() -> list[int]:
        result: list[int] = np.asarray(runner.iterate(by_scale, 8, {"m": m}, where=where)).tolist()
        return result

    assert run() == [3 * (x + 1) for x in range(8)]
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5)
    assert run() == [5 * (x + 1) for x in range(8)]
    monkeypatch.setattr(sys.modules[__name__], "helped", more_helped)
    assert run() == [5 * (x + 100) for x in range(8)]


@pytest.mark.parametrize("where", ["host", "device"])
def test_equal_numbers_of_other_types_are_others(where: str, runner: DomainRunner) -> None:
    m = np.arange(8, dtype=np.int32)

    def result(k: float) -> NDArray[Any]:
        return np.asarray(runner.iterate(times, 8, {"m": m, "k": k}, where=where))

    whole, broken = result(2), result(2.0)
    assert whole.dtype.kind == "i"
    assert broken.dtype.kind == "f"
    assert np.array_equal(whole, broken)


@pytest.mark.parametrize("where", ["auto", "host", "device"])
def test_every_place_gives_the_same(where: str, runner: DomainRunner) -> None:
    case: Case = (stencil, (6, 7), {"m": MATRIX})
    result = runner.iterate(*case, where=where)
    assert same_bits(np.asarray(result), in_python(case))
    assert (runner.last_decision is not None) == (where == "auto")


def test_resident_data_shortens_the_time_of_the_device(runner: DomainRunner) -> None:
    matrix = share(np.ones((256, 256), np.float32))

    def device_ns() -> float:
        decision = runner.decide(stencil, (256, 256), {"m": matrix})
        return next(each.time_ns for each in decision.times if not each.place.is_host)

    before = device_ns()
    runner.iterate(stencil, (256, 256), {"m": matrix}, where="device")
    assert device_ns() < before


def test_wrong_places_and_arguments_are_refused(runner: DomainRunner) -> None:
    with pytest.raises(CltraceError, match="give one of auto, host, device"):
        runner.iterate(stencil, (6, 7), {"m": MATRIX}, where="moon")
    with pytest.raises(CltraceError, match="m is str"):
        runner.iterate(stencil, (6, 7), {"m": "text"}, where="device")
    with pytest.raises(CltraceError, match="has no argument"):
        runner.iterate(stencil, (6, 7), {}, where="device")
    with pytest.raises(CltraceError, match="write `def`"):
        runner.iterate(lambda x: x, (6,), {}, where="device")


def test_emitted_program_runs_without_cltrace(tmp_path: Path) -> None:
    case: Case = (stencil, (6, 7), {"m": MATRIX})
    iteration = iteration_of(case)
    kernel = iteration.kernel(1024)
    (tmp_path / "stencil.cl").write_text(kernel.source)
    text = host_program(
        "stencil", kernel, iteration.domain, iteration.result_type, iteration.options
    )
    assert "cltrace" not in text
    (tmp_path / "stencil_host.py").write_text(text)
    np.save(tmp_path / "m.npy", MATRIX)
    code = (
        "import sys, numpy, pyopencl, stencil_host\n"
        "context = pyopencl.create_some_context(interactive=False)\n"
        "result = stencil_host.iterate(context, numpy.load('m.npy'))\n"
        "numpy.save('result.npy', result)\n"
        "assert 'cltrace' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, check=True)
    assert same_bits(np.load(tmp_path / "result.npy"), in_python(case))


def test_iterations_of_a_directory_are_measured_over_sizes(tmp_path: Path, run: Runner) -> None:
    for number, function in enumerate(random_functions(GeneratorSettings(generated_examples=2), 5)):
        (tmp_path / f"case{number}.py").write_text(function.text)
    words = ["accuracy", "--kernels", str(tmp_path), "--profile", PROFILE, "--largest", "11"]
    done = run(*words, "--plot", str(tmp_path / "figures"), "--format", "csv")
    assert done.status == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["iteration"], row["elements"]) for row in rows] == [
        (name, elements) for name in ("case0", "case1") for elements in ("1024", "2048")
    ]
    for row in rows:
        times = [float(row[f"run_{number}_ns"]) for number in range(1, 6)]
        assert float(row["mean_ns"]) == pytest.approx(np.mean(times), rel=1e-3)
        assert int(row["nodes"]) >= int(row["value_nodes"])
        assert float(row["low_ns"]) <= float(row["predicted_ns"]) <= float(row["high_ns"])
    figures = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert figures == ["sizes-case0.svg", "sizes-case1.svg"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kernels", "nosuch"], "nosuch cannot be read"),
        (["--kernels", "."], "has 0 Python files"),
        (["--kernels", ".", "--largest", "40"], "give 10 to 26"),
        (["--kernels", ".", "--samples", "3"], "leave out --samples"),
        (["--largest", "12"], "--largest limits the sizes of --kernels"),
    ],
)
def test_wrong_directories_are_refused(
    words: list[str], message: str, tmp_path: Path, run: Runner
) -> None:
    done = run("accuracy", *words)
    assert done.status == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_device_reports_its_errors(device: DomainDevice) -> None:
    with pytest.raises(CltraceError, match="cannot run"):
        device.launch(("no OpenCL C", "f", ""), (1, 1), (), 4)
    with pytest.raises(CltraceError, match="has no buffers"):
        device.launch(("", "f", ""), (1, 1), (), 1 << 62)
    assert device.call_ns(rounds=1) > 0
    assert [row[0] for row in device.copy_times((16, 1024), rounds=1)] == [16, 1024]
    assert isinstance(device._queue, cl.CommandQueue)
