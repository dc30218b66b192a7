"""Power channels for tests."""

from dataclasses import replace
from typing import Any

from cltrace.events.power import PowerChannel

_CHANNEL = PowerChannel(
    id=1,
    host="h",
    key="k",
    reader="r",
    label="l",
    quantity="power",
    scope="gpu",
    unit_per_step=1.0,
)


def power_channel(**changes: Any) -> PowerChannel:
    """A channel that reads a GPU's power in whole watts, with some fields changed."""
    return replace(_CHANNEL, **changes)
