#include "calls.h"

#include "handle_map.h"
#include "stop_page.h"

/* An event that is, or was, a user event. The driver is not asked: the handle may be invalid. */
struct user_event {
    struct object object;
    atomic_bool is_user;
};

static struct handle_map user_events;

static struct user_event *find_user_event(cl_event event)
{
    return (struct user_event *)(void *)map_find(&user_events, (uintptr_t)event);
}

void note_user_event(cl_event event)
{
    if (event == NULL)
        return;
    pthread_mutex_lock(&objects_mutex);
    struct user_event *noted =
        (struct user_event *)(void *)map_insert(&user_events, (uintptr_t)event, sizeof *noted);
    if (noted != NULL)
        atomic_store(&noted->is_user, true);
    pthread_mutex_unlock(&objects_mutex);
}

void note_command_event(cl_event event)
{
    struct user_event *noted = find_user_event(event);
    if (UNLIKELY(noted != NULL))
        atomic_store_explicit(&noted->is_user, false, memory_order_relaxed);
}

static bool is_user_event(cl_event event)
{
    const struct user_event *noted = find_user_event(event);
    return UNLIKELY(noted != NULL) && atomic_load_explicit(&noted->is_user, memory_order_relaxed);
}

void count_skipped(void)
{
    if (recording_is_over()) {
        stop_page_add_missing(1);
        return;
    }
    struct thread *thread = is_recording() ? NULL : thread_current();
    if (thread != NULL)
        counter_add(&thread->skipped, 1);
}

int64_t record_waits(struct thread *thread, const struct wait_list *list)
{
    const int64_t mark = thread_number(&thread->next_mark, NUMBER_MARK);
    for (cl_uint i = 0; i < list->count; i++) {
        const cl_event awaited =
            &list->events[i] == list->place ? list->overwritten : list->events[i];
        const int64_t row[] = {mark, handle_word(awaited)};
        if (awaited != NULL && !is_user_event(awaited))
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
    note_command_event((cl_event)(uintptr_t)call->row[CALL_EVENT]);
    if (UNLIKELY(call->waits.count > 0) && status == CL_SUCCESS)
        call->row[CALL_MARK] = record_waits(thread, &call->waits);
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
