"""Names of costs: what is stored is read back as what it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.events.cost_names import CostName
from cltrace.profile import load_profile

TYPES = st.text(st.characters(exclude_characters=" "))


@given(TYPES, st.text())
def test_a_name_is_read_as_it_was_written(kind: str, operation: str) -> None:
    name = CostName(kind, operation)
    assert CostName.parse(str(name)) == name


@given(TYPES, st.text())
def test_a_text_is_written_as_it_was_read(kind: str, operation: str) -> None:
    text = f"{kind} {operation}"
    assert str(CostName.parse(text)) == text


@given(TYPES)
def test_a_single_word_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="needs a type and an operation"):
        CostName.parse(word)


@given(TYPES, TYPES)
def test_a_type_has_no_space(before: str, after: str) -> None:
    with pytest.raises(ValueError, match="has a space"):
        CostName(f"{before} {after}", "add")


@pytest.mark.parametrize("device", ["nvidia-h200", "pocl-cpu"])
def test_the_series_of_shipped_profiles_are_names(device: str) -> None:
    for family in ("throughput", "latency"):
        series = {point.series for point in load_profile(device).points(family)}
        assert series
        assert {str(CostName.parse(name)) for name in series} == series
