#include "references.h"

#include <string.h>

#include "layer.h"
#include "lifecycle.h"
#include "stamps.h"

cl_uint references_settle(cl_event event)
{
    if (recording_is_over())
        return 0;
    KEEP_ERRNO();
    process_flush(NULL);
    return stamps_release_complete(event);
}

cl_int layer_clGetContextInfo(
    cl_context context, cl_uint name, size_t room, void *result, size_t *size_return)
{
    if (name == CL_CONTEXT_REFERENCE_COUNT)
        references_settle(NULL);
    return target.clGetContextInfo(context, name, room, result, size_return);
}

cl_int layer_clGetEventInfo(
    cl_event event, cl_uint name, size_t room, void *result, size_t *size_return)
{
    cl_uint count = 0;
    const cl_uint own = name == CL_EVENT_REFERENCE_COUNT ? references_settle(event) : 0;
    const cl_int status = target.clGetEventInfo(event, name, room, result, size_return);
    if (own == 0 || status != CL_SUCCESS || result == NULL || room < sizeof count)
        return status;
    memcpy(&count, result, sizeof count);
    count -= own < count ? own : 0;
    memcpy(result, &count, sizeof count);
    return status;
}
