#include "commands.h"

#include "queues.h"

cl_event *command_prepare(
    struct call *call, cl_command_queue queue, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    if (UNLIKELY(current_epoch() > 0))
        queue_ensure_recorded(queue);
    call_waits(call, wait_count, waits);
    return call_event(call, event);
}
