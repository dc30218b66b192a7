"""Perfetto's extension of slices that names the GPU work that a call submitted and waited for.

Perfetto 55 and later define it; older versions learn it from a description in the trace. The description
has the file name of the official definition, so versions that define it ignore ours.
"""

from collections.abc import Sequence
from typing import Any, Final

from cltrace.report.export.protobuf import bytes_field, repeated_varint_field, tag, varint

_FILE: Final = "protos/perfetto/trace/gpu/gpu_track_event.proto"
_EXTENDED: Final = ".perfetto.protos.TrackEvent"
_CORRELATION, _API, _OPEN_CL = 3000, 3001, 3
_SUBMITTED, _WAITED = 1, 2

OPENCL_API_FIELD: Final = tag(_API) + varint(_OPEN_CL)
"""The field that marks a call as OpenCL's."""


def correlation_field(submitted: Sequence[int], waited: Sequence[int]) -> bytes:
    """Return the field that names commands by their event ids; empty if there are none."""
    content = repeated_varint_field(_SUBMITTED, submitted) + repeated_varint_field(_WAITED, waited)
    return bytes_field(_CORRELATION, content) if content else b""


def describe_extension(packet: Any) -> None:
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
