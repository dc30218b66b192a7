"""Domain iterations: what can be said, its meaning in plain Python, and refusals with their places."""

import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.domain.declarations import Declarations, declared_iteration
from cltrace.domain.generation.group_sizes import choose_group
from cltrace.domain.host.c_program import CProgram
from cltrace.domain.host.numpy_evaluation import evaluate_with_numpy
from cltrace.domain.iterations import Iteration
from cltrace.domain.language import ranges
from cltrace.domain.language.identifiers import collect_identifiers
from cltrace.domain.language.ranges import Range
from cltrace.domain.language.scopes import FileScope
from cltrace.domain.shapes import domain_of, ltriag, parse_domain, trace, utriag
from cltrace.errors import IterationError, IterationSourceError
from tests.domain_cases import CASES, Case, in_executor, in_python, iteration_of, same_bits

CALLS = """
def kernel(r, c, ma):
    return ma[c, r] * a(c)

def a(i):
    return b(f(i) * 3) + f(2)

def b(i):
    x = 5 * (7 + i)
    doubled = 2 * x
    return d(doubled)

def d(i):
    if not i < 0:
        return f(i * 2) - f(5)
    elif i == 0:
        return 9
    else:
        return g(i * 3) * f(3)

def f(i):
    return g(i * 3)

def g(i):
    return h(i)

def h(x):
    return 42
"""
"""The example of the thesis's appendix C.4."""


def read(
    text: str, size: str = "6,7", name: str = "f", declared: dict[str, str] | None = None
) -> Iteration:
    function = FileScope(textwrap.dedent(text), "it.py").function(name)
    return declared_iteration(function, parse_domain(size), Declarations(declared or {}, {}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_python_numpy_c_and_the_executor_agree_bit_for_bit(case: Case) -> None:
    iteration, expected = iteration_of(case), in_python(case)
    scalars = {each.name: case[2][each.name[4:]] for each in iteration.tree.scalars}
    assert same_bits(in_executor(iteration, case[2]), expected)
    by_numpy = evaluate_with_numpy(iteration.tree, iteration.domain, case[2], scalars)
    assert by_numpy.shape == iteration.domain.result_shape
    assert same_bits(by_numpy, expected)
    assert same_bits(
        CProgram(iteration.tree, iteration.domain).evaluate(case[2], scalars), expected
    )


REFUSED = [
    ("def f(x, y, m):\n    return m[x + 1, y]", "2:14", "may be outside m: it is 1 to 6"),
    ("def f(x, y, m):\n    return m[x]", "2:12", "2 dimensions, and 1 indices"),
    ("def f(x, y, m):\n    return m", "2:12", "name an element, as m[i, j]"),
    ("def f(x, y):\n    return x % y", "2:12", "the divisor may be 0"),
    ("def f(x, y):\n    z = 1\n    z = 2\n    return z", "3:5", "assign each name once"),
    ("def f(x, y):\n    z += 1\n    return z", "2:5", "an assignment to the same name"),
    ("def f(x, y):\n    for i in range(3):\n        pass\n    return 1", "2:5", "sum() or reduce()"),
    ("def f(x, y):\n    while x:\n        pass", "2:5", "a `while` loop"),
    ("def f(x, y):\n    if x > 1:\n        return 1", "2:5", "not every path ends with `return`"),
    ("def f(x, y):\n    return x ** 2", "2:12", "write x * x"),
    ("def f(x, y):\n    return open('x')", "2:17", "this constant cannot stand"),
    ("def f(x, y):\n    return eval(x)", "2:12", "eval() cannot be called"),
    ("import os\ndef f(x, y):\n    return os.getpid()", "3:12", "os.getpid() cannot be called"),
    ("def f(x, y):\n    return unknown", "2:12", "unknown has no value here"),
    ("def f(x, y):\n    return 1 if x else 2", "2:17", "a condition is a comparison"),
    ("def f(x, y):\n    return (x * 10**9)", "2:17", "write x * x"),
    ("def f(x, y):\n    z = (x + 1) * 2_000_000_000_000_000_000\n    return z", "2:9", "64 bits"),
    ("def f(x, y):\n    return [x, y]", "2:12", "a list"),
    ("def f(x, y):\n    return lambda: 1", "2:12", "a lambda outside reduce()"),
    ("def f(x, y):\n    return sum(0.5 for i in range(3))", "2:12", "compensates sums"),
    ("def f(x, y):\n    return min(i for i in range(x))", "2:12", "may be empty"),
    ("def f(x, y):\n    return 1 << (x + 60)", "2:12", "a shift is by 0 to 63 bits"),
    ("def f(x, y):\n    return 1.5 // 2", "2:12", "// takes integers"),
    ("def f(x, y, m):\n    return m[0.5, y]", "2:14", "an index is an integer"),
    ("def f(x, y, *m):\n    return 1", "1:14", "no *, ** or defaults"),
    ("def f(x, y):\n    return g(x)\ndef g(z):\n    return f(z, z)", "4:12", "f → g → f"),
    ("def f(x, y):\n    return f(x, y)", "2:12", "f calls itself (f → f)"),
    ("def f(x, y):\n    return g(x)\ndef g(z, w):\n    return 1", "2:12", "takes 2 arguments, not 1"),
    ("def f(x, y):\n    return g", "2:12", "g has no value here"),
    (
        "from functools import reduce\ndef f(x, y):\n    return reduce(lambda t, k: t * 2, range(9), 1)",
        "3:12",
        "not bounded: begin with numpy.int64(0)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), REFUSED)
def test_refusals_name_line_and_column(text: str, place: str, message: str) -> None:
    with pytest.raises(IterationSourceError) as refused:
        _ = read(text).tree
    assert str(refused.value).startswith(f"it.py:{place}: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["def f(x:", "def f(x):\n  return (" + "(" * 300, "\0"])
def test_no_python_is_refused(text: str) -> None:
    with pytest.raises(IterationError):
        read(text)


def test_work_is_bounded() -> None:
    deep = "def f(x, y):\n    return " + "-(" * 150 + "x" + ")" * 150
    with pytest.raises(IterationError, match="nested deeper"):
        _ = read(deep).tree
    doubling = "".join(
        f"def g{n}(a):\n    return g{n + 1}(a + {n}) + g{n + 1}(a * 2 + {n})\n" for n in range(20)
    )
    text = f"def f(x, y):\n    return g0(x * 1.0)\n{doubling}def g20(a):\n    return a\n"
    _ = read(text).tree  # each function is read once for the same types
    ranges_differ = text.replace("x * 1.0", "x")
    with pytest.raises(IterationError, match="nodes"):
        _ = read(ranges_differ).tree


def test_a_file_is_read_and_never_executed() -> None:
    text = "raise SystemExit(1)\nN = 3\ndef f(x, y):\n    return x * N\n"
    assert "(x_1 * 3)" in read(text).kernel(1024).source


def test_functions_come_in_order_of_dependency() -> None:
    function = FileScope(CALLS, "c4.py").function("kernel")
    identifiers = collect_identifiers(function, 2)
    assert [each.name for each in identifiers.functions] == ["h", "g", "f", "d", "b", "a"]
    # Equation 3.2: arguments of the iteration and local names are not needed from outside.
    assert identifiers.needed == {"ma", "a", "b", "d", "f", "g", "h"}
    assert {"r", "c", "x", "doubled"} <= identifiers.all_names


def test_kernel_has_the_form_of_the_thesis() -> None:
    source = iteration_of(CASES[0]).kernel(1024).source
    assert "const int a_1 = (id / 15u);" in source
    assert "const int b_2 = (id / 3u) % 5u;" in source
    assert "in_ma[c_3 * 20 + a_1 * 5 + b_2]" in source


def test_large_arrays_are_addressed_with_64_bits() -> None:
    text = "def f(x, y, m):\n    return m[x, y]"
    small, large = (read(text, size).kernel(1024).source for size in ("4096,4096", "65536,65536"))
    assert "(long)" not in small
    assert "(long)x_1 * 65536L" in large
    assert "const ulong id" in large


def test_remainders_that_change_nothing_vanish() -> None:
    source = read("def f(x, y, m):\n    return m[x % 6, y % m.shape[1]]").kernel(64).source
    assert "in_m[x_1 * 7 + y_2]" in source


@given(st.integers(1, 1 << 24), st.sampled_from([1, 64, 256, 1024, 4096]))
def test_groups_divide_the_global_size(elements: int, limit: int) -> None:
    group = choose_group(elements, limit)
    assert group.global_items % group.group_items == 0
    assert group.group_items <= limit
    assert elements <= group.global_items < elements + group.group_items
    if not group.is_padded(elements):
        larger = range(group.group_items + 1, min(limit, 1024, elements) + 1)
        assert all(elements % size for size in larger)


def test_primes_are_padded_and_guarded() -> None:
    iteration = read("def f(x, m):\n    return m[x]", "10007")
    kernel = iteration.kernel(1024)
    assert (kernel.group.group_items, kernel.group.global_items) == (256, 10240)
    assert "if (id >= 10007u)" in kernel.source


@given(st.integers(2, 300))
def test_triangles_are_those_of_numpy(extent: int) -> None:
    for projection, expected in (
        (utriag(extent), np.triu_indices(extent, 1)),
        (ltriag(extent), np.tril_indices(extent, -1)),
        (trace(extent), np.diag_indices(extent)),
    ):
        positions = projection.positions(0, projection.elements)
        assert all(np.array_equal(a, b) for a, b in zip(positions, expected, strict=True))
        assert list(projection) == list(zip(*(each.tolist() for each in expected), strict=True))


@given(
    st.lists(st.integers(-40, 40), min_size=4, max_size=4),
    st.sampled_from(
        ["add", "subtract", "multiply", "floor_divide", "remainder", "bit_and", "bit_or"]
    ),
)
def test_ranges_hold_all_results(bounds: list[int], name: str) -> None:
    operations = {
        "add": int.__add__,
        "subtract": int.__sub__,
        "multiply": int.__mul__,
        "floor_divide": int.__floordiv__,
        "remainder": int.__mod__,
        "bit_and": int.__and__,
        "bit_or": int.__or__,
    }
    left, right = Range.of(*bounds[:2]), Range.of(*bounds[2:])
    if name in {"floor_divide", "remainder"} and right.low <= 0 <= right.high:
        return
    computed = getattr(ranges, name)(left, right)
    for a in range(left.low, left.high + 1):
        for b in range(right.low, right.high + 1):
            assert computed.low <= operations[name](a, b) <= computed.high


@pytest.mark.parametrize(
    "size", ["", "0", "4,", "4,-1", "utriag:4,4", "square:4", "1," * 7 + "1", "9" * 14]
)
def test_wrong_sizes_are_refused(size: str) -> None:
    with pytest.raises(IterationError):
        parse_domain(size)


def test_wrong_declarations_are_refused() -> None:
    text = "def f(x, y, m):\n    return m[x, y]"
    for declared in ("complex64", "float32[", "float32[0]", "local float32[99999]"):
        with pytest.raises(IterationError, match="m"):
            _ = read(text, declared={"m": declared}).tree
    with pytest.raises(IterationError, match="1 parameters"):
        _ = read("def f(x):\n    return x").tree


def test_domain_of_no_elements_is_refused() -> None:
    for shape in ((), (3, 0), utriag(1), (1 << 30, 1 << 30)):
        with pytest.raises(IterationError):
            domain_of(shape)
