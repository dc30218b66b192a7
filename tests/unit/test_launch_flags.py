"""Words on predicted launches: their column has a name, and they are explained where it is shown."""

import io
from dataclasses import replace

import pytest

from cltrace.predict.models import Cache
from cltrace.predict.traces import PredictedLaunch
from cltrace.report.document import Column, Document, Table, Unit
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.launch_flags import flags_column, launch_flags
from tests.unit.test_trace_accuracy import launch_of

COLD = "cold: its memory is not in the caches"


def launch(cache: Cache) -> PredictedLaunch:
    return replace(launch_of(1.0).predicted, cache=cache)


def screen(table: Table, width: int) -> str:
    out = io.StringIO()
    document = Document("", [], [table])
    console_for(out, width=width).print(renderable(document, width=width, is_ascii=False))
    return " ".join(out.getvalue().split())


def table_of(*launches: PredictedLaunch) -> Table:
    numbers = [Column(f"n{at}", f"number {at}", Unit.COUNT, 90 + at) for at in range(3)]
    return Table(
        key="launches",
        title="Kernels",
        columns=(Column("kernel", "kernel"), *numbers, flags_column(launches, keep=70)),
        rows=[(each.launch.kernel, 1, 2, 3, launch_flags(each)) for each in launches],
        note="measured: median",
        lists_hidden=True,
    )


def test_only_words_that_occur_are_explained() -> None:
    assert flags_column([launch(Cache.COLD), launch(Cache.WARM)], keep=70).meaning == COLD
    assert not flags_column([launch(Cache.WARM)], keep=70).meaning


@pytest.mark.parametrize(("width", "is_shown"), [(80, True), (48, False)])
def test_words_are_explained_where_their_column_is_shown(width: int, is_shown: bool) -> None:
    text = screen(table_of(launch(Cache.COLD)), width)
    assert (f"measured: median; {COLD}" in text) == is_shown
    assert ("no room for flags" in text) != is_shown
    assert "; :" not in text


@pytest.mark.parametrize("width", [80, 48])
def test_a_column_without_a_word_takes_no_room(width: int) -> None:
    assert "flags" not in screen(table_of(launch(Cache.WARM)), width)
