#include "commands.h"

cl_event *command_prepare(
    struct call *call, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    call->waits = wait_list_of(wait_count, waits, event);
    if (reads_stamps_in_calls())
        stamps_read_before_command(call->thread);
    return call_event(call, event);
}
