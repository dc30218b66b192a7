"""The four faults of docs/explore.md, made from its kernel, and the numbers that it states."""

import re
from pathlib import Path

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.report.kernel_events import EventAnalysis, analyse_events

PAGE = Path(__file__).parents[2] / "docs" / "explore.md"
HALVING = "for (int s = 32; s > 0; s /= 2)"
DOUBLING = "for (int s = 1; s < 64; s *= 2)"
BARRIER = "        barrier(CLK_LOCAL_MEM_FENCE);\n    }"


def sound_kernel() -> str:
    lines = PAGE.read_text(encoding="utf-8").partition("## Four faults")[2].splitlines()
    block = [line[4:] for line in lines if line.startswith("    ") or not line]
    return "\n".join(block[block.index(next(line for line in block if "__kernel" in line)) :])


def analyse(source: str) -> EventAnalysis:
    contents = np.ones(1024, np.float32)
    arguments: list[Argument] = [BufferArgument(4096, contents), BufferArgument(4096)]
    return analyse_events(
        record_events(KernelLaunch(parse(source), "total", (1024,), (64,), arguments))
    )


def divergent_warps(analysis: EventAnalysis) -> int:
    return sum(len(proxy.warps) for proxy in analysis.proxies if proxy.is_divergent)


def rounds_of_loop(analysis: EventAnalysis) -> float:
    return max(float(row.bank_cycles.mean()) for row in analysis.accesses)


def test_the_sound_kernel_has_no_fault() -> None:
    analysis = analyse(sound_kernel())
    assert divergent_warps(analysis) == 16
    assert (rounds_of_loop(analysis), list(analysis.races), list(analysis.barriers)) == (1, [], [])


def test_every_second_work_item_idles() -> None:
    source = (
        sound_kernel().replace(HALVING, DOUBLING).replace("if (l < s)", "if (l % (2 * s) == 0)")
    )
    analysis = analyse(source)
    assert divergent_warps(analysis) == 32
    assert analysis.proxies[0].shares[0].items == 16
    assert len(analysis.proxies[0].shares) == 6


def test_banks_conflict() -> None:
    body = "const int at = 2 * s * l; if (at < 64) sums[at] += sums[at + s];"
    source = sound_kernel().replace(HALVING, DOUBLING).replace("if (l < s)", body)
    analysis = analyse(source.replace("            sums[l] += sums[l + s];\n", ""))
    assert divergent_warps(analysis) == 16
    assert rounds_of_loop(analysis) == pytest.approx(1.83, abs=0.005)


def test_the_sum_races_without_its_barrier() -> None:
    source = sound_kernel()
    analysis = analyse(source.replace(BARRIER, "    }"))
    line = source.splitlines().index("            sums[l] += sums[l + s];") + 1
    sites = analysis.events.sites
    assert {sites[number].line for race in analysis.races for number in race.sites} == {line}
    assert int(analysis.events.accesses.epoch.max()) + 1 == 2
    assert int(analyse(source).events.accesses.epoch.max()) + 1 == 8


def test_half_of_a_group_reaches_the_barrier() -> None:
    source = re.sub(
        r"(s /= 2\) \{)(.*?)(\n    \})", r"\1 if (l < 32) {\2 }\3", sound_kernel(), flags=re.DOTALL
    )
    (barrier, *_) = analyse(source).barriers
    assert (barrier.arrived, barrier.items, barrier.groups) == (32, 64, 16)
