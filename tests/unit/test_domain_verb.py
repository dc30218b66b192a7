"""`cltrace domain`: costs by type, decisions, emitted files, random functions, refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cltrace.domain.decisions import Decision, SizedDecision, resized, winning_size
from cltrace.domain.declarations import Declarations, declared_iteration
from cltrace.domain.host.sampling import sample_time
from cltrace.domain.language.scopes import FileScope
from cltrace.domain.place_times import PlaceTime, RunPlace, TimePart
from cltrace.domain.random_functions import GeneratorSettings, parse_properties, random_functions
from cltrace.domain.shapes import Box, domain_of, parse_domain
from cltrace.errors import IterationError, UsageError
from tests.conftest import Runner

FIGURES = """
raise SystemExit("this file is never executed")

def sum_61(x, y, matrix):
    return x + matrix[x, y]

def kernel_71(x, y, matrix):
    h = matrix.shape[0]
    w = matrix.shape[1]
    return matrix[x, y] * (y * (((0.585229 + ((x - matrix[x % h, y % w])
        - matrix[492 % h, 958 % w])) * (matrix[x, y] / 767.6984)) * 661.48236))

def outside(x, y, matrix):
    return matrix[x, y + 1]
"""
"""The domain iterations of the thesis's figures 6.1 and 7.1."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "figures.py"
    path.write_text(FIGURES)
    return path


def costs(run: Runner, *words: str) -> dict[str, float]:
    done = run("domain", *words, "--explain", "--format", "json")
    assert done.status == 0, done.stderr
    return {row["type"]: row["per_item"] for row in json.loads(done.stdout)["cost_types"]}


def test_costs_of_figure_71(file: Path, run: Runner) -> None:
    numbers = costs(run, f"{file}:kernel_71", "--size", "8192,8192")
    expected = {"float +": 1, "float -": 2, "float *": 4, "float /": 1, "base": 1}
    expected |= {
        "global read, constant": 1,
        "global read, continuous": 1,
        "global read, complex": 0,
    }
    assert {key: numbers[key] for key in expected} == expected


def test_costs_of_figure_61(file: Path, run: Runner) -> None:
    numbers = costs(run, f"{file}:sum_61")
    assert numbers["float +"] == numbers["global read, continuous"] == numbers["base"] == 1
    assert numbers["float *"] == numbers["global read, constant"] == 0
    assert len(numbers) == 17  # all sixteen types, and the total


def test_decision_names_places_with_intervals(file: Path, run: Runner) -> None:
    done = run("domain", f"{file}:sum_61", "--size", "64,64", "--format", "json")
    assert done.status == 0, done.stderr
    places = json.loads(done.stdout)["places"]
    assert {"numpy", "device"} <= {row["place"] for row in places}
    assert all(row["low_ns"] <= row["time_ns"] <= row["high_ns"] for row in places)
    times = [row["time_ns"] for row in places]
    assert times == sorted(times)


def test_resident_arrays_and_kept_results_are_not_copied(file: Path, run: Runner) -> None:
    words = ["domain", f"{file}:sum_61", "--size", "64,64", "--format", "json"]
    done = run(*words, "--resident", "matrix", "--keep")
    assert [row["part"] for row in json.loads(done.stdout)["parts"]] == ["call", "kernel"]
    done = run(*words)
    parts = [row["part"] for row in json.loads(done.stdout)["parts"]]
    assert parts == ["copy matrix", "call", "kernel", "read the result"]


def test_emitted_files(file: Path, run: Runner, tmp_path: Path) -> None:
    words = ["domain", f"{file}:sum_61", "--explain", "--emit", str(tmp_path / "code")]
    assert run(*words).status == 0
    assert {path.name for path in (tmp_path / "code").iterdir()} == {"sum_61.cl", "sum_61_host.py"}
    again = run(*words)
    assert again.status == 2
    assert "-f overwrites it" in again.stderr
    assert run(*words, "-f").status == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{}:outside"], "figures.py:14:22: this index may be outside matrix"),
        (["{}:nothing"], "has no function 'nothing'; it has sum_61, kernel_71, outside"),
        (["{}"], "write FILE.py:NAME"),
        (["nosuch.py:f"], "cannot be read"),
        (["{}:sum_61", "--size", "x"], "is no size"),
        (["{}:sum_61", "--array", "matrix=text"], "declares no array"),
        (["{}:sum_61", "--array", "=float32"], "write NAME="),
        (["{}:sum_61", "--value", "n=no"], "is no number"),
        (["{}:sum_61", "--resident", "other"], "has no such array"),
        (["{}:sum_61", "--size", "99999,99999"], "too large to be sampled"),
        (["random"], "give --output-path"),
        (["random", "--output-path", "x", "--min-nodes", "9", "--max-nodes", "3"], "9 to 3 nodes"),
        (["random", "--output-path", "x", "--allow-complex", "maybe"], "true or false"),
    ],
)
def test_refusals_are_one_line(words: list[str], message: str, file: Path, run: Runner) -> None:
    done = run("domain", *(word.replace("{}", str(file)) for word in words))
    assert done.status == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_random_functions_of_a_properties_file(run: Runner, tmp_path: Path) -> None:
    properties = tmp_path / "set.properties"
    properties.write_text(
        "# a comment\nedu.tum.funky.codegen.allow-complex=false\nallow-float-div = false\n"
        "edu.tum.funky.codegen.min-nodes=2\nedu.tum.funky.codegen.max-nodes=6\n"
        f"edu.tum.funky.codegen.generated-examples=5\noutput-path={tmp_path / 'out'}\n"
    )
    done = run("domain", str(properties), "--generated-examples", "3")
    assert done.status == 0, done.stderr
    assert "without those of indices" in done.stderr
    files = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in files] == [f"iteration_000{n}.py" for n in (1, 2, 3)]
    assert " / " not in "".join(path.read_text() for path in files)
    assert costs(run, f"{files[0]}:iteration", "--size", "64,64")["base"] == 1


@pytest.mark.parametrize("line", ["unknown=1", "min-nodes", "min-nodes=x", "max-nodes=0"])
def test_wrong_properties_name_their_line(line: str) -> None:
    with pytest.raises(UsageError, match=r"p:2: "):
        parse_properties(f"# first\n{line}\n", "p")


def test_both_readings_of_nodes_are_given() -> None:
    functions = list(random_functions(GeneratorSettings(generated_examples=50), 1))
    assert all(2 <= each.value_nodes <= each.nodes <= 50 or each.nodes >= 2 for each in functions)
    assert any(each.value_nodes < each.nodes for each in functions)
    assert [each.text for each in functions] == [
        each.text for each in random_functions(GeneratorSettings(generated_examples=50), 1)
    ]


def decision_of(elements: int, host_ns: float, device_ns: float) -> SizedDecision:
    times = [
        PlaceTime(place, (TimePart("all", time_ns, (time_ns * 0.9, time_ns * 1.1)),))
        for place, time_ns in ((RunPlace.NUMPY, host_ns), (RunPlace.DEVICE, device_ns))
    ]
    return SizedDecision(
        Box((elements,)), Decision(tuple(sorted(times, key=lambda each: each.time_ns)))
    )


def test_winning_size_lies_between_sizes() -> None:
    crossing = [decision_of(1 << n, 10.0 * 2**n, 1e4 + 2**n) for n in range(4, 17)]
    assert winning_size(crossing) == pytest.approx(1e4 / 9, rel=0.05)
    assert winning_size([decision_of(16, 1, 2), decision_of(32, 1, 2)]) is None
    assert winning_size([decision_of(16, 2, 1), decision_of(32, 2, 1)]) == 16
    assert winning_size([]) is None
    assert not decision_of(16, 1.0, 1.05).decision.is_certain
    assert decision_of(16, 1.0, 2.0).decision.is_certain


@pytest.mark.parametrize("size", ["4096,64", "1000", "8,8,8", "utriag:100", "trace:50"])
def test_resized_domains_have_about_the_number_of_elements(size: str) -> None:
    domain = parse_domain(size)
    names = ", ".join("abc"[: len(domain.extents)])
    text = f"def f({names}, m):\n    return m[{names}]\n"
    function = FileScope(text, "f.py").function("f")
    iteration = declared_iteration(function, domain, Declarations({}, {}))
    for exponent in (10, 15, 20):
        sized = resized(iteration, exponent)
        assert sized.domain.elements == pytest.approx(1 << exponent, rel=0.05)
        assert sized.arguments.arrays["m"].shape == sized.domain.extents
        _ = sized.tree


def test_resized_squares_stay_squares() -> None:
    function = FileScope("def f(x, y, m):\n    return m[y, x]\n", "f.py").function("f")
    iteration = declared_iteration(function, parse_domain("64,64"), Declarations({}, {}))
    for exponent in range(10, 27):
        sized = resized(iteration, exponent)
        assert len(set(sized.domain.extents)) == 1
        assert sized.domain.elements == pytest.approx(1 << exponent, rel=0.05)
        _ = sized.tree


@pytest.mark.parametrize("shape", [8.5, True, (8.7,), "8", None])
def test_sizes_that_are_no_whole_numbers_are_refused(shape: Any) -> None:
    with pytest.raises(IterationError, match="whole numbers"):
        domain_of(shape)


def test_sizes_may_be_numpy_s() -> None:
    assert domain_of(np.int64(8)) == domain_of(8)  # type: ignore[arg-type] # as numpy's shapes are
    sizes: Any = (np.int32(8), 4)
    assert domain_of(sizes) == domain_of((8, 4))


def made_up_clock(per_unit_ns: float, call_ns: float) -> tuple[Callable[..., None], Any]:
    """A function that takes a time per unit on its own clock, and that clock."""
    passed = [0.0]

    def run(first: int, last: int) -> None:
        passed[0] += call_ns + per_unit_ns * (last - first)

    return run, lambda: int(passed[0])


def test_a_disturbed_sample_is_not_extrapolated() -> None:
    run, clock_ns = made_up_clock(5.0, 20_000.0)
    calls = [0]

    def disturbed(first: int, last: int) -> None:
        calls[0] += 1
        for _ in range(1000 if calls[0] % 3 else 1):
            run(first, last)

    sampled = sample_time(disturbed, 1 << 26, 256, clock_ns)
    assert sampled.time_ns == pytest.approx(20_000 + (5 << 26), rel=0.02)


@pytest.mark.parametrize("stalled", [0, 1, 5])
def test_a_host_that_stalls_for_a_whole_sample_is_asked_again(stalled: int) -> None:
    run, clock_ns = made_up_clock(5.0, 2_000.0)
    calls = [0]

    def disturbed(first: int, last: int) -> None:
        calls[0] += 1
        run(first, last)
        if stalled * 3 <= calls[0] - 2 < stalled * 3 + 3:  # the first call is no sample
            run(0, 1_000_000)

    sampled = sample_time(disturbed, 1 << 26, 256, clock_ns)
    assert sampled.time_ns == pytest.approx(2_000 + (5 << 26), rel=0.02)


@pytest.mark.parametrize("units", [1, 1000, 1 << 26])
def test_samples_are_extrapolated(units: int) -> None:
    run, clock_ns = made_up_clock(5.0, 20_000.0)
    sampled = sample_time(run, units, 256, clock_ns)
    assert sampled.time_ns == pytest.approx(20_000 + 5 * units, rel=0.02)
    assert sampled.interval_ns[0] < sampled.time_ns < sampled.interval_ns[1]
    assert sampled.sampled <= units
    assert np.isfinite(sampled.time_ns)
