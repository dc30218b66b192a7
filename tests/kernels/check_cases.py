"""Print how each case's oracles agree with the numpy reference.

python -m tests.kernels.check_cases [--only WORD] [--vendor PLATFORM=LIBRARY]
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.oclgrind import Run, environment, run_apart
from tests.kernels.run_device import INTEL, OCLGRIND, POCL

# Oclgrind lacks intrinsics that its optimiser makes (llvm.fshl).
OPTIONS = {OCLGRIND: "-cl-opt-disable"}
SHORT = {POCL: "pocl", OCLGRIND: "oclgrind", INTEL: "intel"}


def stated_wrong(case: Case, oracle: str) -> str:
    wrong = {
        "pocl": case.pocl_wrong, "oclgrind": case.oclgrind_wrong, "intel": case.intel_wrong,
    }  # fmt: skip
    return wrong.get(oracle, "")


def verdict(case: Case, oracle: str, run: Run) -> tuple[str, str]:
    """A word and, where the case does not state it, what is the matter."""
    unsupported = oracle in case.unsupported_by
    stated = stated_wrong(case, oracle)
    if case.name in run.errors:
        return ("unsupported", "") if unsupported else ("FAILS", run.errors[case.name])
    if case.name not in run.found:
        return "ABSENT", "no result"
    difference = case.disagreement(run.found[case.name])
    if stated:
        return ("wrong, stated", "") if difference else ("agrees here", "")
    if unsupported:
        return ("unsupported", "") if difference else ("SUPPORTED", "it agrees")
    return ("DIFFERS", difference) if difference else ("agrees", "")


def report(cases: Sequence[Case], runs: dict[str, Run]) -> int:
    """Print the table; the number of unexplained disagreements."""
    bad = 0
    for case in cases:
        words = []
        details = []
        for oracle, run in runs.items():
            word, detail = verdict(case, oracle, run)
            words.append(f"{word:14}")
            if detail:
                bad += 1
                details.append(f"    {oracle}: {detail[:300]}\n")
        sys.stdout.write(f"{case.name:32} {' '.join(words)}\n{''.join(details)}")
    sys.stdout.write(f"{len(cases)} cases, {bad} unexplained\n")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name or family has this")
    parser.add_argument("--vendor", action="append", default=[], metavar="PLATFORM=LIBRARY")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only in case.name or given.only in case.family]
    environments = {POCL: dict(os.environ), OCLGRIND: environment()}
    for vendor in given.vendor:
        platform, library = vendor.split("=")
        environments[platform] = environment(Path(library))
    runs = {
        SHORT.get(platform, platform): run_apart(
            cases, platform, variables, OPTIONS.get(platform, "")
        )
        for platform, variables in environments.items()
    }
    sys.stdout.write(f"{'case':32} {' '.join(f'{name:14}' for name in runs)}\n")
    return 1 if report(cases, runs) else 0


if __name__ == "__main__":
    sys.exit(main())
