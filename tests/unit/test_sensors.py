"""What sensors are like, from recorded readings of an H200."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltrace.events.power import PowerChannel
from cltrace.power.characterise import SENSORS, Phase, characterise_channels, to_parameters
from cltrace.power.metering import MeteredChannel
from cltrace.power.stored_readings import read_readings
from cltrace.profile import load_profile

DATA = Path(__file__).parents[1] / "data"
COLUMNS = ("time_ns", "within_ns", "raw", "flags")


def probe() -> tuple[list[MeteredChannel], list[Phase]]:
    """The recorded probe as channels and phases. When its square waves were on is not known."""
    stored = json.loads(gzip.decompress((DATA / "h200-power-probe.json.gz").read_bytes()))
    poll, ring = np.array(stored["poll"], np.int64), np.array(stored["ring"], np.int64)
    to_host = int(np.median(ring[:, 3] - ring[:, 2]))
    zeros = np.zeros(len(poll), np.int64)
    words = ("h200", "nvml", "board")
    counter = PowerChannel(
        id=1,
        host=words[0],
        key="energy",
        reader=words[1],
        label=words[2],
        quantity="energy",
        scope="gpu",
        unit_per_step=1e-3,
        quantum=1e-3,
        period_s=0.1,
    )
    meter = replace(counter, id=2, key="ring", quantity="power", window_s=0.02)
    channels = [
        MeteredChannel(
            counter, poll[:, :2].sum(1) // 2, np.diff(poll[:, :2])[:, 0] // 2, poll[:, 2], zeros
        ),
        MeteredChannel(
            meter, ring[:, 0] * 1000 + to_host, zeros[: len(ring)], ring[:, 1], zeros[: len(ring)]
        ),
    ]
    names = [name for name, _ in stored["phases"]]
    begins = [begin for _, begin in stored["phases"]]
    ends = [*begins[1:], int(poll[-1, 1])]
    phases = []
    for name, begin, end in zip(names, begins, ends, strict=True):
        on: list[tuple[int, int]] = [(begin, end)] if name == "load" else []
        phases.append(Phase(name.removesuffix("0"), begin, end, np.array(on).reshape(-1, 2)))
    return channels, phases


def test_the_recorded_probe_is_characterised() -> None:
    channels, phases = probe()
    from_load = min(phase.begin_ns for phase in phases if phase.name == "load") - 1_500_000_000
    # What was on before the load is not known: the readings begin in the last rest before it.
    quiet = [
        MeteredChannel(
            one.channel,
            *(getattr(one, name)[one.time_ns > from_load] for name in COLUMNS),
        )
        for one in channels
    ]
    ring, counter = characterise_channels(quiet, phases)
    assert ring.key == "ring"
    assert ring.update_s[0] == pytest.approx(0.02, abs=0.001)
    assert counter.update_s[0] == pytest.approx(0.1, abs=0.002)
    assert ring.load_w == pytest.approx(339.6, abs=1.0)
    # The counter and the ring agree within 2 % under load.
    assert counter.to_main == pytest.approx(1.0, abs=0.02)


def test_a_characterisation_of_an_h200() -> None:
    _, channels, phases = read_readings(DATA / "h200-power-readings.json.gz")
    ring, counter = characterise_channels(channels, phases)
    assert ring.key.endswith(":ring")
    assert counter.key.endswith(":energy")
    assert ring.update_s[0] == pytest.approx(0.02, abs=1e-4)
    assert ring.window_s == pytest.approx(0.005, rel=0.01)
    assert ring.alignment.is_measured
    assert abs(ring.alignment.response.delay_s) < 0.002
    assert ring.alignment.response.lag_s == pytest.approx(0.015, abs=0.005)
    assert counter.update_s[0] == pytest.approx(0.1, abs=0.01)
    assert counter.to_main == pytest.approx(1.0, abs=0.01)
    kept = to_parameters([ring, counter])
    assert kept["ring lag"].value == ring.alignment.response.lag_s
    assert kept["energy to first"].value == counter.to_main
    shipped = load_profile("nvidia-h200").parameters[SENSORS]
    assert shipped["ring update"].value == pytest.approx(kept["ring update"].value)
    assert ring.noise_w is not None
    assert ring.noise_w < 1.0
