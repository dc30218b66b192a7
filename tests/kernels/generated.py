"""Generated kernels as cases. Their names say how to make them: the same name is always the same case."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from cltrace.suite.domain_iterations import SETS, generate_domain_iterations, matrix_of
from tests.kernels.cases import EXACT, Argument, Case
from tests.kernels.random_programs import GLOBAL_SIZE, LOCAL_SIZE, random_programs

HEIGHT, WIDTH = 24, 32
PROGRAMS = "programs"


def _domain_cases(rules: str, count: int, seed: int) -> list[Case]:
    """Random domain iterations, with their references in numpy."""
    matrix = matrix_of(HEIGHT, WIDTH)
    return [
        Case(
            name=f"{rules}-{count}-{seed}-{number}",
            source="",
            kernel=kernel.name,
            global_size=(matrix.size,),
            local_size=(64,),
            arguments=lambda _: [matrix, np.zeros_like(matrix)],
            reference=lambda given, _, of=kernel.reference: [given, of(given)],
            comparison=EXACT,
            options=" ".join(kernel.options(HEIGHT, WIDTH)),
            family=rules,
            code=kernel.source,
        )
        for number, kernel in enumerate(generate_domain_iterations(SETS[rules], count, seed))
    ]


def _program_cases(count: int, seed: int) -> list[Case]:
    """Random programs with control flow. There is no reference: implementations are compared."""
    return [
        Case(
            name=f"{PROGRAMS}-{count}-{seed}-{number}",
            source="",
            kernel=program.name,
            global_size=(GLOBAL_SIZE,),
            local_size=(LOCAL_SIZE,),
            arguments=_program_arguments,
            reference=None,
            comparison=EXACT,
            options="-w",
            family=PROGRAMS,
            code=program.source,
        )
        for number, program in enumerate(random_programs(count, seed))
    ]


def _program_arguments(_: np.random.Generator) -> list[Argument]:
    numbers = np.random.default_rng(5)
    return [
        numbers.integers(0, 1 << 32, 2 * GLOBAL_SIZE, np.uint32),
        np.zeros(2 * GLOBAL_SIZE, np.uint32),
        numbers.random(2 * GLOBAL_SIZE, np.float32),
    ]


@cache
def cases_of(family: str, count: int, seed: int) -> Sequence[Case]:
    """The cases of a family from a seed."""
    if family == PROGRAMS:
        return tuple(_program_cases(count, seed))
    return tuple(_domain_cases(family, count, seed))


def case_named(name: str) -> Case:
    """The case of a name that one of these has."""
    family, count, seed, number = name.split("-")
    return cases_of(family, int(count), int(seed))[int(number)]


def sample(number: int) -> list[Case]:
    """240 cases of all families, others for each number."""
    found: list[Case] = []
    for seed in range(100 + 4 * number, 104 + 4 * number):
        for rules in SETS:
            found += cases_of(rules, 15, seed)
    for seed in range(10 * number, 10 + 10 * number):
        found += cases_of(PROGRAMS, 12, seed)
    return found
