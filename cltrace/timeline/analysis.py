"""Everything that is worked out of one trace's activity, each when it is first asked for."""

from functools import cached_property

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice import Advice, advise
from cltrace.timeline.advice.evidence import read_material
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.critical_path import Step, StepKind, critical_path
from cltrace.timeline.dependencies import Dependencies, dependencies
from cltrace.timeline.reading import read_activity
from cltrace.timeline.slack import slack_ns
from cltrace.trace.reader import Trace


class Analysis:
    """What follows from the activity of a trace. Raises: `DamagedTraceError` where it is read."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def activity(self) -> Activity:
        """All that was done."""
        return read_activity(self.trace)

    @cached_property
    def needs(self) -> Dependencies:
        """What had to be done before what."""
        return dependencies(self.activity)

    @cached_property
    def path(self) -> list[Step]:
        """The critical path, the first step first."""
        return critical_path(self.activity, self.needs)

    @cached_property
    def slack_ns(self) -> Int64s:
        """The slack of each command; none for those on the path, `UNLIMITED_NS` where not placed.

        The path knows from a thread's silence that it waited for another one. Slack alone follows what is
        recorded, and that is not.
        """
        slack = slack_ns(self.activity, self.needs).copy()
        slack[[step.command for step in self.path if step.kind is StepKind.DEVICE]] = 0
        return slack

    @cached_property
    def advice(self) -> list[Advice]:
        """What could be done better, the dearest first."""
        return list(advise(read_material(self.trace, self.activity, self.needs)))
