#include "synchronisation.h"

#include "commands.h"

cl_int layer_clFinish(cl_command_queue queue)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clFinish, queue))
        return target.clFinish(queue);
    call_enter(&call);
    return call_end(&call, target.clFinish(queue));
}

cl_int layer_clFlush(cl_command_queue queue)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clFlush, queue))
        return target.clFlush(queue);
    call_enter(&call);
    return call_end(&call, target.clFlush(queue));
}

/* Records the events that a call refers to before it: afterwards the program may have released them. */
static void refer_to(struct call *call, cl_uint count, const cl_event *events)
{
    const struct wait_list list = wait_list_of(count, events, NULL);
    if (list.count > 0)
        call->row[CALL_MARK] = record_waits(call->thread, &list);
}

cl_int layer_clWaitForEvents(cl_uint count, const cl_event *events)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clWaitForEvents, NULL))
        return target.clWaitForEvents(count, events);
    refer_to(&call, count, events);
    call_enter(&call);
    return call_end(&call, target.clWaitForEvents(count, events));
}

cl_int layer_clSetEventCallback(cl_event event, cl_int type, cl_event_callback callback, void *user_data)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clSetEventCallback, NULL))
        return target.clSetEventCallback(event, type, callback, user_data);
    refer_to(&call, 1, &event);
    call_enter(&call);
    return call_end(&call, target.clSetEventCallback(event, type, callback, user_data));
}

cl_event layer_clCreateUserEvent(cl_context context, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateUserEvent, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_event event = target.clCreateUserEvent(context, &status);
    note_user_event(event);
    if (is_recorded)
        call_end(&call, status);
    if (status_return != NULL)
        *status_return = status;
    return event;
}

cl_int layer_clSetUserEventStatus(cl_event event, cl_int execution_status)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clSetUserEventStatus, NULL))
        return target.clSetUserEventStatus(event, execution_status);
    call_enter(&call);
    return call_end(&call, target.clSetUserEventStatus(event, execution_status));
}

cl_int layer_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
    const cl_uint wait_count = 0;
    const cl_event *const waits = NULL;
    BEGIN_COMMAND(clEnqueueMarker);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueMarker(queue, event == NULL ? NULL : event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueMarkerWithWaitList(
    cl_command_queue queue, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueMarkerWithWaitList);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueMarkerWithWaitList(queue, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueBarrierWithWaitList(
    cl_command_queue queue, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueBarrierWithWaitList);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueBarrierWithWaitList(queue, wait_count, waits, event_place);
    END_COMMAND(status);
}

/* OpenCL 1.0: no event. */
cl_int layer_clEnqueueBarrier(cl_command_queue queue)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clEnqueueBarrier, queue))
        return target.clEnqueueBarrier(queue);
    command_prepare(&call, 0, NULL, NULL);
    call.row[CALL_FLAGS] |= CALL_QUEUED_ONLY;
    call_enter(&call);
    return call_end(&call, target.clEnqueueBarrier(queue));
}

cl_int layer_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clEnqueueWaitForEvents, queue))
        return target.clEnqueueWaitForEvents(queue, count, events);
    command_prepare(&call, count, events, NULL);
    call.row[CALL_FLAGS] |= CALL_QUEUED_ONLY;
    call_enter(&call);
    return call_end(&call, target.clEnqueueWaitForEvents(queue, count, events));
}
