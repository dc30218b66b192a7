/* What all enqueueing entry points share. Each has parameters `queue`, `wait_count`, `waits`, `event`. */
#ifndef CLTRACE_COMMANDS_H
#define CLTRACE_COMMANDS_H

#include "calls.h"

/* Prepares the row of a command. Returns where the driver is to put its event. */
cl_event *command_prepare(
    struct call *call, cl_uint wait_count, const cl_event *waits, cl_event *event);

#define BEGIN_COMMAND(name)                                              \
    struct call call;                                                    \
    const bool is_recorded = CALL_BEGIN(&call, API_##name, queue);       \
    if (UNLIKELY(!is_recorded))                                          \
        count_skipped();                                                 \
    cl_event *const event_place =                                        \
        is_recorded ? command_prepare(&call, wait_count, waits, event) : event

#define ENTER_COMMAND()        \
    do {                       \
        if (is_recorded)       \
            call_enter(&call); \
    } while (0)

#define END_COMMAND(status) return is_recorded ? call_end(&call, (status)) : (status)

#endif
