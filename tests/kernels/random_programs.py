"""Random programs with loops, branches, private arrays, local memory and barriers, for testing.

They are free of what has no defined meaning: integers are unsigned, shifts are bounded, divisors are
odd, indices are masked, barriers are where all work-items come. All results are the same on every
correct implementation, bit by bit.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LOCAL_SIZE: Final = 32
GLOBAL_SIZE: Final = 128
_INTEGERS: Final = ("a", "b", "c", "d")
_FLOATS: Final = ("f", "g", "h")


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A kernel `random_program(in, out, numbers)`.

    `in` are GLOBAL_SIZE × 2 unsigned integers, `out` as many, `numbers` GLOBAL_SIZE × 2 floats that are
    read and written.
    """

    source: str
    seed: int
    name: str = "random_program"


def random_programs(count: int, seed: int) -> Sequence[RandomProgram]:
    """`count` programs. The same seed always makes the same ones."""
    chooser = random.Random(seed)
    seeds = [chooser.randrange(1 << 62) for _ in range(count)]
    return [RandomProgram(_Writer(random.Random(own)).program(), own) for own in seeds]


class _Writer:
    """Writes a program. Depth bounds nesting; a loop's variable is named by its depth."""

    def __init__(self, chooser: random.Random) -> None:
        self._random = chooser
        self._lines: list[str] = []

    def program(self) -> str:
        self._block(1, self._random.randint(4, 9), is_uniform=True)
        body = "\n".join(self._lines)
        return (
            "#pragma OPENCL FP_CONTRACT OFF\n"
            "uint mixed(uint x, uint y) { x ^= y >> 3; return x * 2654435761u + y; }\n"
            "void bump(uint *p, uint by) { *p += by | 1u; }\n"
            "__kernel void random_program(__global const uint *in, __global uint *out,\n"
            "                             __global float *numbers)\n"
            "{\n"
            f"    __local uint shared[{LOCAL_SIZE}];\n"
            f"    __local float floats[{LOCAL_SIZE}];\n"
            "    const uint id = get_global_id(0), l = get_local_id(0);\n"
            "    uint own[8];\n"
            "    uint a = in[id], b = in[id + get_global_size(0)], c = id, d = l;\n"
            "    float f = numbers[id], g = numbers[id + get_global_size(0)], h = 0.5f;\n"
            "    for (uint i = 0; i < 8; ++i) own[i] = a + i * b;\n"
            "    shared[l] = a; floats[l] = f;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            f"{body}\n"
            "    for (uint i = 0; i < 8; ++i) a = mixed(a, own[i]);\n"
            "    out[id] = mixed(a, b); out[id + get_global_size(0)] = mixed(c, d);\n"
            "    numbers[id] = f + h; numbers[id + get_global_size(0)] = g;\n"
            "}\n"
        )

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _block(self, depth: int, statements: int, *, is_uniform: bool) -> None:
        for _ in range(statements):
            self._statement(depth, is_uniform=is_uniform)

    def _statement(self, depth: int, *, is_uniform: bool) -> None:
        simple = [self._assign, self._assign, self._float_assign, self._private, self._call]
        nested = [self._branch, self._loop, self._while, self._switch]
        kinds = simple + (nested if depth < 4 else [])
        if is_uniform:
            kinds.append(self._exchange)
        kind = self._random.choice(kinds)
        kind(depth, is_uniform=is_uniform)

    def _integer(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.35:
            return self._random.choice(
                [*_INTEGERS, *_INTEGERS, f"{self._random.randrange(1 << 16)}u"]
            )
        left, right = self._integer(depth + 1), self._integer(depth + 1)
        forms = (
            f"({left} + {right})", f"({left} - {right})", f"({left} * {right})",
            f"({left} / ({right} | 1u))", f"({left} % ({right} | 1u))", f"({left} ^ {right})",
            f"({left} & {right})", f"({left} | {right})", f"({left} << ({right} & 31u))",
            f"({left} >> ({right} & 31u))", f"max({left}, {right})", f"rotate({left}, {right})",
            f"mul_hi({left}, {right})", f"(uint)popcount({left})",
            f"({left} < {right} ? {left} : {right})",
            f"(uint)((ulong){left} * {right} >> 7)", f"(uint)(short){left}", f"abs_diff({left}, {right})",
        )  # fmt: skip
        return self._random.choice(forms)

    def _number(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.4:
            return self._random.choice([*_FLOATS, f"{self._random.uniform(0.1, 9.0):.4f}f"])
        left, right = self._number(depth + 1), self._number(depth + 1)
        forms = (
            f"({left} + {right})", f"({left} - {right})", f"({left} * {right})",
            f"({left} / (fabs({right}) + 1.0f))", f"fmin({left}, 1.0e6f)", f"floor({left})",
            f"(float)({self._integer(2)} & 1023u)", f"({left} < {right} ? {left} : {right})",
        )  # fmt: skip
        return self._random.choice(forms)

    def _condition(self) -> str:
        if self._random.random() < 0.3:
            return f"{self._number(2)} < {self._number(2)}"
        comparison = self._random.choice(["==", "<", ">", "!="])
        return f"({self._integer(1)} & 3u) {comparison} {self._random.randrange(4)}u"

    def _assign(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(depth, f"{self._random.choice(_INTEGERS)} = {self._integer()};")

    def _float_assign(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(depth, f"{self._random.choice(_FLOATS)} = {self._number()};")

    def _private(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(depth, f"own[{self._integer(1)} & 7u] ^= {self._integer(1)};")
        self._line(depth, f"{self._random.choice(_INTEGERS)} += own[{self._integer(1)} & 7u];")

    def _call(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        name = self._random.choice(_INTEGERS)
        self._line(
            depth, f"{name} = mixed({self._integer(1)}, {self._integer(1)}); bump(&{name}, l);"
        )

    def _branch(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(depth, f"if ({self._condition()}) {{")
        self._block(depth + 1, self._random.randint(1, 3), is_uniform=False)
        if self._random.random() < 0.5:
            self._line(depth, "} else {")
            self._block(depth + 1, self._random.randint(1, 2), is_uniform=False)
        self._line(depth, "}")

    def _loop(self, depth: int, *, is_uniform: bool) -> None:
        name = f"i{depth}"
        same = is_uniform and self._random.random() < 0.6
        bound = f"{self._random.randint(2, 7)}u" if same else f"({self._integer(2)} & 7u)"
        limit = bound if same else f"n{depth}"
        if not same:
            self._line(depth, f"{{ const uint n{depth} = {bound};")
        self._line(depth, f"for (uint {name} = 0; {name} < {limit}; ++{name}) {{")
        self._line(depth + 1, f"c += {name} * {self._random.randrange(1, 99)}u;")
        self._block(depth + 1, self._random.randint(1, 3), is_uniform=same)
        if not same and self._random.random() < 0.5:
            word = self._random.choice(["break", "continue"])
            self._line(depth + 1, f"if ({self._condition()}) {word};")
        self._line(depth, "}" if same else "}}")

    def _while(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(
            depth, f"for (uint w{depth} = {self._integer(1)} | 1u; w{depth}; w{depth} >>= 5) {{"
        )
        self._block(depth + 1, self._random.randint(1, 2), is_uniform=False)
        self._line(depth, "}")

    def _switch(self, depth: int, *, is_uniform: bool) -> None:
        del is_uniform
        self._line(depth, f"switch ({self._integer(1)} & 3u) {{")
        for case in range(3):
            self._line(depth, f"case {case}:")
            self._block(depth + 1, 1, is_uniform=False)
            if self._random.random() < 0.6:
                self._line(depth + 1, "break;")
        self._line(depth, "default: d ^= 5u; }")

    def _exchange(self, depth: int, *, is_uniform: bool) -> None:
        """A value from a neighbour, through local memory."""
        del is_uniform
        step = self._random.randrange(1, LOCAL_SIZE)
        self._line(depth, "barrier(CLK_LOCAL_MEM_FENCE);")
        self._line(depth, f"shared[l] = {self._integer(1)}; floats[l] = {self._number(1)};")
        self._line(depth, "barrier(CLK_LOCAL_MEM_FENCE);")
        self._line(depth, f"a ^= shared[(l + {step}u) & {LOCAL_SIZE - 1}u];")
        self._line(depth, f"g = floats[(l * {step}u) & {LOCAL_SIZE - 1}u];")
