"""Tables of power measurements: channels, results of probing, samples."""

from cltrace.trace.schema.model import KEY, Table

POWER_CHANNEL = Table(
    "power_channel",
    (
        KEY,
        "host TEXT NOT NULL",
        "key TEXT NOT NULL",
        "reader TEXT NOT NULL",
        "label TEXT NOT NULL",
        "quantity TEXT NOT NULL",
        "scope TEXT NOT NULL",
        "inside TEXT NOT NULL",
        "device TEXT NOT NULL",
        "unit_per_step REAL NOT NULL",
        "modulus_steps INTEGER",
        "quantum REAL",
        "period_s REAL",
        "window_s REAL",
        "delay_s REAL",
        "lag_s REAL",
        "gain_error REAL",
        "is_estimated INTEGER NOT NULL",
        "note TEXT NOT NULL",
        "offset_ns INTEGER",
        "offset_within_ns INTEGER",
        "source TEXT NOT NULL",
    ),
    since=3,
)
POWER_PROBE = Table(
    "power_probe",
    (
        "host TEXT NOT NULL",
        "reader TEXT NOT NULL",
        "state TEXT NOT NULL",
        "evidence TEXT NOT NULL",
        "remedy TEXT NOT NULL",
        "security TEXT NOT NULL",
        "ended TEXT NOT NULL",
        "reads INTEGER NOT NULL",
        "asked_period_s REAL",
        "period_p5_s REAL",
        "period_p50_s REAL",
        "period_p95_s REAL",
        "read_p50_s REAL",
        "missed INTEGER NOT NULL",
    ),
    since=3,
)
POWER_SAMPLE = Table(
    "power_sample",
    (
        KEY,
        "power_channel_id INTEGER NOT NULL",
        "host_ns INTEGER NOT NULL",
        "within_ns INTEGER NOT NULL",
        "raw INTEGER NOT NULL",
        "flags INTEGER NOT NULL",
    ),
    since=3,
)
