"""Proposals for a run from improvements of its kernels: how much less time which commands take."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

import numpy as np

from cltrace.errors import KernelError
from cltrace.kernels import BufferArgument, KernelCounts
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.predict.kernel_advice.counting import Counting
from cltrace.predict.kernel_advice.kernel_registers import (
    UNKNOWN_REGISTERS,
    KernelRegisters,
    read_kernel_registers,
)
from cltrace.predict.kernel_advice.kernel_shares import long_launches, uncounted_kernels
from cltrace.predict.kernel_advice.model import MIN_GAIN, Improvement, KernelRules, Variant
from cltrace.predict.kernel_advice.neighbours import modelled_neighbours
from cltrace.predict.models import MODELS, FittedModel
from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    Evidence,
    KernelAdvice,
    Place,
    Proposal,
    metric_ns,
)
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Float64s, Int64s
from cltrace.timeline.replay import Change

_SAME_SHARE: Final = 0.05
_MODEL_FACTOR: Final = 1.6
"""Factor by which the ratio of two predicted times is wrong at most, mostly."""
_REFUTED_FACTOR: Final = 2.0
"""Factor of the measured time from which the predicted one shows that a launch does less than that."""


@dataclass(frozen=True, slots=True)
class _Faster:
    """An improvement of launches, and the share of their time that they take with it.

    The share is 1 where no time is computed.
    """

    predicted: PredictedLaunch
    improvement: Improvement
    share: float


def propose_for_kernels(
    predictions: Sequence[PredictedTrace],
    analysis: Analysis,
    rules: KernelRules,
    counting: Counting,
) -> KernelAdvice:
    """Return the proposals of rules about kernels for a run, from the predictions of its devices.

    CPUs are left out: their compilers decide what a warp is. So are kernels that take less than 1 % of
    the run.
    """
    activity, places = analysis.activity, analysis.evidence.places
    faster: list[_Faster] = []
    modelled: set[int] = set()
    long: list[PredictedLaunch] = []
    on_gpus = [prediction for prediction in predictions if _is_of_gpu(prediction)]
    for prediction in on_gpus:
        launches = list(long_launches(prediction, activity))
        long += launches
        end_s = None if counting.max_s is None else monotonic() + counting.max_s
        fitted = MODELS[prediction.model].for_device(prediction.profile)
        registers = read_kernel_registers(analysis.trace, prediction, launches, counting, end_s)
        made = list(_make_variants(launches, analysis.evidence, rules))
        trials = _count_variants(made, prediction, counting, end_s)
        of_device = [
            *_from_counts(launches, fitted, rules),
            *_from_registers(launches, fitted, rules, registers),
            *(best for trial in trials if (best := _best(trial, fitted)) is not None),
        ]
        faster += _one_per_cause(of_device, rules)
        modelled.update(number for trial in trials for number in trial.modelled)
    proposals = tuple(_proposal(group, activity, places) for group in _by_cause(faster))
    return KernelAdvice(
        proposals,
        frozenset(modelled),
        uncounted_kernels(on_gpus, activity),
        modelled_neighbours(on_gpus, long, np.unique(activity.commands.device).tolist()),
    )


def _is_of_gpu(prediction: PredictedTrace) -> bool:
    """Return True for a prediction for the GPU that the trace was recorded on."""
    is_cpu = machine_of(prediction.profile.device).has_item_loops
    return not prediction.is_what_if and not is_cpu


def _by_cause(faster: Sequence[_Faster]) -> list[list[_Faster]]:
    """Return the improvements of launches with the same cause together."""
    by_cause: dict[tuple[object, ...], list[_Faster]] = {}
    for each in faster:
        cause = (
            *(each.improvement.rule, each.predicted.launch.kernel, each.improvement.line),
            *(each.improvement.remedy.text, id(each.predicted.launch.program)),
        )
        by_cause.setdefault(cause, []).append(each)
    return list(by_cause.values())


def _worthwhile(
    predicted: PredictedLaunch, improvement: Improvement | None, fitted: FittedModel
) -> Iterator[_Faster]:
    """Yield an improvement if it saves a share of the predicted time that models do not err by."""
    now = predicted.prediction.duration_ns
    if improvement is None or now <= 0:
        return
    if improvement.counts is None:
        yield _Faster(predicted, improvement, 1.0)
        return
    then = fitted.predict(improvement.counts, predicted.cache, predicted.arrivals).duration_ns
    if improvement.before is not None:
        now = fitted.predict(improvement.before, predicted.cache, predicted.arrivals).duration_ns
        measured = predicted.measured_ns
        if measured is not None and now > _REFUTED_FACTOR * measured:
            now = max(measured, then)
    if then <= (1.0 - MIN_GAIN) * now:
        yield _Faster(predicted, improvement, then / now)


def _from_counts(
    launches: Sequence[PredictedLaunch], fitted: FittedModel, rules: KernelRules
) -> Iterator[_Faster]:
    for predicted in launches:
        for rule in rules.on_counts:
            yield from _worthwhile(predicted, rule(predicted.counts), fitted)


def _from_registers(
    launches: Sequence[PredictedLaunch],
    fitted: FittedModel,
    rules: KernelRules,
    registers: Mapping[int, KernelRegisters],
) -> Iterator[_Faster]:
    """Yield the first of the best improvements of each rule about registers for each launch."""
    for predicted in launches:
        own = registers.get(predicted.launch.launch_id, UNKNOWN_REGISTERS)
        for rule in rules.on_registers:
            faster = [
                each
                for improvement in rule(predicted.counts, own)
                for each in _worthwhile(predicted, improvement, fitted)
            ]
            least = min((each.share for each in faster), default=0.0)
            yield from [each for each in faster if each.share <= least + _SAME_SHARE][:1]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Variants of a launch that one rule made, with their counts, as far as they are counted."""

    predicted: PredictedLaunch
    counted: tuple[tuple[Variant, KernelCounts], ...]

    @property
    def modelled(self) -> tuple[int, ...]:
        """The launch configurations of which other work-groups are counted."""
        has_groups = any(variant.has_other_groups for variant, _ in self.counted)
        return self.predicted.launch_ids if has_groups else ()


def _make_variants(
    launches: Sequence[PredictedLaunch], evidence: Evidence, rules: KernelRules
) -> Iterator[tuple[PredictedLaunch, list[Variant]]]:
    for predicted in launches:
        has_own_buffers = _has_own_buffers(predicted, evidence)
        for rule in rules.on_variants:
            made = rule(predicted.launch, predicted.counts)
            variants = [each for each in made if has_own_buffers or not each.needs_own_buffers]
            if variants:
                yield predicted, variants


def _has_own_buffers(predicted: PredictedLaunch, evidence: Evidence) -> bool:
    """Return True if no launch had the same memory, or parts of it, in two arguments."""
    count = sum(isinstance(each, BufferArgument) for each in predicted.launch.arguments)
    for number in predicted.launch_ids:
        used = evidence.used_buffers.get(number)
        if used is None or len({evidence.parents.get(each, each) for each in used}) != count:
            return False
    return True


def _count_variants(
    trials: Sequence[tuple[PredictedLaunch, list[Variant]]],
    prediction: PredictedTrace,
    counting: Counting,
    end_s: float | None,
) -> list[_Trial]:
    """Return the variants of launches, counted as far as there is time."""
    machine = machine_of(prediction.profile.device)
    counter = TracedLaunchCounter(machine, counting.settings, forms=frozenset({CodeForm.OPTIMISED}))
    counter.count_all(
        [variant.launch for _, variants in trials for variant in variants],
        counting.progress,
        max_s=None if end_s is None else max(end_s - monotonic(), 0.0),
    )
    return [
        _Trial(predicted, tuple(_counted(variants, counter, end_s)))
        for predicted, variants in trials
    ]


def _counted(
    variants: Sequence[Variant], counter: TracedLaunchCounter, end_s: float | None
) -> Iterator[tuple[Variant, KernelCounts]]:
    for variant in variants:
        is_timely = end_s is None or monotonic() < end_s or counter.is_counted(variant.launch)
        with suppress(KernelError, MemoryError):
            if is_timely:
                yield variant, counter.count(variant.launch)


def _best(trial: _Trial, fitted: FittedModel) -> _Faster | None:
    """Return the fastest variant of a trial; `None` if none is much faster."""
    predicted = trial.predicted
    faster = (
        each
        for variant, counts in trial.counted
        for each in _worthwhile(predicted, variant.describe(predicted.counts, counts), fitted)
    )
    return min(faster, key=lambda each: each.share, default=None)


def _one_per_cause(faster: Sequence[_Faster], rules: KernelRules) -> Iterator[_Faster]:
    """Yield improvements, one of those of a launch that rules about the same cause found.

    That is the one that saves the most, or one of the launch, and not the kernel, that saves as much.
    """
    by_cause: dict[tuple[int, object], list[_Faster]] = {}
    for each in faster:
        rule = each.improvement.rule
        cause = next((cause for cause in rules.causes if rule in cause), rule)
        by_cause.setdefault((id(each.predicted), cause), []).append(each)
    for group in by_cause.values():
        least = min(each.share for each in group)
        yield min(
            (each for each in group if each.share <= least + _SAME_SHARE),
            key=lambda each: (bool(each.improvement.line), each.share, each.improvement.rule),
        )


def _proposal(
    group: Sequence[_Faster], activity: Activity, places: Mapping[int, Place]
) -> Proposal:
    """Return the proposal of launches with the same cause."""
    group = sorted(group, key=lambda each: -each.predicted.total_ns * (1.0 - each.share))
    first = group[0].improvement
    commands = activity.commands
    positions = [_commands_of(each.predicted, activity) for each in group]
    shares = np.repeat([each.share for each in group], [len(each) for each in positions])
    members = np.concatenate([*positions, np.empty(0, np.int64)])
    took_ns = np.maximum(commands.duration_ns[members], 0)
    proposal = Proposal(
        rule=first.rule,
        title=first.title,
        place=_place(commands.site[members], took_ns, places),
        kernel_line=first.line,
        times=len(members),
        metrics=(*first.metrics, metric_ns("these launches took", float(took_ns.sum()))),
        remedy=first.remedy,
    )
    if first.counts is None:
        return proposal
    return replace(
        proposal,
        change=_scaled(members, shares),
        least=_scaled(members, np.minimum(shares * _MODEL_FACTOR, 1.0)),
        most=_scaled(members, shares / _MODEL_FACTOR),
    )


def _commands_of(predicted: PredictedLaunch, activity: Activity) -> Int64s:
    commands = activity.commands
    own = np.isin(commands.launch, np.asarray(predicted.launch_ids, np.int64))
    return np.flatnonzero(own & commands.is_placed)


def _place(sites: Int64s, took_ns: Int64s, places: Mapping[int, Place]) -> Place:
    """Return the place of the launches that take the most time."""
    if not len(sites):
        return Place("")
    numbers, inverse = np.unique(sites, return_inverse=True)
    longest = int(numbers[np.bincount(inverse, weights=took_ns).argmax()])
    return places.get(longest, Place(""))


def _scaled(members: Int64s, shares: Float64s) -> Change:
    return Change(scaled=members, scales=shares)
