"""Views of power measurements: channels, results of probing, samples."""

from typing import Final

from cltrace.trace.views.model import View, columns

V_POWER_CHANNEL: Final = View(
    "v_power_channel",
    "Channels of power sensors.",
    "power_channel",
    columns(
        ("channel_id", "id", "number of the channel in this trace"),
        ("host", "machine of the sensor"),
        ("key", "identifier on that machine, the same in every run"),
        ("reader", "reader that read the channel"),
        ("label", "readable name"),
        ("quantity", "energy: J since an arbitrary time; power: W"),
        ("scope", "wall, psu, rail, platform, cpu, cores, uncore, dram, gpu, gpu-memory or other"),
        ("inside", "key of the channel whose value contains this channel's; empty for none"),
        ("device", "PCI address or UUID of the device that it belongs to; empty for none"),
        ("unit_per_step", "W or J per step of v_power.raw"),
        (
            "modulus_steps",
            "value at which a counter wraps to 0; NULL if it does not wrap, or if not known",
        ),
        ("quantum", "smallest step in W or J; NULL if not known, as in the next four columns"),
        ("period_s", "time between updates, in seconds"),
        ("window_s", "averaging window, in seconds"),
        ("delay_s", "delay of a value, in seconds"),
        ("lag_s", "time constant with which it follows a change, in seconds"),
        (
            "gain_error",
            "relative error of the scale, one standard deviation; NULL if not stated",
        ),
        (
            "is_estimated",
            "1 if the vendor estimates the value with a model instead of measuring it",
        ),
        ("note", "remarks on the accuracy"),
        (
            "offset_ns",
            "offset that was added to the times of a log; NULL for a channel that was read live",
        ),
        ("offset_within_ns", "uncertainty of that offset, at 95 %"),
        ("source", "file of the log; empty for a channel that was read live"),
    ),
)

V_POWER_PROBE: Final = View(
    "v_power_probe",
    "Result of probing for each power reader's sensor, and regularity of its readings.",
    "power_probe",
    columns(
        ("host", "the machine"),
        ("reader", "name of the reader"),
        ("state", "ok, absent, masked, denied, frozen or unsupported"),
        ("evidence", "observation that led to the state"),
        ("remedy", "advice on how to make the sensor readable"),
        ("security", "effect of the remedy on the machine's security"),
        ("ended", "reason if the reader was dropped during the recording; empty otherwise"),
        ("reads", "number of readings"),
        ("asked_period_s", "requested period; NULL if it was never read"),
        ("period_p5_s", "5th percentile of the time between two readings"),
        ("period_p50_s", "50th percentile of that time"),
        ("period_p95_s", "95th percentile of that time"),
        ("read_p50_s", "median duration of a reading"),
        ("missed", "number of readings left out because an earlier one took too long"),
    ),
)

V_POWER: Final = View(
    "v_power",
    "Samples of power channels.",
    "power_sample s LEFT JOIN power_channel c ON c.id = s.power_channel_id",
    columns(
        ("sample_id", "s.id", "number of the sample in this trace"),
        ("channel_id", "s.power_channel_id", "channel of the sample"),
        ("key", "c.key", "key of the channel"),
        ("host_ns", "s.host_ns", "time of the value, on the clock of its host"),
        ("within_ns", "s.within_ns", "uncertainty of that time"),
        ("raw", "s.raw", "value as the sensor gave it, in steps"),
        (
            "power_w",
            "CASE WHEN c.quantity = 'power' THEN s.raw * c.unit_per_step END",
            "power in W; NULL for an energy counter",
        ),
        (
            "energy_j",
            "CASE WHEN c.quantity = 'energy' THEN s.raw * c.unit_per_step END",
            "energy in J since an arbitrary time, not unwrapped; NULL for a power channel",
        ),
        (
            "flags",
            "s.flags",
            "sum of 1: the sensor was restarted; 2: earlier samples were lost; 4: the value"
            " is doubtful",
        ),
    ),
)

POWER_VIEWS: Final = (V_POWER_CHANNEL, V_POWER_PROBE, V_POWER)
"""Views in the order of the documentation."""
