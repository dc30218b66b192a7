"""Views of power: channels, what readers found, samples."""

from typing import Final

from cltrace.trace.views.model import View, columns

V_POWER_CHANNEL: Final = View(
    "v_power_channel",
    "Channels of power sensors: what each measures, and what is known of it.",
    "power_channel",
    columns(
        ("channel_id", "id", "number of the channel in this trace"),
        ("host", "the machine that it is on"),
        ("key", "its name there, the same in every run"),
        ("reader", "the reader that read it"),
        ("label", "its name for people"),
        ("quantity", "energy: J since some time in the past; power: W"),
        ("scope", "wall, psu, rail, platform, cpu, cores, uncore, dram, gpu, gpu-memory or other"),
        ("inside", "key of the channel whose value contains this one's; empty for none"),
        ("device", "PCI address or UUID of the device that it belongs to; empty for none"),
        ("unit_per_step", "W or J of one step of v_power.raw"),
        ("modulus_steps", "where a counter begins anew; NULL if it cannot, or that is not known"),
        ("quantum", "its smallest step in W or J; NULL where not known, as the next four"),
        ("period_s", "seconds between updates"),
        ("window_s", "seconds over which a value is the mean"),
        ("delay_s", "seconds by which it is late"),
        ("lag_s", "time constant in seconds with which it follows a change"),
        (
            "gain_error",
            "relative error of its scale, one standard deviation; NULL where not stated",
        ),
        ("is_estimated", "1 for a model of its maker's instead of a sensor"),
        ("note", "what is known of its accuracy"),
        (
            "offset_ns",
            "what was added to the times of a log; NULL for a channel that was read live",
        ),
        ("offset_within_ns", "how far off that may be: 95 %"),
        ("source", "the file that a log was read from; empty for a channel that was read live"),
    ),
)

V_POWER_PROBE: Final = View(
    "v_power_probe",
    "What each reader of power found, and how regularly it was read.",
    "power_probe",
    columns(
        ("host", "the machine"),
        ("reader", "the reader"),
        ("state", "ok, absent, masked, denied, frozen or unsupported"),
        ("evidence", "what was looked at, and what was there"),
        ("remedy", "what to do"),
        ("security", "what that means for the safety of the machine"),
        ("ended", "why it was dropped while it read; empty if it was not"),
        ("reads", "how often it was read"),
        ("asked_period_s", "the period that was asked for; NULL where it was never read"),
        ("period_p5_s", "percentiles of the time between two reads: 5,"),
        ("period_p50_s", "50"),
        ("period_p95_s", "and 95"),
        ("read_p50_s", "median time that a read took"),
        ("missed", "reads left out because an earlier one took too long"),
    ),
)

V_POWER: Final = View(
    "v_power",
    "Samples of power channels.",
    "power_sample s LEFT JOIN power_channel c ON c.id = s.power_channel_id",
    columns(
        ("sample_id", "s.id", "number of the sample in this trace"),
        ("channel_id", "s.power_channel_id", "its channel"),
        ("key", "c.key", "the channel's name"),
        ("host_ns", "s.host_ns", "when the value was so, on its host's clock"),
        ("within_ns", "s.within_ns", "how far off that may be"),
        ("raw", "s.raw", "the value as the sensor gave it, in its steps"),
        (
            "power_w",
            "CASE WHEN c.quantity = 'power' THEN s.raw * c.unit_per_step END",
            "W; NULL for a counter of energy",
        ),
        (
            "energy_j",
            "CASE WHEN c.quantity = 'energy' THEN s.raw * c.unit_per_step END",
            "J since some time in the past, as read: not unwrapped; NULL for a channel of power",
        ),
        (
            "flags",
            "s.flags",
            "sum of 1: the sensor began anew; 2: samples before it were lost; 4: doubtful",
        ),
    ),
)

POWER_VIEWS: Final = (V_POWER_CHANNEL, V_POWER_PROBE, V_POWER)
"""In the order in which the documentation lists them."""
