"""Arguments through which a kernel cannot write, by the text of its parameters."""

import pytest

from cltrace.timeline.advice.constant_arguments import constant_arguments


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("global const float *a, global float *b", {0}),
        ("const global float *restrict a, __constant int *b", {0, 1}),
        ("global float *const a", set()),
        ("read_only image2d_t a, write_only image2d_t b", {0}),
        ("global float *a, const int n", {1}),
        ("/* global const */ global float *a // , const\n, constant float *b", {1}),
        ("global int (*a)[4], global const float *b", {1}),
        ("", set()),
    ],
)
def test_constant_parameters(parameters: str, expected: set[int]) -> None:
    source = f"int other(int a) {{ return a; }}\n__kernel void step({parameters}) {{ }}"
    assert constant_arguments(source, "step") == expected


@pytest.mark.parametrize(
    "source",
    [
        "",
        "kernel void other(global const int *x) { }",
        "#ifdef A\nkernel void step(global const int *x) { }\n#else\n"
        "kernel void step(global int *x) { }\n#endif",
        "kernel void step(PARAMETERS) { }",
        "kernel void step(global const int *x",
    ],
)
def test_parameters_that_are_not_known_are_no_constants(source: str) -> None:
    assert not constant_arguments(source, "step")
