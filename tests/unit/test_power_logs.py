"""Logs of meters: every form that they come in, and how they get onto a trace's clock."""

import json
import random
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cltrace
from cltrace.errors import PowerError
from cltrace.events.power import SampleFlag, Scope
from cltrace.power.protocol import LogRequest, Sample
from cltrace.power.readers.corsair_csv import CorsairCsvReader
from cltrace.power.readers.log_times import DateOrder, detect_date_order, parse_times
from cltrace.trace.reader import Trace
from tests.conftest import MakeTrace, Runner

AX760I = "15.7.2013 11:36:16,20,7W,89,8766315921014,151,9921875,136,605458408151\n"
MIXTURE = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"


@pytest.fixture
def trace(make_trace: MakeTrace) -> Trace:
    trace: Trace = cltrace.load(make_trace())
    return trace


def read(
    trace: Trace,
    text: str,
    *,
    words: str = "",
    zone: str = "UTC",
    columns: tuple[tuple[str, str], ...] = (),
) -> dict[str, list[Sample]]:
    """The samples of a log by channel."""
    path = trace.path.with_name("log.csv")
    path.write_bytes(text.encode())
    log = CorsairCsvReader(words).read_log(LogRequest(path, trace, zone, columns))
    return {
        one.key.partition(":")[2]: [each for each in log.samples if each.key == one.key]
        for one in log.channels
    }


def at(text: str, zone: str = "UTC") -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
    return int(moment.timestamp()) * 10**9


def test_the_line_of_the_ax760i(trace: Trace) -> None:
    found = read(trace, AX760I * 2 + AX760I.replace("16,20", "18,21"), zone="Europe/Helsinki")
    assert set(found) == {"pcie-supplementary", "power-in", "power-out"}
    assert [one.raw for one in found["power-in"]] == [151_992_188] * 3
    assert [one.raw for one in found["pcie-supplementary"]] == [20_700_000, 20_700_000, 21_700_000]
    begin = at("2013-07-15T11:36:16", "Europe/Helsinki")
    # The second that occurs twice is shared by both.
    times = [one.time_ns - begin for one in found["power-out"]]
    assert times == [0, 500_000_000, 2_000_000_000]
    # What the columns are is right: power out is power in by efficiency.
    assert found["power-out"][0].raw / found["power-in"][0].raw == pytest.approx(0.898766, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "Time;Power (In);Fan\n2026-11-22 10:00:00;151,5 W;900\n2026-11-22 10:00:01;152 W;900\n",
        "Time,Power (In),Fan\n2026-11-22 10:00:00,151.5,900\n2026-11-22 10:00:01,152.0,900\n",
        "Time\tPower (In)\tFan\n22.11.2026 10:00:00\t151,5\t900\n22.11.2026 10:00:01\t152\t900\n",
        "Time;Power (In);\n2026-11-22T10:00:00Z;0,1515 kW;\n2026-11-22T11:00:01+01:00;0,152kW;\n",
        "Time;Power (In)\n11/22/2026 10:00:00 AM;151.5W\n11/22/2026 10:00:01 AM;152W\n",
        "Time;Power (In)\n1795341600;151.5\n1795341601000;152\n",
        "\ufeffTime,Power (In)\n2026-11-22 10:00:00,151,5\n2026-11-22 10:00:01,152,0\n",
    ],
)
def test_forms_of_numbers_and_dates(trace: Trace, text: str) -> None:
    found = read(trace, text)["power-in"]
    assert [one.raw for one in found] == [151_500_000, 152_000_000]
    assert [one.time_ns for one in found] == [at("2026-11-22T10:00:00"), at("2026-11-22T10:00:01")]


def test_thousands_and_what_is_no_number(trace: Trace) -> None:
    text = "Time;Power Out\n" + "".join(
        f"2026-11-22 10:00:{second:02};{value}\n"
        for second, value in enumerate(
            ["1.234,5", "1,234.5", "1 234,5", "-", "", "12.5.3", "7", "8"]
        )
    )
    assert [one.raw / 1e6 for one in read(trace, text)["power-out"]] == [1234.5] * 3 + [7, 8]


@pytest.mark.parametrize(
    ("cell", "watts"),
    [("97700 mW", 97.7), ("0.0977 kW", 97.7), ("97.7 watts", 97.7), ("24 A", None), ("12 V", None)],
)
def test_units_are_minded(trace: Trace, cell: str, watts: float | None) -> None:
    text = f"Time;Power (In)\n2026-11-22 10:00:00;{cell}\n2026-11-22 10:00:01;{cell}\n"
    if watts is None:
        with pytest.raises(PowerError, match="no line has a time and a power"):
            read(trace, text)
    else:
        (found,) = read(trace, text).values()
        assert [one.raw * 1e-6 for one in found] == pytest.approx([watts, watts])


def test_columns_can_be_named(trace: Trace) -> None:
    text = "when;left;right\n2026-11-22 10:00:00;1;2\n"
    with pytest.raises(
        PowerError, match="no column looks like power; there are: when, left, right"
    ):
        read(trace, text)
    found = read(trace, text, columns=(("right", "psu"),))
    assert [one.raw for one in found["right"]] == [2_000_000]
    for wrong in (("middle", "psu"), ("left", "moon")):
        with pytest.raises(PowerError, match="--column"):
            read(trace, text, columns=(wrong,))


def test_an_ambiguous_date_is_asked_for(trace: Trace) -> None:
    text = "Time;Power In\n03/04/2026 10:00:00;5\n"
    with pytest.raises(PowerError, match="corsair-csv:dmy or corsair-csv:mdy"):
        read(trace, text)
    (american,) = read(trace, text, words="mdy")["power-in"]
    (european,) = read(trace, text, words="dmy")["power-in"]
    assert american.time_ns == at("2026-03-04T10:00:00")
    assert european.time_ns == at("2026-04-03T10:00:00")
    with pytest.raises(PowerError, match="dmy or mdy"):
        read(trace, text, words="ymd")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "Time;Power In\n", "a;b\nc;d\ne;f\n", "\x00\x01\x02" * 50]
)
def test_what_is_no_log_is_refused(trace: Trace, text: str) -> None:
    with pytest.raises(PowerError):
        read(trace, text)
    with pytest.raises(PowerError, match="cannot be read"):
        CorsairCsvReader().read_log(LogRequest(trace.path.with_name("none.csv"), trace))


def test_few_wrong_lines_are_said_and_many_refused(trace: Trace) -> None:
    said: list[str] = []
    path = trace.path.with_name("log.csv")
    good = "".join(f"2026-11-22 10:00:{second:02};5\n" for second in range(20))
    path.write_text("Time;Power In\n" + good + "lost;connection;again\n")
    log = CorsairCsvReader().read_log(LogRequest(path, trace, warn=said.append))
    assert len(log.samples) == 20
    assert "1 lines cannot be read" in said[0]
    path.write_text("Time;Power In\n2026-11-22 10:00:00;5\n" + "lost;connection;again\n" * 9)
    with pytest.raises(PowerError, match="9 of 10 lines cannot be read"):
        CorsairCsvReader().read_log(LogRequest(path, trace))


def local(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def test_the_hour_that_comes_twice() -> None:
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    moments = [begin + timedelta(minutes=10 * step) for step in range(12)]
    found = parse_times(
        [local(one.astimezone(zone)) for one in moments], DateOrder.DAY, "Europe/Berlin"
    )
    assert [one // 10**9 for one in found.times_ns if one] == [
        int(one.timestamp()) for one in moments
    ]
    assert not any(found.is_doubtful)
    assert not found.nonexistent_count


def test_the_hour_that_does_not_exist_is_said() -> None:
    texts = ["2026-03-29 01:59:59", "2026-03-29 02:30:00", "2026-03-29 03:30:00"]
    assert parse_times(texts, DateOrder.DAY, "Europe/Berlin").nonexistent_count == 1
    assert parse_times(texts, DateOrder.DAY, "UTC").nonexistent_count == 0
    with pytest.raises(PowerError, match="Mars/Crater"):
        parse_times(texts, DateOrder.DAY, "Mars/Crater")


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=40))
def test_times_ascend_or_are_doubtful(seconds: list[int]) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    texts = [local(begin + timedelta(seconds=one)) for one in seconds]
    found = parse_times(texts, DateOrder.DAY, "UTC")
    kept = [
        time
        for time, doubt in zip(found.times_ns, found.is_doubtful, strict=True)
        if not doubt and time
    ]
    assert kept == sorted(set(kept))
    assert not found.unreadable_count


def test_a_date_with_dots_has_the_day_first() -> None:
    assert detect_date_order(["1.2.2026 10:00:00"]) is DateOrder.DAY
    assert detect_date_order(["2026-01-02 10:00:00"]) is DateOrder.DAY
    assert detect_date_order(["1/13/2026 10:00:00"]) is DateOrder.MONTH


def psu_log(path: Path, late_s: float) -> None:
    """What a supply would have logged beside the recorded mixture, once a second and so much too late."""
    with cltrace.load(MIXTURE) as trace:
        samples = trace.columns(
            {"at": "host_ns", "raw": "raw"}, "v_power WHERE power_w IS NOT NULL ORDER BY host_ns"
        )
        started, origin = trace.meta_int("started_realtime_ns"), trace.meta_int("origin_host_ns")
    assert started is not None
    assert origin is not None
    at_s = (samples["at"] - origin) * 1e-9
    lines = ["Time;Power Out"]
    for second in range(1, int(at_s[-1])):
        inside = (at_s > second - 1) & (at_s <= second)
        power = 80 + float(samples["raw"][inside].mean()) / 1000
        moment = datetime.fromtimestamp(started * 1e-9 + second + late_s, UTC)
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S.%f};{power:.1f} W")
    path.write_text("\n".join(lines) + "\n")


def test_a_log_is_put_onto_the_traces_clock(run: Runner, tmp_path: Path) -> None:
    target, log = tmp_path / "t.cltrace", tmp_path / "psu.csv"
    shutil.copy(MIXTURE, target)
    psu_log(log, 3.4)
    done = run("power", "import", target, log)
    assert done.status == 0, done.stderr
    with cltrace.load(target) as trace:
        ((offset, within, source),) = trace.rows(
            "SELECT offset_ns, offset_within_ns, source FROM v_power_channel WHERE offset_ns IS NOT NULL"
        )
        # A sample of a second is late by none: its window ends at its time.
        assert abs(offset * 1e-9 + 3.4) < max(within * 1e-9, 0.1)
        assert within * 1e-9 < 0.5
        assert source == str(log)
        assert trace.rows("SELECT count(*) FROM v_command")[0][0] == 8150
    shown = run("summary", target, "--format", "json")
    sensors = {row["sensor"]: row for row in json.loads(shown.stdout)["energy_balance"]}
    assert set(sensors) == {"NVIDIA H200 power", "Power Out"}
    again = run("power", "import", target, log)
    assert again.status == 0
    with cltrace.load(target) as trace:
        assert trace.rows("SELECT count(*) FROM v_power_channel")[0][0] == 3


def test_a_log_that_shows_nothing_is_refused_unless_its_offset_is_said(
    run: Runner, tmp_path: Path
) -> None:
    target, log = tmp_path / "t.cltrace", tmp_path / "psu.csv"
    shutil.copy(MIXTURE, target)
    psu_log(log, 0.0)
    lines = log.read_text().splitlines()
    chooser = np.random.default_rng(1)
    flat = [f"{one.partition(';')[0]};{200 + chooser.normal():.1f}" for one in lines[1:]]
    log.write_text("\n".join([lines[0], *flat]) + "\n")
    before = target.read_bytes()
    done = run("power", "import", target, log)
    assert done.status == 2
    assert "its offset cannot be determined" in done.stderr
    assert target.read_bytes() == before
    for seed in (1, 5, 9):
        noise = random.Random(seed)
        flat = [f"{one.partition(';')[0]};{100 + noise.gauss(0, 1):.2f}" for one in lines[1:]]
        log.write_text("\n".join([lines[0], *flat]) + "\n")
        assert run("power", "import", target, log).status == 2
    for wrong in ("nan", "inf", "1e30"):
        done = run("power", "import", target, log, "--offset", wrong)
        assert done.status == 2
        assert "is no number of seconds" in done.stderr
    assert run("power", "import", target, log, "--offset", "0.5").status == 0
    far = run("power", "import", target, log, "--tz", "Asia/Tokyo")
    assert far.status == 2
    assert "check --tz" in far.stderr


def test_replay_of_lines_and_of_a_trace(run: Runner, tmp_path: Path) -> None:
    target, lines = tmp_path / "t.cltrace", tmp_path / "meter.txt"
    shutil.copy(MIXTURE, target)
    with cltrace.load(MIXTURE) as trace:
        started, origin = trace.meta_int("started_realtime_ns"), trace.meta_int("origin_host_ns")
        rows = trace.rows(
            "SELECT host_ns, power_w FROM v_power WHERE power_w IS NOT NULL ORDER BY 1"
        )
    assert started is not None
    assert origin is not None
    text = "".join(f"{(at - origin + started) // 1000} {watts:.3f} a\n" for at, watts in rows)
    lines.write_text("# channel a scope=gpu\n" + text)
    assert run("power", "import", target, lines, "--reader", "replay").status == 0
    assert run("power", "import", target, MIXTURE, "--reader", "replay").status == 0
    with cltrace.load(target) as trace:
        late = trace.rows("SELECT key, offset_ns FROM v_power_channel WHERE offset_ns IS NOT NULL")
    assert len(late) == 3
    assert all(abs(offset) < 30_000_000 for _, offset in late)


def test_replay_of_several_machines_is_refused(run: Runner, tmp_path: Path) -> None:
    target, other = tmp_path / "t.cltrace", tmp_path / "two.cltrace"
    shutil.copy(MIXTURE, target)
    shutil.copy(MIXTURE, other)
    with sqlite3.connect(other) as database:
        database.execute("INSERT INTO process SELECT id + 1, 'node2', pid, parent_pid, rank, argv, "
                         "working_directory, executable, python_version, pyopencl_version, environment, "
                         "started_host_ns, ended_host_ns, ended_how, hook_calls, hook_ns, reader_cpu_ns, "
                         "event_waits, event_wait_ns, unread_events_peak, commands_skipped, "
                         "memory_peak_bytes, memory_peak_host_ns FROM process LIMIT 1")  # fmt: skip
    database.close()
    done = run("power", "import", target, other, "--reader", "replay")
    assert done.status == 2
    assert "is of 2 machines" in done.stderr


def test_import_into_an_older_trace_and_beside_it(run: Runner, tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "golden" / "schema-1.cltrace"
    target = tmp_path / "new.cltrace"
    words = ("power", "import", old, "--reader", "sim:seed=2,period_s=0.001", "-o", target)
    assert run(*words).status == 0
    with cltrace.load(target) as trace:
        assert trace.rows("SELECT count(*) FROM v_power")[0][0] > 10
    refused = run(*words)
    assert refused.status == 2
    assert "exists already" in refused.stderr
    assert run(*words, "-f").status == 0
    assert "name the log" in run("power", "import", old).stderr
    assert "does not understand" not in run("power", "import", old, "--reader", "sim:x=1").stderr
    assert run("power", "import", old, "--reader", "sim:x=1").status == 2


def test_doubtful_samples_are_left_out_of_what_is_told() -> None:
    assert int(SampleFlag.DOUBTFUL) == 4
    assert Scope("psu") is Scope.PSU


def test_a_log_without_readings_is_refused(run: Runner, make_trace: MakeTrace) -> None:
    trace = make_trace()
    log = trace.with_name("log.txt")
    log.write_text("# channel a scope=gpu unit=W\n")
    done = run(
        "power", "import", trace, log, "--reader", "replay", "--offset", "0", "-o", "p.cltrace"
    )
    assert (done.status, done.stdout) == (2, "")
    assert "the log has no readings" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "9023-11-14 22:13:00",
        "9999-12-31 23:59:59",
        "1970-01-01 00:00:00+14:00",
        "9223372036854775808",
        "14.11.2262 10:00:00",
        f"14.11.{9 * 10**18} 10:00:00",
        f"14.11.2023 {'1' * 5000}:00:00",
        f"14.11.{'1' * 5000} 10:00:00",
    ],
)
def test_times_that_exceed_a_trace_are_left_out(text: str) -> None:
    assert parse_times([text], DateOrder.DAY, "Pacific/Apia").times_ns == (None,)
