"""Kernel arguments as words: what is stored of an argument is all that was passed."""

import itertools
import struct
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.events.records import ArgumentForm, ArgumentSlot
from cltrace.intercept.hooks.launches import PathLog, parameter_of
from cltrace.intercept.objects.argument_columns import ArgumentNumbers, IntegerColumn
from cltrace.intercept.objects.arguments import (
    LOCAL,
    ArgumentLists,
    Packed,
    Words,
    declare,
    freeze,
    to_words,
)
from cltrace.intercept.sink import Sink

SCALAR_TYPES = [
    *(np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
]
VALUES = st.one_of(
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.complex_numbers(),
    st.booleans(),
    st.sampled_from(SCALAR_TYPES).map(lambda kind: kind(1)),
)


def value_bytes(words: Words) -> bytes:
    """The bytes of a scalar with a type, back from its words."""
    data = b"".join(struct.pack("<q", word) for word in words.words)
    return data[: words.slot.size_bytes]


@given(st.integers(-(2**127), 2**127 - 1))
def test_a_whole_number_is_the_twos_complement_of_its_words(number: int) -> None:
    words = to_words(freeze(number))
    data = b"".join(struct.pack("<q", word) for word in words.words)
    assert words.slot.words == len(words.words) == (1 if -(2**63) <= number < 2**63 else 2)
    assert int.from_bytes(data, "little", signed=True) == number


@given(st.floats())
def test_a_float_keeps_its_bits(number: float) -> None:
    words = to_words(freeze(number))
    assert value_bytes(words) == struct.pack("<d", number)
    assert words.slot.dtype == "float"


@pytest.mark.parametrize("kind", SCALAR_TYPES)
def test_a_numpy_scalar_keeps_its_bytes_and_type(kind: type[Any]) -> None:
    number = kind(1)
    words = to_words(freeze(number))
    assert value_bytes(words) == number.tobytes()
    assert words.slot.dtype == number.dtype.str


def test_a_structure_is_frozen_as_it_is_at_the_call() -> None:
    array = np.zeros(1, "i4,f8")
    frozen = freeze(array[0])
    array["f0"] = 7
    assert value_bytes(to_words(frozen)) == np.zeros(1, "i4,f8").tobytes()


def test_an_argument_is_converted_to_its_declared_type_as_pyopencl_does() -> None:
    words = to_words(declare(freeze(300), np.uint8))
    assert value_bytes(words) == b"\x2c"
    assert words.slot.dtype == "|u1"
    assert declare(freeze(5), "no type") == 5
    local = freeze(cl.LocalMemory(64))
    assert declare(local, np.int32) is local


@pytest.mark.parametrize(
    ("char", "number", "expected"),
    [(b"B", 300, b"\x2c"), (b"f", 0.1, np.float32(0.1).tobytes()), (b"l", -1, b"\xff" * 8)],
)
def test_a_packed_number_is_converted_as_c_does(char: bytes, number: Any, expected: bytes) -> None:
    assert value_bytes(to_words(Packed(char, number))) == expected


def numbers_of(columns: tuple[Any, ...], rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The numbers, the stored rows and the forms of these rows of values."""
    sink = Sink()
    lists = ArgumentLists(sink)
    numbers, stored = ArgumentNumbers(columns).of(
        lambda column: [row[column] for row in rows], len(rows), lists
    )
    singly = [row for words, flat in sink.take_arguments() for row in split(flat, words + 2)]
    forms = {form.id: form.slots for form in sink.records if isinstance(form, ArgumentForm)}
    return numbers.tolist(), [*map(tuple, stored.tolist()), *singly], forms


def split(flat: list[int], width: int) -> list[tuple[int, ...]]:
    return [tuple(flat[at : at + width]) for at in range(0, len(flat), width)]


@given(st.lists(st.tuples(VALUES, st.integers(0, 3)), min_size=1, max_size=20), st.integers(1, 5))
def test_columns_store_what_single_arguments_would(
    rows: list[tuple[Any, int]], repeats: int
) -> None:
    rows = [row for row in rows if type(row[0]) is type(rows[0][0])]
    rows = [row for row in rows for _ in range(repeats)]
    parameter = parameter_of(rows[0][0])
    if parameter is None:  # a complex number, or an integer that no type holds, is recorded singly
        value = rows[0][0]
        assert type(value) is complex or not -(2**63) <= value < 2**64
        return
    log = PathLog((parameter, parameter_of(1)), has_arguments=True)  # type: ignore[arg-type]
    assert log.arguments is not None
    numbers, stored, forms = numbers_of((parameter.columns[0], IntegerColumn()), rows)
    by_number = {row[0]: row[1:] for row in stored}
    for number, row in zip(numbers, rows, strict=True):
        form_id, *words = by_number[number]
        expected = [to_words(freeze(value)) for value in row]
        assert forms[form_id] == tuple(argument.slot for argument in expected)
        assert words == [word for argument in expected for word in argument.words]
    changes = sum(repr(a) != repr(b) for a, b in itertools.pairwise(rows))
    assert len(stored) <= changes + 1


def test_a_list_that_equals_the_last_is_not_stored_again() -> None:
    numbers, stored, _ = numbers_of((IntegerColumn(),), [(1,), (1,), (2,), (2,), (1,)])
    assert numbers == [1, 1, 2, 2, 3]
    assert [row[2] for row in stored] == [1, 2, 1]


def test_a_constant_argument_takes_no_value() -> None:
    parameter = parameter_of(None)
    assert parameter is not None
    assert parameter.values == ()
    assert parameter.columns == (ArgumentSlot("null", 0),)


def test_argument_lists_are_numbered_once() -> None:
    lists = ArgumentLists(Sink())
    assert lists.number((Words(LOCAL, (4,)),)) == (1, True)
    assert lists.number((Words(LOCAL, (4,)),)) == (1, False)
    assert lists.number((Words(LOCAL, (8,)),)) == (2, True)
