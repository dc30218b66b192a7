"""Interface of rules about kernels: improvements, variants, and the rules themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.predict.kernel_advice.kernel_registers import KernelRegisters
from cltrace.timeline.advice.model import Metric, Remedy

MIN_GAIN: Final = 0.2
"""Share of a kernel's time from which an improvement of it is proposed: more than models err by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A change of a kernel, and the counts that its launch has after it.

    `line` is the place in the kernel's source, `file:line`, empty where it concerns the whole kernel.
    `counts` is `None` where nothing says what the launch then has to do, so that no time is computed.
    `before` are the counts without the change where the rule knows more than was counted, as of spills.
    """

    rule: str
    title: str
    line: str
    metrics: tuple[Metric, ...]
    remedy: Remedy
    counts: KernelCounts | None
    before: KernelCounts | None = None


CountsRule = Callable[[KernelCounts], Improvement | None]
"""A rule that edits the counts of a launch. `None` where it has nothing to say."""


RegistersRule = Callable[[KernelCounts, KernelRegisters], Sequence[Improvement]]
"""A rule that edits counts by what is known of registers.

The first one of those that save the most, or nearly, is the improvement.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """The same launch of a changed kernel, or of other sizes, and the improvement if it is faster.

    `describe` takes the counts before and after. `has_other_groups` is True for other work-groups,
    `needs_own_buffers` if it is the same launch only where no two arguments are the same memory.
    """

    launch: TracedLaunch
    describe: Callable[[KernelCounts, KernelCounts], Improvement | None]
    has_other_groups: bool = False
    needs_own_buffers: bool = False


VariantRule = Callable[[TracedLaunch, KernelCounts], Sequence[Variant]]
"""A rule that counts other launches. The fastest of its variants is the improvement."""


@dataclass(frozen=True, slots=True)
class KernelRules:
    """Rules about kernels: those that edit counts, also by registers, and those that count variants.

    `causes` are rules, by their names, that may find the same cause.
    """

    on_counts: Sequence[CountsRule] = ()
    on_registers: Sequence[RegistersRule] = ()
    on_variants: Sequence[VariantRule] = ()
    causes: Sequence[frozenset[str]] = ()
