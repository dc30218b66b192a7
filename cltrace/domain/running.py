"""Running iterations where they are predicted to be fastest, with data that stays where it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cltrace.domain.arrays import DomainArray, SharedArrays
from cltrace.domain.decisions import Decision, made_up_arrays
from cltrace.domain.host.c_program import CProgram
from cltrace.domain.host.numpy_evaluation import evaluate_with_numpy
from cltrace.domain.iterations import Iteration, arguments_of, scalar_values
from cltrace.domain.language.fingerprints import fingerprint
from cltrace.domain.language.reader import Arguments
from cltrace.domain.language.scopes import live_function
from cltrace.domain.place_times import (
    COPY_SIZES,
    DeviceCalls,
    DeviceTimes,
    PlaceTime,
    Residency,
    RunPlace,
    host_times,
)
from cltrace.domain.shapes import Domain, domain_of
from cltrace.errors import MissingExtraError, UsageError
from cltrace.events.workloads import Direction
from cltrace.profile import DeviceProfile, load_profile, profile_for

if TYPE_CHECKING:  # loads pyopencl
    from cltrace.measure.domain_device import DomainDevice

_MAX_CACHED: Final = 256
"""Iterations whose trees, programs and decisions are kept."""
WHERE: Final = ("auto", "host", "device")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An iteration, its arrays, its numbers, and a key that tells it from others."""

    key: tuple[object, ...]
    iteration: Iteration
    arrays: Mapping[str, DomainArray]
    scalars: Mapping[str, np.generic]


class DomainRunner:
    """Runner of iterations on a device and on the host.

    Programs and decisions are kept. Attributes:
        device: the device.
        last_decision: the decision of the last iteration that was not told where to run.
    """

    def __init__(self, device: "DomainDevice", profile: str | None = None) -> None:
        """`profile` is the name or path of the device's profile, None for the device's own."""
        self.device = device
        self.last_decision: Decision | None = None
        self._profile_name = profile
        self._device_times: DeviceTimes | None = None
        self._shared = SharedArrays()
        self._iterations: dict[tuple[object, ...], Iteration] = {}
        self._host_times: dict[tuple[object, ...], tuple[PlaceTime, ...]] = {}
        self._programs: dict[tuple[object, ...], CProgram] = {}

    def iterate(
        self,
        function: Callable[..., object],
        shape: Any,
        values: Mapping[str, Any],
        *,
        where: str,
        local: tuple[str, ...] = (),
        keeps_result: bool = False,
    ) -> DomainArray:
        """Run an iteration and return its result. Raises: `CltraceError`."""
        if where not in WHERE:
            raise UsageError(f"where={where!r}: give one of {', '.join(WHERE)}")
        prepared = self._prepare(function, domain_of(shape), values, local)
        place = RunPlace.DEVICE
        if where == "auto":
            self.last_decision = self._decide(prepared, keeps_result=keeps_result)
            place = self.last_decision.place
        elif where == "host":
            place = min(self._times_on_host(prepared), key=lambda each: each.time_ns).place
        if place is RunPlace.DEVICE:
            return self._run_on_device(prepared)
        return self._run_on_host(prepared, place)

    def decide(
        self,
        function: Callable[..., object],
        shape: Any,
        values: Mapping[str, Any],
        *,
        local: tuple[str, ...] = (),
        keeps_result: bool = False,
    ) -> Decision:
        """Return the predicted times of an iteration at all places. Raises: `CltraceError`."""
        prepared = self._prepare(function, domain_of(shape), values, local)
        return self._decide(prepared, keeps_result=keeps_result)

    @property
    def device_times(self) -> DeviceTimes:
        """The predicted times of the device. Raises: `ProfileError` if it has no profile."""
        if self._device_times is None:
            self._device_times = DeviceTimes(
                self._profile(),
                DeviceCalls(self.device.call_ns(), tuple(self.device.copy_times(COPY_SIZES))),
            )
        return self._device_times

    def _profile(self) -> DeviceProfile:
        if self._profile_name is not None:
            return load_profile(self._profile_name)
        return profile_for(self.device.facts)

    def _prepare(
        self,
        function: Callable[..., object],
        domain: Domain,
        values: Mapping[str, Any],
        local: tuple[str, ...],
    ) -> _Prepared:
        arguments = arguments_of(values)
        arrays = {name: self._shared.array_of(values[name]) for name in arguments.arrays}
        key = _key(function, domain, arguments, local)
        iteration = self._iterations.get(key)
        if iteration is None:
            if len(self._iterations) >= _MAX_CACHED:
                for cache in (self._iterations, self._host_times, self._programs):
                    cache.clear()
            iteration = Iteration(live_function(function), domain, arguments, local)
            self._iterations[key] = iteration
        numbers = scalar_values(iteration, values)
        names = [variable.name for variable in iteration.tree.scalars]
        return _Prepared(key, iteration, arrays, dict(zip(names, numbers, strict=True)))

    def _decide(self, prepared: _Prepared, *, keeps_result: bool) -> Decision:
        resident = [name for name, each in prepared.arrays.items() if each.is_on(self.device)]
        residency = Residency(frozenset(resident), keeps_result)
        times = [self.device_times.predict(prepared.iteration, residency)]
        reads = tuple(
            self.device_times.transfer(f"read {name}", Direction.FROM_DEVICE, array.nbytes)
            for name, array in prepared.arrays.items()
            if not array.is_on_host
        )
        times += [
            replace(each, parts=(*reads, *each.parts)) for each in self._times_on_host(prepared)
        ]
        return Decision(tuple(sorted(times, key=lambda each: each.time_ns)))

    def _times_on_host(self, prepared: _Prepared) -> tuple[PlaceTime, ...]:
        """Return the times on the host; arrays that are on the device only are made up for samples."""
        times = self._host_times.get(prepared.key)
        if times is None:
            absent = {
                name: prepared.iteration.arguments.arrays[name]
                for name, array in prepared.arrays.items()
                if not array.is_on_host
            }
            arrays = dict(made_up_arrays(absent))
            arrays |= {
                name: array.read() for name, array in prepared.arrays.items() if array.is_on_host
            }
            times = tuple(host_times(prepared.iteration, arrays, prepared.scalars))
            self._host_times[prepared.key] = times
        return times

    def _run_on_device(self, prepared: _Prepared) -> DomainArray:
        iteration = prepared.iteration
        kernel = iteration.kernel(self.device.facts.max_group_items)
        if kernel.needs_double and not self.device.facts.has_double:
            raise UsageError(
                f"{iteration.function.name} computes with 64-bit floats, which {self.device.facts.name} "
                "lacks: convert numbers to numpy.float32"
            )
        arguments: list[Any] = [
            prepared.arrays[array.name].buffer_on(self.device) for array in kernel.arrays
        ]
        arguments += [prepared.scalars[variable.name] for variable in kernel.scalars]
        result = iteration.result_type
        buffer = self.device.launch(
            (kernel.source, kernel.name, iteration.options),
            (kernel.group.global_items, kernel.group.group_items),
            arguments,
            result.size_bytes,
        )
        return DomainArray.on_device_only(self.device, buffer, result.dtype, result.shape)

    def _run_on_host(self, prepared: _Prepared, place: RunPlace) -> DomainArray:
        arrays = {name: array.read() for name, array in prepared.arrays.items()}
        iteration = prepared.iteration
        if place is RunPlace.NUMPY:
            result = evaluate_with_numpy(iteration.tree, iteration.domain, arrays, prepared.scalars)
            return DomainArray.on_host_only(result)
        program = self._programs.get(prepared.key)
        if program is None:
            program = self._programs[prepared.key] = CProgram(iteration.tree, iteration.domain)
        return DomainArray.on_host_only(program.evaluate(arrays, prepared.scalars))


def _key(
    function: Callable[..., object], domain: Domain, arguments: Arguments, local: tuple[str, ...]
) -> tuple[object, ...]:
    # Numbers of different types are equal, and so are both zeros.
    constants = [(name, type(value), repr(value)) for name, value in arguments.constants.items()]
    return (
        function,
        fingerprint(function),
        domain,
        tuple(arguments.arrays.items()),
        tuple(arguments.scalars.items()),
        tuple(constants),
        local,
    )


_RUNNERS: Final[dict[tuple[str, str | None], DomainRunner]] = {}


def runner_for(device: str, profile: str | None) -> DomainRunner:
    """Return the runner of a device, made once. Raises: `DeviceError`, `MissingExtraError`."""
    key = (device, profile)
    runner = _RUNNERS.get(key)
    if runner is None:
        try:
            from cltrace.measure import find_device  # noqa: PLC0415 - loads pyopencl
            from cltrace.measure.domain_device import DomainDevice  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("domain", "pocl", error) from error
        runner = _RUNNERS[key] = DomainRunner(DomainDevice(find_device(device)), profile)
    return runner
