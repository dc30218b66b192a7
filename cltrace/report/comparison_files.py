"""A comparison in the forms that other tools read: JUnit, and entries of a chart over time."""

import json
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from cltrace.regress.comparison import Comparison, KernelComparison
from cltrace.regress.gate import Judgement, Outcome
from cltrace.regress.runs import KernelKey, Round
from cltrace.regress.sample_files import stored_rounds
from cltrace.regress.verdicts import Verdict
from cltrace.report.comparison import size_text
from cltrace.report.document import Document
from cltrace.report.formats.text import to_json
from cltrace.report.untrusted_text import plain

_MS: Final = 1e-6
_NOT_XML: Final = dict.fromkeys(
    (*(n for n in range(32) if n not in {9, 10, 13}), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "?"
)


def to_whole_json(document: Document, judgement: Judgement, rounds: Sequence[Round]) -> str:
    """The report as JSON has it, with the outcome and the raw samples of both sides."""
    whole = {
        "schema": 1,
        "outcome": judgement.outcome.value,
        "why": judgement.why,
        **json.loads(to_json(document)),
        "samples": stored_rounds(rounds),
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def to_junit(found: Comparison, judgement: Judgement, *, has_energy_floor: bool = False) -> str:
    """A test case for each kernel and each counter that changed; the judgement is one, too.

    A regression is a failure, what is not decided is skipped with the reason.
    """
    cases = [
        _judged_case(judgement),
        *_counter_cases(found, has_energy_floor=has_energy_floor),
        *_kernel_cases(found),
    ]
    suite = ET.Element(
        "testsuite",
        name="cltrace check",
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        errors="0",
    )
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def to_chart_entries(found: Comparison, rounds: Sequence[Round]) -> str:
    """Entries for github-action-benchmark, `customSmallerIsBetter`: head's kernels in ms."""
    entries = [
        {
            "name": _named(key),
            "unit": "ms",
            "value": one.head_ns * _MS,
            "range": f"± {_half_range_ns(key, rounds) * _MS:.6g}",
        }
        for key, one in found.kernels.items()
        if one.head_ns is not None
    ]
    return json.dumps(entries, indent=2, allow_nan=False) + "\n"


def _judged_case(judgement: Judgement) -> ET.Element:
    case = _case("check", "outcome")
    if judgement.outcome is Outcome.UNDECIDED:
        ET.SubElement(case, "skipped", message=_clean(judgement.why))
    return case


def _counter_cases(found: Comparison, *, has_energy_floor: bool) -> Iterator[ET.Element]:
    for one in found.counters:
        case = _case("counters", f"{one.key.kind} {one.key.subject}".strip())
        if one.is_worse:
            _fail(case, f"{one.head} instead of {one.base}")
        yield case
    for work in found.work:
        case = _case("work", f"{work.kind} of {work.key}")
        if work.is_worse:
            _fail(case, f"{work.head:g} instead of {work.base:g} a launch")
        elif work.doubt:
            ET.SubElement(case, "skipped", message=_clean(work.doubt))
        yield case
    for key, joules in found.energy.items():
        case = _case("energy", str(key) or "the whole run")
        if joules.finding.verdict is Verdict.SLOW and has_energy_floor:
            _fail(case, f"{joules.finding.ratio - 1:+.1%}")
        yield case


def _kernel_cases(found: Comparison) -> Iterator[ET.Element]:
    for key, one in found.kernels.items():
        case = _case("kernels", _named(key))
        if one.head_ns is not None:
            case.set("time", f"{one.head_ns * 1e-9:.9f}")
        said = _said(one)
        if one.is_slower and not found.other_devices:
            _fail(case, said)
        elif one.is_open or found.other_devices:
            ET.SubElement(case, "skipped", message=said)
        yield case


def _said(one: KernelComparison) -> str:
    if one.finding is None:
        return "too few runs of both sides"
    low, high = one.finding.interval.low - 1, one.finding.interval.high - 1
    more = one.finding.more_pairs
    text = f"{one.finding.verdict}: {one.finding.ratio - 1:+.1%} [{low:+.1%}, {high:+.1%}]"
    if one.finding.verdict is Verdict.AMBIGUOUS and more is not None:
        text += f"; about {more} pairs more would decide"
    return text


def _half_range_ns(key: KernelKey, rounds: Sequence[Round]) -> float:
    """Half of the range of the runs."""
    times = [run.kernels[key].median_ns for one in rounds for run in one.head if key in run.kernels]
    return (max(times) - min(times)) / 2 if times else 0.0


def _named(key: KernelKey) -> str:
    parts = (
        key.kernel or "all kernels",
        size_text(key.global_size),
        f"on {key.device}" if key.device else None,
    )
    return plain(" ".join(part for part in parts if part))


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=f"cltrace.{group}", name=_clean(name))


def _fail(case: ET.Element, message: str) -> None:
    ET.SubElement(case, "failure", message=_clean(message), type="regression")


def _clean(text: str) -> str:
    return plain(text).translate(_NOT_XML)
