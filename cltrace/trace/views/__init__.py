"""The public interface of a trace file: its views, with what every column means and its unit.

The file carries the views for whoever opens it with other tools. Our own readers do not use those:
they make their own from this table (`trace.guard`), because a file from a stranger may say anything.
"""

from typing import Final

from cltrace.trace.views.activity import ACTIVITY_VIEWS
from cltrace.trace.views.model import Column, View
from cltrace.trace.views.objects import OBJECT_VIEWS
from cltrace.trace.views.power import POWER_VIEWS

__all__ = ["VIEWS", "Column", "View"]

VIEWS: Final[tuple[View, ...]] = (*OBJECT_VIEWS, *ACTIVITY_VIEWS, *POWER_VIEWS)
"""Every view."""
