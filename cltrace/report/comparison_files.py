"""Comparisons in the formats of other tools: JUnit, and entries of a chart over time."""

import json
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from cltrace.regress.comparison import Comparison, KernelComparison
from cltrace.regress.gate import Judgement, Outcome
from cltrace.regress.run_records import KernelKey, Round
from cltrace.regress.sample_files import rounds_to_json
from cltrace.regress.verdicts import Verdict
from cltrace.report.comparison import size_text
from cltrace.report.document import Document
from cltrace.report.formats.text import to_json
from cltrace.report.untrusted_text import escape_controls

_MS: Final = 1e-6
_NOT_XML: Final = dict.fromkeys(
    (*(n for n in range(32) if n not in {9, 10, 13}), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "?"
)


def to_whole_json(document: Document, judgement: Judgement, rounds: Sequence[Round]) -> str:
    """Return the report as JSON, with the outcome and the raw samples of both sides."""
    whole = {
        "schema": 1,
        "outcome": judgement.outcome.value,
        "why": judgement.why,
        **json.loads(to_json(document)),
        "samples": rounds_to_json(rounds),
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def to_junit(comparison: Comparison, judgement: Judgement) -> str:
    """Return a JUnit test case per kernel and per changed counter, and one for the judgement.

    A regression is a failure; an undecided case is skipped with the reason.
    """
    cases = [
        _outcome_case(judgement),
        *_counter_cases(comparison),
        *_kernel_cases(comparison),
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


def to_chart_entries(comparison: Comparison, rounds: Sequence[Round]) -> str:
    """Return entries for github-action-benchmark, `customSmallerIsBetter`: head's kernels in ms."""
    entries = [
        {
            "name": _display_name(key),
            "unit": "ms",
            "value": kernel.head_ns * _MS,
            "range": f"± {_half_range_ns(key, rounds) * _MS:.6g}",
        }
        for key, kernel in comparison.kernels.items()
        if kernel.head_ns is not None
    ]
    return json.dumps(entries, indent=2, allow_nan=False) + "\n"


def _outcome_case(judgement: Judgement) -> ET.Element:
    case = _case("check", "outcome")
    if judgement.outcome is Outcome.UNDECIDED:
        ET.SubElement(case, "skipped", message=_escape_xml(judgement.why))
    return case


def _counter_cases(comparison: Comparison) -> Iterator[ET.Element]:
    for counter in comparison.counters:
        case = _case("counters", str(counter.key))
        if counter.is_worse:
            _fail(case, f"{counter.head} instead of {counter.base}")
        yield case
    for work in comparison.work:
        case = _case("work", f"{work.kind} of {work.key}")
        if work.is_worse:
            _fail(case, f"{work.head:g} instead of {work.base:g} per launch")
        elif work.doubt:
            ET.SubElement(case, "skipped", message=_escape_xml(work.doubt))
        yield case
    for key, joules in comparison.energy.items():
        case = _case("energy", str(key) or "the whole run")
        if joules.is_higher and joules.is_gated:
            _fail(case, f"{joules.finding.ratio - 1:+.1%}")
        yield case


def _kernel_cases(comparison: Comparison) -> Iterator[ET.Element]:
    for key, kernel in comparison.kernels.items():
        case = _case("kernels", _display_name(key))
        if kernel.head_ns is not None:
            case.set("time", f"{kernel.head_ns * 1e-9:.9f}")
        message = _finding_text(kernel)
        if kernel.is_slower and not comparison.other_devices:
            _fail(case, message)
        elif kernel.is_open or comparison.other_devices:
            ET.SubElement(case, "skipped", message=message)
        yield case


def _finding_text(kernel: KernelComparison) -> str:
    if kernel.finding is None:
        return "too few runs of both sides"
    low, high = kernel.finding.interval.low - 1, kernel.finding.interval.high - 1
    more = kernel.finding.more_pairs
    text = f"{kernel.finding.verdict}: {kernel.finding.ratio - 1:+.1%} [{low:+.1%}, {high:+.1%}]"
    if kernel.finding.verdict is Verdict.AMBIGUOUS and more is not None:
        text += f"; about {more} pairs more would decide"
    return text


def _half_range_ns(key: KernelKey, rounds: Sequence[Round]) -> float:
    """Return half of the range of the runs."""
    times = [
        run.kernels[key].median_ns for round_ in rounds for run in round_.head if key in run.kernels
    ]
    return (max(times) - min(times)) / 2 if times else 0.0


def _display_name(key: KernelKey) -> str:
    parts = (
        key.kernel or "all kernels",
        size_text(key.global_size),
        f"on {key.device}" if key.device else None,
    )
    return escape_controls(" ".join(part for part in parts if part))


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=f"cltrace.{group}", name=_escape_xml(name))


def _fail(case: ET.Element, message: str) -> None:
    ET.SubElement(case, "failure", message=_escape_xml(message), type="regression")


def _escape_xml(text: str) -> str:
    return escape_controls(text).translate(_NOT_XML)
