"""`restrict` in a kernel's source: what is changed, what is left alone, and how long it takes."""

import time

import pytest

from cltrace.kernels import parse
from cltrace.predict.kernel_advice.source_edits import (
    kernel_text,
    restrict_pointers,
    without_comments,
)

PLAIN = "kernel void f(global float *a, global const int* b, int n) { a[n] = b[n]; }"


@pytest.mark.parametrize(
    ("source", "pointers"),
    [
        (PLAIN, 2),
        (
            "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\nvoid f(__global float *a) {}",
            1,
        ),
        ("kernel void f(global float *restrict a, global float *b) { b[0] = a[0]; }", 1),
        ("kernel void f(global float *a /* in, (out) */, // first *\n local float *t) {}", 1),
        ('// kernel void f(global float *x) {\n#define T ";{}"\n' + PLAIN, 2),
        ("void f_(global float *a) {}\nkernel void g(global int *f) {}\n" + PLAIN, 2),
        ("kernel void f(global float *a, global const int* b, int n);\n" + PLAIN, 2),
    ],
)
def test_pointers_to_global_memory_become_restrict(source: str, pointers: int) -> None:
    changed = restrict_pointers(source, "f")
    assert changed is not None
    assert changed.count(" restrict ") == pointers
    assert changed.replace(" restrict ", "") == source
    assert changed.count("\n") == source.count("\n")
    assert "f" in parse(changed).kernels


@pytest.mark.parametrize(
    "source",
    [
        "kernel void f(int n) {}",
        "kernel void f(global float *restrict a) {}",
        "#define K(name) kernel void name(global float *a) {}\nK(f)",
        "kernel void g(global float *a) {}",
        "void f(global float *a) {} kernel void g(global float *a) { f(a); }",
        "",
    ],
)
def test_nothing_is_changed_where_nothing_is_to_be_added(source: str) -> None:
    assert restrict_pointers(source, "f") is None


@pytest.mark.parametrize(
    "piece", ["kernel ", "/*", "f(", "f (global float*", '"\\', "kernel f(", "*,"]
)
def test_a_hostile_source_takes_no_longer_than_it_is_long(piece: str) -> None:
    source = piece * ((1 << 20) // len(piece))
    begin = time.process_time()
    restrict_pointers(source, "f")
    assert time.process_time() - begin < 20.0  # a product of lengths would take hours


def test_the_text_of_a_kernel_has_neither_its_name_nor_its_comments() -> None:
    source = """int helper(int x) { return x; }
        kernel void f(global int *a, /* many */ int n) { if (n) { a[0] = helper(n); } // last
        }
        kernel void g(global int *a, int n)
        { if (n) { a[0] = helper(n); } }
        kernel void h(global int *a, int n) { if (n) { a[1] = helper(n); } }"""
    plain = without_comments(source)
    first, second, third = (kernel_text(plain, name) for name in "fgh")
    assert first == second == "kernel void global int *a, int n) { if (n) { a[0] = helper(n); } }"
    assert third != first
    assert kernel_text(plain, "helper") is None
    assert kernel_text("kernel void f(int n) { if (n) {", "f") is None
