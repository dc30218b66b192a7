"""A comparison as people and machines read it."""

import io
import json

import pytest

from cltrace.regress.comparison import Comparison, compare_rounds
from cltrace.regress.run_records import Round
from cltrace.regress.sample_files import Side
from cltrace.report.benchmark_sides import side_facts
from cltrace.report.comparison import regression_report, verdict_sentence
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.formats.text import to_json, to_markdown
from tests.run_samples import (
    DEVICE,
    HEAVY,
    LIGHT,
    MS,
    TINY,
    round_of,
    run_of,
)


@pytest.fixture(scope="module")
def changed() -> Comparison:
    changes = {LIGHT: 1.3, HEAVY: 0.7, TINY: 2.0}
    return compare_rounds([round_of(2, changes, launches=11), round_of(3, changes, launches=11)])


def test_one_sentence_says_it(changed: Comparison) -> None:
    assert verdict_sentence(changed).startswith(
        "1 counter is higher; 1 of 3 kernels slower: light +3"
    )
    assert verdict_sentence(changed).endswith("; 1 kernel is faster")
    assert verdict_sentence(compare_rounds([round_of(1, {})])) == "nothing changed"
    assert (
        verdict_sentence(compare_rounds([round_of(2, {LIGHT: 1.3})])) == "1 kernel is not decided"
    )


def test_tables_have_what_changed_and_with_all_the_rest(changed: Comparison) -> None:
    document = json.loads(to_json(regression_report(changed, is_all=False)))
    (counter,) = document["counters"]
    assert counter["kind"] == "launches"
    assert counter["base"] == 10
    assert counter["head"] == 11
    rows = {row["kernel"]: row for row in document["kernels"]}
    assert rows["light"]["verdict"] == "SLOW"
    assert rows["light"]["low"] < rows["light"]["change"] < rows["light"]["high"]
    assert rows["heavy"]["verdict"] == "FAST"
    assert rows["tiny"]["verdict"] == "SLOW, under 1 %"
    same = compare_rounds([round_of(1, {})])
    assert json.loads(to_json(regression_report(same, is_all=False)))["kernels"] == []
    assert len(json.loads(to_json(regression_report(same, is_all=True)))["kernels"]) == 3
    one = compare_rounds([round_of(2, {LIGHT: 1.13})])
    assert "2 others are the same" in to_markdown(regression_report(one, is_all=False))


def test_what_one_side_lacks_and_what_wavers_is_said() -> None:
    plain = round_of(11, {})
    without = tuple(run_of({HEAVY: 1.0}, launches=10 + n % 2) for n in range(len(plain.head)))
    document = regression_report(compare_rounds([Round(plain.base, without)]), is_all=False)
    rows = {row["kernel"]: row for row in json.loads(to_json(document))["kernels"]}
    assert rows["light"]["verdict"] == "gone"
    assert (
        "note: launches heavy [64] differ from run to run: they are not compared" in document.notes
    )
    few = json.loads(
        to_json(regression_report(compare_rounds([round_of(4, {}, pairs=3)]), is_all=True))
    )
    assert {row["verdict"] for row in few["kernels"]} == {"too few runs"}


def test_another_driver_is_said() -> None:
    plain = round_of(12, {})
    other = type(DEVICE)("board", "platform", "2.0", "OpenCL 3.0")
    moved = tuple(run_of(dict.fromkeys(MS, 1.0), device=other) for _ in plain.head)
    notes = regression_report(compare_rounds([Round(plain.base, moved)]), is_all=False).notes
    (note,) = (one for one in notes if "driver" in one)
    assert note.startswith("warning: only one side ran on board (driver 1.0), board (driver 2.0)")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_verdicts_are_never_cut(width: int) -> None:
    open_one = compare_rounds([round_of(2, {LIGHT: 1.13})])
    console = console_for(io.StringIO(), width=width, color="never")
    with console.capture() as printed:
        console.print(
            renderable(regression_report(open_one, is_all=False), width=width, is_ascii=False)
        )
    text = " ".join(printed.get().split())
    assert "…" not in text
    assert "SLOW, not" in text
    assert "confirmed" in text


def test_a_head_names_both_commands_with_their_revisions(changed: Comparison) -> None:
    old = Side(("python", "old.py"), "/work", "0123456789abcdef", is_dirty=False)
    new = Side(("python", "new\x1b.py"), "/work", "fedcba9876543210", is_dirty=True)
    document = regression_report(changed, sides=side_facts(old, new))
    facts = json.loads(to_json(document))["facts"]
    assert facts["base"] == "python old.py, revision 0123456789ab"
    assert facts["head"] == r"python new\x1b.py, revision fedcba987654 and changes"
    assert "- **base**: python old.py, revision 0123456789ab\n" in to_markdown(document)


def test_a_head_names_directories_only_where_nothing_else_differs() -> None:
    here, there = (Side(("./app",), place, "", is_dirty=False) for place in ("/here", "/there"))
    assert [fact.text for fact in side_facts(here, here)] == ["./app", "./app"]
    assert [fact.text for fact in side_facts(here, there)] == [
        "./app, in /here",
        "./app, in /there",
    ]
