"""The extension of Perfetto's slices that says which GPU work a call submitted and waited for.

Perfetto 55 and later know it; older ones learn it from a description in the trace. The description
has the name of the file that defines it there, so that those who know it pass over ours.
"""

from collections.abc import Sequence
from typing import Any, Final

from cltrace.report.export.protobuf import numbers, tag, varint, within

_FILE: Final = "protos/perfetto/trace/gpu/gpu_track_event.proto"
_EXTENDED: Final = ".perfetto.protos.TrackEvent"
_CORRELATION, _API, _OPEN_CL = 3000, 3001, 3
_SUBMITTED, _WAITED = 1, 2

OF_OPENCL: Final = tag(_API) + varint(_OPEN_CL)
"""The field that says: a call of OpenCL's."""


def correlation(submitted: Sequence[int], waited: Sequence[int]) -> bytes:
    """The field that names commands, by their event ids; nothing if there are none."""
    content = numbers(_SUBMITTED, submitted) + numbers(_WAITED, waited)
    return within(_CORRELATION, content) if content else b""


def describe(packet: Any) -> None:
    """Describe the extension in a packet of its own."""
    from google.protobuf import descriptor_pb2  # noqa: PLC0415 - an extra

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package="perfetto.protos")
    message = file.message_type.add(name="GpuCorrelation")
    for name, number in (
        ("render_stage_submission_event_ids", _SUBMITTED),
        ("render_stage_wait_event_ids", _WAITED),
    ):
        message.field.add(
            name=name,
            number=number,
            type=field_type.TYPE_UINT64,
            label=field_type.LABEL_REPEATED,
        )
    apis = file.enum_type.add(name="GpuApi")
    apis.value.add(name="GPU_API_UNDEFINED", number=0)
    apis.value.add(name="GPU_API_OPEN_CL", number=_OPEN_CL)
    event = file.message_type.add(name="GpuTrackEvent")
    event.extension.add(
        name="gpu_correlation",
        number=_CORRELATION,
        type=field_type.TYPE_MESSAGE,
        type_name=".perfetto.protos.GpuCorrelation",
        extendee=_EXTENDED,
        label=field_type.LABEL_OPTIONAL,
    )
    event.extension.add(
        name="gpu_api",
        number=_API,
        type=field_type.TYPE_ENUM,
        type_name=".perfetto.protos.GpuApi",
        extendee=_EXTENDED,
        label=field_type.LABEL_OPTIONAL,
    )
    files = descriptor_pb2.FileDescriptorSet(file=[file])
    packet.extension_descriptor.extension_set.ParseFromString(files.SerializeToString())
