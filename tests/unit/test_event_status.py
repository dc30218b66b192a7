"""Status of commands whose events the driver does not answer for."""

import pyopencl as cl
import pytest
from pyopencl import _cl

from cltrace.intercept.drain.stamps import NO_STAMP, StampReader

pytestmark = pytest.mark.opencl


@pytest.fixture
def event() -> cl.UserEvent:
    """Return an event that never gets stamps."""
    return cl.UserEvent(cl.create_some_context(interactive=False))


def test_an_event_without_an_answer_has_the_error_as_its_status(event: cl.UserEvent) -> None:
    def unanswered(*_: object) -> int:
        raise cl.LogicError(_cl._ErrorRecord("the context is lost", -9999, "clGetEventInfo"))

    reader = StampReader(unanswered)
    assert reader.status_of(event) == -9999
    assert reader.read_if_complete([event]) is None
    assert (reader.read([event]) == NO_STAMP).all()


def test_an_error_without_a_number_is_a_failure(event: cl.UserEvent) -> None:
    def unanswered(*_: object) -> int:
        raise cl.RuntimeError(_cl._ErrorRecord("nothing", 0, "clGetEventInfo"))

    assert StampReader(unanswered).status_of(event) < 0
