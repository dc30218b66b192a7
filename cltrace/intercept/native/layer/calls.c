#include "calls.h"

/* User events belong to no command, and their handles may have been commands' before. */
static atomic_bool has_user_events;

void note_user_event(void)
{
    atomic_store_explicit(&has_user_events, true, memory_order_relaxed);
}

static bool is_user_event(cl_event event)
{
    cl_uint type = 0;
    if (!atomic_load_explicit(&has_user_events, memory_order_relaxed))
        return false;
    return target.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
           type == CL_COMMAND_USER;
}

void count_skipped(void)
{
    struct thread *thread = is_recording() || recording_is_over() ? NULL : thread_current();
    if (thread != NULL)
        counter_add(&thread->skipped, 1);
}

int64_t record_waits(struct thread *thread, cl_uint count, const cl_event *events)
{
    const int64_t mark = thread_number(&thread->next_mark, NUMBER_MARK);
    for (cl_uint i = 0; i < count; i++) {
        const int64_t row[] = {mark, handle_word(events[i])};
        if (events[i] != NULL && !is_user_event(events[i]))
            thread_push(thread, TABLE_EDGES, row, 2);
    }
    return mark;
}

void call_account(struct thread *thread, int64_t return_ns)
{
    counter_add(&thread->calls, 1);
    const long long calls = atomic_load_explicit(&thread->calls, memory_order_relaxed);
    if (UNLIKELY(calls <= FIRST_CALLS)) {
        counter_add(&thread->first_ns, now_host_ns() - return_ns);
        return;
    }
    if (LIKELY(calls & 63))
        return;
    counter_add(&thread->sampled_calls, 1);
    counter_add(&thread->sampled_ns, now_host_ns() - return_ns);
    thread_check_ring(thread);
    if (UNLIKELY(stamps_must_wait()))
        thread_wait_for_events(thread);
}

void call_record(struct call *call, cl_int status)
{
    struct thread *thread = call->thread;
    call->row[CALL_STATUS] = status;
    if (status == CL_SUCCESS && call->program_event != NULL && !driver_may_be_gone()) {
        const cl_event event = *call->program_event;
        if (event != NULL && target.clRetainEvent(event) == CL_SUCCESS)
            call->row[CALL_EVENT] = handle_word(event);
    } else if (status == CL_SUCCESS) {
        call->row[CALL_EVENT] = handle_word(call->own_event);
    }
    if (UNLIKELY(call->wait_count > 0) && status == CL_SUCCESS)
        call->row[CALL_MARK] = record_waits(thread, call->wait_count, call->waits);
    thread_push(thread, TABLE_CALLS, call->row, CALL_COLUMNS);
    command_account(thread, call->row[CALL_RETURN], (cl_event)(uintptr_t)call->row[CALL_EVENT]);
    if (reads_stamps_in_calls() && call_is_waiting(call))
        stamps_read_after_wait(thread);
}

cl_int call_end(struct call *call, cl_int status)
{
    call_return(call);
    call_record(call, status);
    return status;
}
