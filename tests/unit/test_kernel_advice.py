"""Advice about kernels on an H200: programs with one mistake each, the same without it, and sound ones.

The programs are `kernels.py` and `other_kernels.py` of `benchmarks/programs/advice`. Their traces and
times are recorded.
"""

import json
import statistics
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import cltrace
from cltrace.kernels.launches.settings import default_settings
from cltrace.predict.kernel_advice import Counting, advise_on_kernels
from cltrace.timeline.advice import Finding
from cltrace.timeline.analysis import Analysis

DATA = Path(__file__).parents[1] / "data"
MIN_RATE = 0.95
MIN_INSIDE = 0.85
MIN_GAIN_SHARE = 0.2
VARIANTS = ("before", "after")
IN_THIS_PROCESS = replace(default_settings(), workers=1)
"""Each trace has few launches: to start processes takes longer than to count them."""
ALSO = {("private-sums", "after", "private-array")}
"""Findings that are right: the other variant's launch for warming up takes more than 1 % of the run."""


@dataclass(frozen=True, slots=True)
class Case:
    """A mistake's rule ("" for a sound program), the findings of both variants, the measured gain."""

    mistake: str
    findings: Mapping[str, tuple[Finding, ...]]
    gain_ns: float
    gain_share: float


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Case]:
    """The cases that the rules were written with, by name."""
    return read_archive("h200-kernel-advice.tar.xz", tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def other_corpus(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Case]:
    """The cases that were written after the rules, by name."""
    return read_archive("h200-kernel-advice-other.tar.xz", tmp_path_factory.mktemp("other"))


def read_archive(name: str, directory: Path) -> Mapping[str, Case]:
    with tarfile.open(DATA / name) as archive:
        # Pythons before 3.11.4 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)
    return dict(read_cases(directory))


def read_cases(directory: Path) -> Iterator[tuple[str, Case]]:
    for name, mistake in json.loads((directory / "rules.json").read_text()).items():
        times = json.loads((directory / f"{name}.compare.json").read_text())
        before, after = (statistics.median(times[f"{variant}_ns"]) for variant in VARIANTS)
        findings = {
            variant: kernel_findings(directory / f"{name}-{variant}.cltrace")
            for variant in VARIANTS
        }
        yield name, Case(mistake, findings, before - after, (before - after) / before)


def kernel_findings(trace: Path) -> tuple[Finding, ...]:
    with cltrace.load(trace) as opened:
        analysis = Analysis(opened)
        advice = advise_on_kernels(analysis, Counting(IN_THIS_PROCESS))
        rules = {proposal.rule for proposal in advice.proposals}
        run = analysis.findings_with(advice)
    for finding in run.findings:
        if finding.gain is not None:
            gain = finding.gain
            assert 0 <= gain.low_ns <= gain.expected_ns <= gain.high_ns <= run.span_ns
    return tuple(each for each in run.worthwhile() if each.rule in rules)


def test_precision_and_recall(corpus: Mapping[str, Case]) -> None:
    right: Counter[str] = Counter()
    wrong: list[tuple[str, str, str]] = []
    missed: list[str] = []
    for name, case in corpus.items():
        for variant in VARIANTS:
            expected = {case.mistake} - {""} if variant == "before" else set()
            advised = {finding.rule for finding in case.findings[variant]}
            right.update(advised & expected)
            missed += sorted(expected - advised)
            wrong += [
                (name, variant, rule)
                for rule in sorted(advised - expected)
                if (name, variant, rule) not in ALSO
            ]
    count = right.total()
    assert count >= MIN_RATE * (count + len(wrong)), wrong
    assert count >= MIN_RATE * (count + len(missed)), missed
    assert len(right) == 9


def test_sound_programs_have_no_finding(corpus: Mapping[str, Case]) -> None:
    sound = {name: case for name, case in corpus.items() if not case.mistake}
    assert len(sound) >= 7
    assert not [name for name, case in sound.items() if case.findings["before"]]


def test_measured_gains_lie_within_the_stated_intervals(corpus: Mapping[str, Case]) -> None:
    is_inside = {
        name: finding.gain.low_ns <= case.gain_ns <= finding.gain.high_ns
        for name, case in corpus.items()
        for finding in case.findings["before"]
        if finding.rule == case.mistake and finding.gain is not None
    }
    assert len(is_inside) >= 18
    outside = sorted(name for name, inside in is_inside.items() if not inside)
    assert len(outside) <= (1 - MIN_INSIDE) * len(is_inside), outside


def test_findings_name_the_line_of_the_kernel_and_that_of_the_launch(
    corpus: Mapping[str, Case],
) -> None:
    (finding,) = corpus["unpadded-tile"].findings["before"]
    assert finding.proposal.kernel_line == "program.cl:9"
    assert finding.site.startswith("/app/kernels.py:")
    assert finding.proposal.remedy.after == "local float tile[32][33];"


def test_of_other_programs_those_whose_remedy_saves_time_are_advised(
    other_corpus: Mapping[str, Case],
) -> None:
    """A remedy that saves little, or takes longer, is not advised, whatever the code looks like."""
    advised = {name for name, case in other_corpus.items() if case.findings["before"]}
    faster = {name for name, case in other_corpus.items() if case.gain_share > MIN_GAIN_SHARE}
    assert len(faster) == 7
    assert advised == faster
    for name in advised:
        case = other_corpus[name]
        (finding,) = case.findings["before"]
        assert finding.rule == case.mistake
        assert finding.gain is not None
        assert case.gain_ns >= finding.gain.low_ns, name
    assert not [name for name, case in other_corpus.items() if case.findings["after"]]
