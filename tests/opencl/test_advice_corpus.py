"""Precision and recall of advice on programs with one mistake each, and on the same ones without it.

The programs are those of `benchmarks/programs/advice`. Each is recorded once.
"""

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import cltrace
from cltrace.timeline.advice import Findings
from cltrace.timeline.analysis import Analysis

pytestmark = [pytest.mark.opencl, pytest.mark.slow]

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs" / "advice"
MODULES = ("waits", "transfers", "launches", "gaps", "queues")
MIN_RATE = 0.95

ALSO = {
    # Kernels of a few microseconds, launched one by one.
    ("finish-tiny-kernels", "before"): {"launch-bound"},
    ("finish-tiny-kernels", "after"): {"launch-bound"},
    ("wait-between-kernels", "before"): {"launch-bound"},
    ("wait-between-kernels", "after"): {"launch-bound"},
    # These copies block as well.
    ("large-writes", "before"): {"blocking-write"},
}
"""Rules that rightly have findings besides the rule of a case, by case and variant."""


@cache
def cases() -> dict[str, tuple[Path, str]]:
    """The module and the rule of each case."""
    found: dict[str, tuple[Path, str]] = {}
    for module in MODULES:
        path = PROGRAMS / f"{module}.py"
        listed = subprocess.run([sys.executable, path, "--list"], capture_output=True, check=True)
        found |= {name: (path, rule) for name, rule in json.loads(listed.stdout).items()}
    return found


Corpus = dict[tuple[str, str], Findings]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The findings of each variant of each case."""
    directory = tmp_path_factory.mktemp("corpus")
    found = {}
    for name, (path, _) in cases().items():
        for variant in ("before", "after"):
            trace = directory / f"{name}-{variant}.cltrace"
            words = ["run", "-q", "-o", str(trace), sys.executable, str(path), name, variant]
            subprocess.run(
                [sys.executable, "-m", "cltrace", *words], check=True, capture_output=True
            )
            with cltrace.load(trace) as opened:
                found[name, variant] = Analysis(opened).findings
    return found


def rules_of(findings: Findings) -> set[str]:
    return {finding.rule for finding in findings.worthwhile()}


def test_each_mistake_is_found_at_its_line(corpus: Corpus) -> None:
    missed = []
    for name, (path, rule) in cases().items():
        sites = [each.site for each in corpus[name, "before"].worthwhile() if each.rule == rule]
        if not any(str(path.parent) in site for site in sites):
            missed.append((name, rule, sorted(rules_of(corpus[name, "before"]))))
    assert not missed


def test_twenty_programs_are_sound(corpus: Corpus) -> None:
    sound = [name for name, variant in corpus if variant == "after" and (name, variant) not in ALSO]
    assert len(sound) >= 20
    assert not {name: found for name in sound if (found := rules_of(corpus[name, "after"]))}


def test_precision_and_recall_of_each_rule(corpus: Corpus) -> None:
    right: Counter[str] = Counter()
    wrong: list[tuple[str, str, str]] = []
    missed: Counter[str] = Counter()
    for (name, variant), findings in corpus.items():
        expected = {cases()[name][1]} if variant == "before" else set()
        found = rules_of(findings)
        right.update(found & expected)
        missed.update(expected - found)
        wrong += [
            (name, variant, rule) for rule in found - expected - ALSO.get((name, variant), set())
        ]
    errors = Counter(rule for _, _, rule in wrong)
    for rule in {rule for _, rule in cases().values()} | set(errors):
        assert right[rule] >= MIN_RATE * (right[rule] + errors[rule]), (rule, wrong)
        assert right[rule] >= MIN_RATE * (right[rule] + missed[rule]), rule


def test_gains_are_no_more_than_the_run(corpus: Corpus) -> None:
    for findings in corpus.values():
        for finding in findings.findings:
            gain = finding.gain
            if gain is not None:
                assert 0 <= gain.low_ns <= gain.expected_ns <= gain.high_ns <= findings.span_ns
        if findings.together is not None:
            assert findings.together.high_ns <= findings.span_ns
