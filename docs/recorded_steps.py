"""Commands whose output the README, the tutorial and the guides show, for `record.py`."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a page. `steady` texts must be in the page and in every run, `absent` ones in none.

    The block shows the lines from the first that begins with `first` to the one before `last`;
    empty texts stand for all lines. Texts are compared with single spaces.
    """

    name: str
    command: str
    status: int = 0
    first: str = ""
    last: str = ""
    steady: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


PAGES: Final = {
    "README": (
        Step(
            name="run",
            command="cltrace run -o slow.cltrace python heat.py",
            last="Kernels",
            steady=("after 20 steps: hottest 100.00, mean 3.8147", "device busy", "% of wall"),
        ),
        Step(
            name="advice",
            command="cltrace timeline slow.cltrace",
            first="1  ",
            last="2  ",
            steady=("[rebuilt-program]", "where heat.py:30", "20 builds"),
        ),
        Step(
            name="fixed",
            command="cltrace run -o fixed.cltrace python heat_fixed.py",
            last="device clock",
            steady=("after 20 steps: hottest 100.00, mean 3.8147", "device busy", "% of wall"),
        ),
        Step(
            name="proof",
            command="cltrace bench --pairs 6 --max-pairs 6 --vs 'python heat.py'"
            " -- python heat_fixed.py",
            first="verdict",
            last="Time of kernels",
            steady=("4 counters are lower", "builds all 20 1 LESS"),
            absent=("MORE",),
        ),
    ),
    "tutorial": (
        Step(
            name="run",
            command="cltrace run -o slow.cltrace python heat.py",
            first="after",
            last="First launches",
            steady=("after 20 steps: hottest 100.00, mean 3.8147", "spread 20"),
        ),
        Step(
            name="advice",
            command="cltrace timeline --all slow.cltrace",
            first="Advice",
            last="MainThread",
            steady=(
                "[rebuilt-program]",
                "where heat.py:30",
                "20 builds",
                "[redundant-transfer]",
                "where heat.py:42",
                "[pageable-copy]",
            ),
        ),
        Step(
            name="fix",
            command="diff -U 0 heat.py heat_fixed.py",
            status=1,
            first="@@ -2",
            steady=("+kernel = cl.Program(context, SOURCE).build().spread",),
        ),
        Step(
            name="rerun",
            command="cltrace run --no-summary -o fixed.cltrace python heat_fixed.py",
            steady=("after 20 steps: hottest 100.00, mean 3.8147",),
        ),
        Step(
            name="clean",
            command="cltrace timeline --all fixed.cltrace",
            first="command",
            last="MainThread",
            steady=("command python heat_fixed.py", "ended exited 0 after"),
            absent=("[rebuilt-program]", "[redundant-transfer]", "[pageable-copy]", "[host-gap]"),
        ),
        Step(
            name="proof",
            command="cltrace bench --pairs 6 --max-pairs 6 --vs 'python heat.py' -o pairs.json"
            " -- python heat_fixed.py",
            first="verdict",
            steady=(
                "4 counters are lower",
                "builds all 20 1 LESS",
                "transfers from device 40 0 LESS",
            ),
            absent=("MORE",),
        ),
        Step(
            name="samples",
            command="cltrace bench --pairs 3 -o main.json -- python heat_fixed.py",
        ),
        Step(name="baseline", command="cltrace baseline save main main.json"),
        Step(
            name="pull",
            command="cltrace bench --pairs 3 -o head.json -- python heat.py",
        ),
        Step(
            name="gate",
            command="cltrace check head.json --baseline main",
            status=1,
            last="note",
            steady=(
                "outcome regression: a counter or the work of a kernel is higher",
                "builds all 1 20 MORE",
                "transfers from device 0 40 MORE",
            ),
        ),
    ),
    "guides/slow-program": (
        Step(
            name="run",
            command="cltrace run -o slow.cltrace python heat.py",
            first="command",
            last="Kernels",
            steady=("command python heat.py", "device busy", "% of wall"),
        ),
        Step(
            name="advice",
            command="cltrace timeline slow.cltrace",
            first="Advice",
            last="2  ",
            steady=("[rebuilt-program]", "where heat.py:30"),
        ),
        Step(
            name="lines",
            command="cltrace summary slow.cltrace --by callsite",
            first="Host and device",
            steady=("Host and device time by callsite", "heat.py:30 60", "heat.py:36 40"),
        ),
    ),
    "guides/kernel-quality": (
        Step(name="run", command="cltrace run --no-summary -o app.cltrace python heat_fixed.py"),
        Step(
            name="counts",
            command="cltrace kernel app.cltrace --kernel spread --profile nvidia-h200",
            first="spread",
            last="Cost types",
            steady=(
                "active lanes 100.0% of a warp's",
                "occupancy 2,048 work-items per compute unit",
            ),
        ),
        Step(
            name="limits",
            command="cltrace predict app.cltrace --profile nvidia-h200",
            first="Parts",
            last="Cost types",
            steady=("idle device", "launch", "L2"),
        ),
    ),
    "guides/another-gpu": (
        Step(name="run", command="cltrace run --no-summary -o app.cltrace python heat.py"),
        Step(
            name="profiles",
            command="cltrace profile list",
            first="Profiles",
            steady=("nvidia-h200 NVIDIA H200",),
        ),
        Step(
            name="predict",
            command="cltrace predict app.cltrace --profile nvidia-h200",
            first="predicted",
            last="Parts",
            steady=("predicted for NVIDIA H200", "foreign profile", "limited by", "from device"),
        ),
    ),
    "guides/energy": (
        Step(
            name="readers",
            command="cltrace power list",
            first="Readers",
            last="What",
            steady=("nvml live", "rapl live", "replay log ok"),
        ),
        Step(
            name="energy",
            command="cltrace summary mixture.cltrace",
            first="Energy of",
            last="Where",
            steady=("whole 556 J 25.6 J 405 J 491 mJ 460 W regressed", "stream –", "unresolved"),
        ),
    ),
    "guides/continuous-integration": (
        Step(name="first", command="cltrace run --no-summary -o main.cltrace python heat_fixed.py"),
        Step(name="second", command="cltrace run --no-summary -o branch.cltrace python heat.py"),
        Step(
            name="gate",
            command="cltrace check branch.cltrace main.cltrace",
            status=1,
            steady=(
                "outcome regression: a counter or the work of a kernel is higher",
                "builds all 1 20 MORE",
            ),
        ),
        Step(
            name="allowed",
            command="cltrace check branch.cltrace main.cltrace --allow builds"
            " --allow 'blocking calls*' --allow 'bytes*' --allow 'transfers*'",
            first="outcome",
            last="basis",
            steady=("outcome passed",),
        ),
    ),
}
"""Pages with the commands that make their blocks, in order. A page's commands share a directory."""
