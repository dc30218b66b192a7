"""Counts the entry points that each case of `cases` calls, and finds those that it names in vain.

Usage: called_hooks.py REPORT. REPORT gets JSON: `missed`, a list of subject, name and entry point; and
`skipped`, a list of subject, name and reason. Every entry point that a case names is replaced by a
function that counts its calls.
"""

import inspect
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyopencl as cl
import pyopencl.invoker
from pyopencl import _cl

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.programs.cases import SUBJECTS
from benchmarks.programs.cases.case import INVOKER, Case
from benchmarks.programs.cases.environment import Environment, UnsupportedError
from cltrace.intercept.hooks.patching import Patch, PatchSet

MODULES: Final = {"pyopencl": cl, "pyopencl._cl": _cl, "pyopencl.invoker": pyopencl.invoker}
CALLS: Final = 2
"""Calls of each case: two, so that cases that alternate call both forms."""


def main() -> None:
    """Run all cases, and report."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    patches = PatchSet()
    patches.install(counting_patches(counts))
    environment = Environment(cl.get_platforms()[0].get_devices()[0], 0)
    missed: list[tuple[str, str, str]] = []
    skipped: list[tuple[str, str, str]] = []
    for subject, cases in SUBJECTS.items():
        for case in cases:
            try:
                calls = counted_calls(case, environment, counts)
            except UnsupportedError as reason:
                skipped.append((subject, case.name, str(reason)))
            else:
                missed += [(subject, case.name, hook) for hook in missed_hooks(case, calls)]
    patches.remove()
    Path(sys.argv[1]).write_text(json.dumps({"missed": missed, "skipped": skipped}))


def counted_calls(case: Case, environment: Environment, counts: Counter[str]) -> set[str]:
    """Return the entry points that the calls of a case go through."""
    loop = case.prepare(environment)
    loop.before(CALLS)
    environment.finish()
    counts.clear()
    results = loop.run(CALLS)
    calls = set(counts)
    environment.finish()
    del results
    return calls


def missed_hooks(case: Case, calls: set[str]) -> Iterator[str]:
    """Yield the entry points that a case names and does not call. Of two copies either may be called."""
    functions = {short_name(name) for name in calls}
    for hook in case.hooks:
        if short_name(hook) not in functions:
            yield hook


def short_name(hook: str) -> str:
    """Return the name of an entry point without its module."""
    return hook.removeprefix("pyopencl._cl.").removeprefix("pyopencl.")


def counting_patches(counts: Counter[str]) -> Iterator[Patch]:
    """Yield patches of all entry points that cases name and that this build of pyopencl has."""
    for hook in named_hooks(case for cases in SUBJECTS.values() for case in cases):
        owner, name = resolve(hook)
        if owner is not None and hasattr(owner, name):
            witness = cl.Event if name == "__init__" else None
            is_static = isinstance(owner, type) and is_static_method(owner, name)
            yield Patch(owner, name, counting(hook, counts, is_static=is_static), witness)


def named_hooks(cases: Iterable[Case]) -> list[str]:
    """Return the names of entry points without repetitions."""
    return list(dict.fromkeys(hook for case in cases for hook in case.hooks))


def resolve(hook: str) -> tuple[Any, str]:
    """Return the owner of an entry point, `None` if this build of pyopencl lacks it, and its name."""
    owner, _, name = hook.rpartition(".")
    return MODULES.get(owner) or getattr(_cl, owner, None) or getattr(cl, owner, None), name


def is_static_method(owner: type, name: str) -> bool:
    """Return whether a method takes no instance. nanobind's static methods are functions."""
    own = inspect.getattr_static(owner, name)
    return isinstance(own, staticmethod) or type(own).__name__ == "nb_func"


def counting(hook: str, counts: Counter[str], *, is_static: bool) -> Callable[[Any], Any]:
    """Return the function that makes the replacement of an entry point."""

    def count_calls(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            counts[hook] += 1
            return original(*args, **kwargs)

        return call

    def wrap(original: Any) -> Any:
        call = count_calls(original)

        def generate(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            # Kernel objects keep the function that launches, so its calls count too.
            enqueue, set_args = call(*args, **kwargs)
            return count_calls(enqueue), set_args

        def read(instance: Any) -> Any:
            counts[hook] += 1
            return original.__get__(instance)

        if hook in INVOKER:
            return generate
        if isinstance(original, property):
            return property(read)
        return staticmethod(call) if is_static else call

    return wrap


if __name__ == "__main__":
    main()
