"""Gains of proposals by replay, and findings from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import (
    MIN_SHARE,
    DeviceSummary,
    Finding,
    Findings,
    Gain,
    Metric,
    Place,
    Proposal,
)
from cltrace.timeline.advice.staged_writes import at_worst
from cltrace.timeline.advice.warm_cores import at_best
from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay import Change, Replay, combine
from cltrace.timeline.replay.bounds import changed_span_ns, upper_bound_ns

_MODEL_ERROR: Final = 0.15
"""Share by which gains of single changes differ from measured ones where all is known."""
_RUN_ERROR: Final = 0.03
"""Share by which the same part of a program is shorter or longer in another run, on hosts of GPUs."""
_SAME_SHARE: Final = 0.8
"""Share of waits from which two rules see the same cause."""
_MAX_REPLAYED: Final = 64
"""Proposals that are replayed on their own, those with the largest bounds first."""


def find_gains(
    proposals: Sequence[Proposal], replay: Replay, devices: Mapping[int, DeviceSummary]
) -> Findings:
    """Return the findings of a run.

    Places of one cause become one finding, and so do those of a rule that gain little each. Proposals
    that save no time are left out, unless they are about something else than time.
    """
    estimate = _Estimate(replay, devices)
    timed = [proposal for proposal in proposals if proposal.change is not None]
    findings = estimate.findings(timed)
    findings.sort(key=lambda finding: -finding.gain.expected_ns if finding.gain else 0)
    together = estimate.gain_of_all(findings) if findings else None
    others = [Finding(proposal=each, gain=None) for each in proposals if each.change is None]
    return Findings((*findings, *others), together, replay.span_ns)


def _one_per_cause(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals without those for waits or commands that earlier ones at the place remove."""
    removed_calls: dict[Place, set[int]] = defaultdict(set)
    removed: dict[Place, set[int]] = defaultdict(set)
    kept = []
    for proposal in proposals:
        change, place = _change(proposal), proposal.place
        calls = set(change.removed_calls.tolist())
        if _is_mostly(calls, removed_calls[place]):
            continue
        if _is_mostly(set(_concerned(change).tolist()), removed[place]):
            continue
        removed_calls[place] |= calls
        removed[place] |= set(change.removed.tolist())
        kept.append(proposal)
    return kept


def _is_mostly(members: set[int], earlier: set[int]) -> bool:
    return bool(members) and len(members & earlier) > _SAME_SHARE * len(members)


def _concerned(change: Change) -> Int64s:
    """Return the commands that a change concerns by themselves."""
    return np.unique(
        np.concatenate([change.scaled, change.removed, change.unblocked, change.unawaited])
    )


def _by_cause(proposals: Iterable[Proposal]) -> list[list[Proposal]]:
    """Return the proposals of a rule that have the same cause together."""
    groups: dict[tuple[str, object], list[Proposal]] = {}
    for proposal in proposals:
        groups.setdefault((proposal.rule, proposal.cause or id(proposal)), []).append(proposal)
    return list(groups.values())


def _change(proposal: Proposal) -> Change:
    return proposal.change or Change()


def _metrics_together(group: Sequence[Proposal]) -> tuple[Metric, ...]:
    """Return the metrics of several places: sums of all, and what is typical of the first."""
    sums: dict[str, float] = defaultdict(float)
    for metric in (metric for each in group for metric in each.metrics):
        sums[metric.label] += metric.value
    return tuple(
        replace(metric, value=sums[metric.label]) if metric.is_sum else metric
        for metric in group[0].metrics
    )


def _limit_together(group: Sequence[Proposal]) -> int | None:
    """Return the limit of several places of a rule; `None` if one of them has none."""
    limits = [each.limit_ns for each in group if each.limit_ns is not None]
    return sum(limits) if len(limits) == len(group) else None


def _bounds(gain: Gain) -> tuple[int, int, int]:
    return gain.low_ns, gain.expected_ns, gain.high_ns


class _Estimate:
    """Estimates of gains on one run."""

    def __init__(self, replay: Replay, devices: Mapping[int, DeviceSummary]) -> None:
        self._replay = replay
        self._devices = devices

    def findings(self, proposals: Sequence[Proposal]) -> list[Finding]:
        """Return findings of proposals that save time, with places of little gain together."""
        bounds = {id(each): upper_bound_ns(self._replay.graph, _change(each)) for each in proposals}
        ranked = _one_per_cause(sorted(proposals, key=lambda each: -bounds[id(each)]))
        large: list[Finding] = []
        small: dict[str, list[Proposal]] = defaultdict(list)
        for group in _by_cause(ranked):
            is_large = sum(bounds[id(each)] for each in group) >= MIN_SHARE * self._replay.span_ns
            finding = self._merged(group) if is_large and len(large) < _MAX_REPLAYED else None
            if finding is not None and self._is_large(finding):
                large.append(finding)
            else:
                small[group[0].rule] += group
        return large + [self._merged(group) for group in small.values() if self._saves(group)]

    def _is_large(self, finding: Finding) -> bool:
        gain = finding.gain
        return gain is not None and gain.expected_ns >= MIN_SHARE * self._replay.span_ns

    def _saves(self, group: Sequence[Proposal]) -> bool:
        return self._replay.gain_ns(combine(list(map(_change, group)))) > 0

    def _merged(self, group: Sequence[Proposal]) -> Finding:
        """Return one finding for places of the same rule; the first one is the largest."""
        first = group[0]
        if len(group) == 1:
            return Finding(proposal=first, gain=self._gain(first))
        whole = replace(
            first,
            times=sum(each.times for each in group),
            metrics=_metrics_together(group),
            change=combine(list(map(_change, group))),
            least=combine([each.least or _change(each) for each in group]),
            most=combine([each.most or _change(each) for each in group]),
            limit_ns=_limit_together(group),
        )
        others = dict.fromkeys(each.place for each in group[1:] if each.place != first.place)
        return Finding(proposal=whole, gain=self._gain(whole), other_places=tuple(others))

    def _gain(self, proposal: Proposal) -> Gain:
        """Return the gain of a proposal, with bounds for what its rule and the replay cannot know."""
        change = _change(proposal)
        replayed = self._replay.gain_ns(change)
        expected = replayed - self._excess_ns(proposal)
        least = combine([proposal.least or change, at_worst(self._replay.graph, change)])
        low = max(min(expected, self._replay.gain_ns(least, worked_share=1.0)), 0)
        most = proposal.most or change
        if self._frees_host(change) and self._has_processor():
            most = combine([most, at_best(self._replay.graph, change)])
        high = max(replayed, self._replay.gain_ns(most))
        error = _MODEL_ERROR + self._spread(change)
        run_error_ns = _RUN_ERROR * changed_span_ns(self._replay.graph, change)
        low_ns = low * self._kept_share(change) * max(1 - error, 0.0) - run_error_ns
        return self._bounded(expected, low_ns, high * (1 + error) + run_error_ns)

    def _excess_ns(self, proposal: Proposal) -> int:
        """Return by how much a replay gains more than the proposal's evidence has."""
        if proposal.limit_ns is None:
            return 0
        return max(self._replay.gain_ns(_change(proposal)) - proposal.limit_ns, 0)

    def gain_of_all(self, findings: Sequence[Finding]) -> Gain:
        """Return the gain of several findings at once, those with the largest gain first.

        It is no less than that of any of them: the program may make that one change alone.
        """
        gains = [finding.gain for finding in findings if finding.gain is not None]
        least = [max((each[at] for each in map(_bounds, gains)), default=0) for at in range(3)]
        expected = max(self._joint_gain_ns(findings), least[1])
        total = sum(gain.expected_ns for gain in gains) or 1
        low = max(least[0], round(expected * sum(gain.low_ns for gain in gains) / total))
        high = max(least[2], round(expected * sum(gain.high_ns for gain in gains) / total))
        return self._bounded(expected, low, high)

    def _joint_gain_ns(self, findings: Sequence[Finding]) -> int:
        """Return the gain of findings by replay, each with a limit adding no more than that.

        What a replay gains beyond the evidence of one finding may be what another one saves.
        """
        proposals = [finding.proposal for finding in findings]
        changes = [_change(each) for each in proposals if each.limit_ns is None]
        gain = replayed = self._replay.gain_ns(combine(changes))
        for limited, limit_ns in ((each, each.limit_ns) for each in proposals):
            if limit_ns is not None:
                changes.append(_change(limited))
                before, replayed = replayed, self._replay.gain_ns(combine(changes))
                gain += min(replayed - before, limit_ns)
        return gain

    def _bounded(self, expected: float, low: float, high: float) -> Gain:
        """Return a gain between nothing and the run."""
        span = self._replay.span_ns
        expected = min(max(round(expected), 0), span)
        return Gain(
            expected, min(max(round(low), 0), expected), min(max(round(high), expected), span)
        )

    def _spread(self, change: Change) -> float:
        """Return the relative standard error of the durations of the commands that a change concerns."""
        commands = self._replay.graph.activity.commands
        concerned = _concerned(change)
        took = commands.duration_ns[concerned][commands.is_placed[concerned]]
        if len(took) < 2 or not took.sum():
            return 0.0
        return min(float(2 * took.std() / took.mean() / np.sqrt(len(took))), 1.0)

    def _kept_share(self, change: Change) -> float:
        """Return the share of a gain that remains at least where the host then works beside a device.

        A processor runs kernels on the cores that the host needs. Its gain may be none: a thread that had
        slept in a wait is scheduled sooner than one that works all the time.
        """
        return 0.0 if self._frees_host(change) and self._has_processor() else 1.0

    def _frees_host(self, change: Change) -> bool:
        """Return True if the host waits less, and commands remain beside which it works."""
        calls = self._replay.graph.activity.calls
        # Where commands go away as well, the host works beside nothing.
        is_wait = calls.is_api(Api.clFinish, Api.clWaitForEvents)[change.removed_calls]
        frees_host = bool(len(change.unblocked) or len(change.unawaited))
        return frees_host or (bool(is_wait.any()) and not len(change.removed))

    def _has_processor(self) -> bool:
        return any(device.kind == "CPU" for device in self._devices.values())
