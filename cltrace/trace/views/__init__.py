"""Public interface of a trace file: its views, with the meaning and unit of every column.

The file contains the views for other tools. cltrace does not use the views in a file, because a file from
a stranger may define them in any way: `trace.guard` makes them anew from `VIEWS`.
"""

from typing import Final

from cltrace.trace.views.activity import ACTIVITY_VIEWS
from cltrace.trace.views.model import Column, View
from cltrace.trace.views.objects import OBJECT_VIEWS
from cltrace.trace.views.power import POWER_VIEWS

__all__ = ["VIEWS", "Column", "View"]

VIEWS: Final[tuple[View, ...]] = (*OBJECT_VIEWS, *ACTIVITY_VIEWS, *POWER_VIEWS)
"""All views."""
