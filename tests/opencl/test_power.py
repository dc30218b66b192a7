"""Power beside real programs: nothing of theirs changes, and their work's energy is told."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

import cltrace
from cltrace.power.energy import energy_of
from tests.conftest import PROGRAMS, Runner
from tests.patience import holds_at_some_pace

pytestmark = pytest.mark.opencl

TICK = PROGRAMS / "tick.py"
METER = """\
#!{python}
import sys, time
if "-c" in sys.argv:
    sys.exit(0)
print("# channel cpu unit=W scope=cpu period_s=0.01", flush=True)
while True:
    print(int(time.time() * 1e6), 40.5, "cpu", flush=True)
    time.sleep(0.01)
"""


@pytest.fixture
def meter(tmp_path: Path) -> str:
    """A meter that always tells 40.5 W."""
    path = tmp_path / "meter"
    path.write_text(METER.format(python=sys.executable))
    path.chmod(0o755)
    return f"exec:{path}"


def test_a_program_with_power_is_the_same_program(run: Runner, tmp_path: Path, meter: str) -> None:
    words = (sys.executable, TICK, "a")
    plain = run("run", "-q", "-o", "a.cltrace", "--", *words)
    done = run("run", "-q", "--power", meter, "-o", "b.cltrace", "--", *words)
    assert done.status == plain.status
    assert done.stdout == plain.stdout
    assert done.stderr == plain.stderr
    with cltrace.load(tmp_path / "b.cltrace") as trace:
        ((count, least, most),) = trace.rows(
            "SELECT count(*), min(power_w), max(power_w) FROM v_power"
        )
        assert count > 20
        assert least == most == 40.5
        ended = trace.meta_int("ended_host_ns")
        assert trace.rows("SELECT max(host_ns) FROM v_power")[0][0] > (ended or 0)
        ((state, asked),) = trace.rows("SELECT state, asked_period_s FROM v_power_probe")
        assert (state, asked) == ("ok", 0.1)
    assert not list(tmp_path.glob("*.parts"))


def test_a_summary_tells_joules_and_what_is_unresolved(run: Runner, meter: str) -> None:
    done = run("run", "--power", meter, "-o", "b.cltrace", "--", sys.executable, TICK)
    assert "energy" in done.stderr
    shown = json.loads(run("summary", "b.cltrace", "--format", "json").stdout)
    assert "GPU unresolved (no sensor)" in run("summary", "b.cltrace").stdout
    (balance,) = shown["energy_balance"]
    seconds = balance["measured_j"] / 40.5
    assert 0.5 < seconds < 60
    kernels = [row for row in shown["energy"] if row["name"] == "tick"]
    assert kernels
    assert all(row["energy_j"] is None or row["energy_j"] > 0 for row in kernels)


def test_no_sensor_is_said_and_all_else_is_told(run: Runner) -> None:
    done = run(
        "run", "--power", "exec:/nowhere/meter", "-o", "b.cltrace", "--", sys.executable, TICK
    )
    assert done.status == 0
    assert "no power from exec (absent): /nowhere/meter was not found" in done.stderr
    shown = run("summary", "b.cltrace")
    assert "no reader was available, because exec is absent" in " ".join(shown.stdout.split())
    assert "tick" in shown.stdout


def test_a_reader_that_there_is_not_is_refused_before_the_program(
    run: Runner, tmp_path: Path
) -> None:
    done = run("run", "--power", "wall", "--", sys.executable, "-c", "open('ran', 'w')")
    assert done.status == 125
    assert "there is no power reader 'wall'" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert run("run", "--power", "sim", "--", "true").status == 125
    assert run("run", "--power-period", "0", "--", "true").status == 125


def test_a_meter_that_dies_is_told_and_harms_nothing(run: Runner, tmp_path: Path) -> None:
    dying = tmp_path / "dying"
    body = "[ $1 = -c ] && exit 0; echo $(date +%s%6N) 2 a; echo overheated >&2; exit 9"
    dying.write_text(f"#!/bin/sh\n{body}\n")
    dying.chmod(0o755)
    done = run("run", "--power", f"exec:{dying}", "-o", "b.cltrace", "--", sys.executable, TICK)
    assert done.status == 0
    assert "power reader exec was dropped: PowerError" in done.stderr
    assert "overheated" in done.stderr
    with cltrace.load(tmp_path / "b.cltrace") as trace:
        # What it read before is kept.
        assert trace.rows("SELECT count(*) FROM v_power")[0][0] == 1


def test_a_killed_program_has_its_power_and_its_end(
    run: Runner, tmp_path: Path, meter: str
) -> None:
    # It is killed once the parent has read some power, of whatever speed the machine is.
    code = (
        f"exec(open({str(TICK)!r}).read()); import os, time; from pathlib import Path\n"
        "samples = Path('b.cltrace.parts/power/power_samples.rows')\n"
        "while not samples.exists() or samples.stat().st_size < 2000: time.sleep(0.01)\n"
        "os.kill(os.getpid(), 9)"
    )
    begin = time.monotonic()
    done = run("run", "-q", "--power", meter, "--power-tail", "600", "-o", "b.cltrace", "-c", code)
    assert done.status == -9
    assert time.monotonic() - begin < 500
    with cltrace.load(tmp_path / "b.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_power")[0][0] > 10


def test_ranks_of_a_host_read_a_sensor_once(run: Runner, tmp_path: Path, meter: str) -> None:
    """Two ranks of one job, and a process that is none."""
    children = (
        "import os, subprocess, sys\n"
        "made = []\n"
        "for rank in (0, 1):\n"
        f"    words = [sys.executable, '-m', 'cltrace', 'run', '-q', '--power', {meter!r}, '-o',\n"
        f"             f'{{rank}}.cltrace', '--', sys.executable, {str(TICK)!r}]\n"
        "    made.append(subprocess.Popen(words, env={**os.environ, 'PMI_RANK': str(rank)}))\n"
        "print([one.wait() for one in made])\n"
    )
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    done = run("-c", children, command=(sys.executable,), env=env)
    assert done.stdout.strip().endswith("[0, 0]"), done.stderr
    assert run("merge", "-o", "all.cltrace", "0.cltrace", "1.cltrace").status == 0
    said = []
    for rank in (0, 1):
        with cltrace.load(tmp_path / f"{rank}.cltrace") as trace:
            said += [str(one) for (one,) in trace.rows("SELECT evidence FROM v_power_probe")]
    assert len(said) == 2
    shown = json.loads(run("summary", "all.cltrace", "--format", "json").stdout)
    assert len(shown["energy_balance"]) == 1
    assert not list(tmp_path.glob("*.lock"))
    assert os.environ.get("PMI_RANK") is None


def test_a_block_reads_power_in_a_thread(run: Runner, tmp_path: Path, meter: str) -> None:
    holds_at_some_pace(lambda pace: block_reads_power(run, tmp_path, meter, pace))


def block_reads_power(run: Runner, tmp_path: Path, meter: str, pace: float) -> None:
    path = tmp_path / f"{pace:g}.cltrace"
    code = (
        "import cltrace, runpy, sys, time\n"
        f"sys.argv = ['tick']\n"
        f"with cltrace.trace({str(path)!r}, power=({meter!r},)):\n"
        f"    runpy.run_path({str(TICK)!r}, run_name='__main__')\n"
        f"    time.sleep({0.4 * pace})\n"
    )
    done = run("-c", code, command=(sys.executable,))
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_power")[0][0] > 20
        assert trace.rows("SELECT count(*) FROM v_command")[0][0] > 0


def advance_counters(tree: Path, ended: threading.Event) -> None:
    """Count 30 W and 5 W into a made-up powercap tree until `ended`."""
    begin = time.perf_counter()
    zones = {"intel-rapl:0": 30, "intel-rapl:0:0": 5}
    files = {(tree / name / "energy_uj").open("r+b"): watts for name, watts in zones.items()}
    while not ended.is_set():
        elapsed_s = time.perf_counter() - begin
        for file, watts in files.items():
            energy_uj = int(29_970_000_000 + watts * 1e6 * elapsed_s) % 30_000_000_000
            # A counter is there at every moment, as the kernel's is.
            os.pwrite(file.fileno(), f"{energy_uj:011}".encode(), 0)
        time.sleep(0.002)
    for file in files:
        file.close()


def test_the_energy_of_a_processor_by_made_up_rapl(run: Runner, tmp_path: Path) -> None:
    """A package that draws 30 W and its memory that draws 5 W, whose counters wrap meanwhile."""
    holds_at_some_pace(lambda pace: energy_by_made_up_rapl(run, tmp_path / f"{pace:g}", pace))


def energy_by_made_up_rapl(run: Runner, folder: Path, pace: float) -> None:
    tree, ended = folder / "powercap", threading.Event()
    for name, label in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "dram")):
        (tree / name).mkdir(parents=True)
        (tree / name / "name").write_text(label)
        (tree / name / "energy_uj").write_text("29970000000")
        (tree / name / "max_energy_range_uj").write_text("30000000000")

    thread = threading.Thread(target=advance_counters, args=(tree, ended))
    thread.start()
    code = f"exec(open({str(TICK)!r}).read()); import time; time.sleep({2 * pace})"
    done = run("run", "-q", "--power", f"rapl:{tree}", "-o", folder / "b.cltrace", "-c", code)
    ended.set()
    thread.join()
    assert done.status == 0, done.stderr
    with cltrace.load(folder / "b.cltrace") as trace:
        found = energy_of(trace)
    watts = {one.channel.key: one.energy_j / one.covered_s for one in found.all_sources}
    assert watts["rapl:package-0"] == pytest.approx(30, rel=0.05)
    assert watts["rapl:package-0-dram"] == pytest.approx(5, rel=0.05)
    assert {one.component for one in found.all_sources} == {"CPU"}
    seconds = max(one.covered_s for one in found.all_sources)
    assert found.total_j == pytest.approx(35 * seconds, rel=0.06)


def test_a_simulated_sensor_on_a_real_trace_is_told_apart(run: Runner, tmp_path: Path) -> None:
    """End to end: a real program's events, made-up watts, and the joules that were put in."""
    program = Path(__file__).parents[2] / "benchmarks" / "programs" / "mixture.py"
    # Every kernel takes a millisecond or more: for less a sensor of 20 ms tells less surely.
    sizes = ("--items", "1048576", "--trips", "25")

    def check(pace: float) -> None:
        words = ("run", "-q", "-f", "-o", "m.cltrace", "--", sys.executable, program, *sizes)
        assert run(*words, "--seconds", f"{9 * pace:g}").status == 0
        assert run("power", "import", "m.cltrace", "--reader", "sim:seed=4").status == 0
        check_told_apart(tmp_path / "m.cltrace")

    # Where others use the processor, the program launches less in a second.
    holds_at_some_pace(check)


def check_told_apart(path: Path) -> None:
    """Check the energies of a trace's kernels against those of the simulation."""
    with cltrace.load(path) as trace:
        from cltrace.power.readers.sim import parse_plan, simulate  # noqa: PLC0415 - beside its use

        found = energy_of(trace)
        _, truth = simulate(trace, parse_plan("seed=4"))
    energies = {
        load.name: dynamic + static
        for load, dynamic, static in zip(truth.loads, truth.dynamic_j, truth.static_j, strict=True)
    }
    told = [
        line for line in found.lines if line.energy_j is not None and line.load.name in energies
    ]
    names = {line.load.name for line in told}
    assert names >= {"chain", "whole", "stream", "gather", "double_chain"}
    for line in told:
        assert line.energy_j == pytest.approx(energies[line.load.name], rel=0.05)
    (source,) = found.sources
    assert source.attribution is not None
    balance = source.attribution.balance
    assert abs(balance.unattributed_j) < 0.02 * balance.measured_j
    assert balance.measured_j == pytest.approx(truth.total_j, rel=0.02)
