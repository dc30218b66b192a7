"""Results that are derived from one trace's activity, each computed at its first use."""

from dataclasses import replace
from functools import cached_property

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice import Evidence, Finding, Findings, advise
from cltrace.timeline.advice.evidence import read_evidence
from cltrace.timeline.advice.model import NO_KERNEL_ADVICE, KernelAdvice
from cltrace.timeline.columns import Int64s
from cltrace.timeline.critical_path import PathStep, StepKind, find_critical_path
from cltrace.timeline.dependencies import Dependencies, find_dependencies
from cltrace.timeline.memory_moves import MemoryMoves
from cltrace.timeline.reading import read_activity
from cltrace.timeline.slack import compute_slack_ns
from cltrace.trace.reader import Trace


class Analysis:
    """Activity of a trace and the analyses of it. Raises: `DamagedTraceError` at the first use."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def activity(self) -> Activity:
        """All commands and calls."""
        return read_activity(self.trace)

    @cached_property
    def dependencies(self) -> Dependencies:
        """The dependencies between commands."""
        return find_dependencies(self.activity)

    @cached_property
    def critical_path(self) -> list[PathStep]:
        """The critical path, the first step first."""
        return find_critical_path(self.activity, self.dependencies)

    @cached_property
    def slack_ns(self) -> Int64s:
        """The slack of each command; 0 for those on the critical path, `UNLIMITED_NS` where not placed.

        The critical path infers from a thread's silence that it waited for another thread. Slack alone
        follows recorded dependencies only, and such a wait is not recorded.
        """
        slack = compute_slack_ns(self.activity, self.dependencies).copy()
        slack[[step.command for step in self.critical_path if step.kind is StepKind.DEVICE]] = 0
        return slack

    @cached_property
    def findings(self) -> Findings:
        """The findings of all rules about the run, with their gains."""
        return advise(self.evidence)

    def findings_with(self, kernels: KernelAdvice) -> Findings:
        """Return the findings of all rules, those about kernels included, with their gains."""
        if kernels == NO_KERNEL_ADVICE:
            return self.findings
        evidence = replace(self.evidence, modelled=kernels.modelled, neighbours=kernels.neighbours)
        return advise(evidence, kernels.proposals)

    @property
    def advice(self) -> tuple[Finding, ...]:
        """The findings of all rules, those with the largest gain first."""
        return self.findings.findings

    @cached_property
    def memory_moves(self) -> MemoryMoves:
        """Uses of memory objects that another device had last."""
        return self.evidence.moves

    @cached_property
    def evidence(self) -> Evidence:
        """All facts that rules examine."""
        return read_evidence(self.trace, self.activity, self.dependencies)
