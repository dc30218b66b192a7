/* Rows of calls: what all replaced entry points share. */
#ifndef CLTRACE_CALLS_H
#define CLTRACE_CALLS_H

#include "apis.h"
#include "lifecycle.h"
#include "queues.h"
#include "sites.h"
#include "stamps.h"
#include "threads.h"

/* Columns of `CALLS`. */
enum call_column {
    CALL_ENTER,
    CALL_RETURN,
    CALL_API,
    CALL_STATUS,
    CALL_SITE,
    CALL_THREAD,
    CALL_QUEUE,
    CALL_MARK,
    CALL_SUBJECT,
    CALL_SOURCE,
    CALL_TARGET,
    CALL_SIZE,
    CALL_SOURCE_OFFSET,
    CALL_TARGET_OFFSET,
    CALL_FLAGS,
    CALL_EVENT,
    CALL_COLUMNS,
};

/* Events that a command waits for. Many programs give one variable for the event of the last command, for
   which the next one waits, and for the event of the next: `overwritten` is what `place` held before. */
struct wait_list {
    cl_uint count;
    const cl_event *events;
    const cl_event *place;
    cl_event overwritten;
};

static inline struct wait_list wait_list_of(
    cl_uint count, const cl_event *events, const cl_event *place)
{
    struct wait_list list = {.count = events == NULL ? 0 : count, .events = events};
    const uintptr_t distance = (uintptr_t)place - (uintptr_t)events;
    if (UNLIKELY(list.count > 0 && distance / sizeof *place < count)) {
        list.place = place;
        list.overwritten = *place;
    }
    return list;
}

/* A call that is being recorded. */
struct call {
    struct thread *thread;
    int64_t row[CALL_COLUMNS];
    struct wait_list waits;
    cl_event own_event;
    cl_event *program_event; /* where the program wants the event, or NULL */
};

static inline int64_t handle_word(const void *handle)
{
    return (int64_t)(uintptr_t)handle;
}

/* Begins to record a call. Returns false if nothing is recorded now. */
static inline bool call_begin_at(
    struct call *call, enum api api, cl_command_queue queue, void *const *frame, const void *address)
{
    if (UNLIKELY(!is_recording()))
        return false;
    struct thread *thread = thread_current();
    if (UNLIKELY(thread == NULL))
        return false;
    if (UNLIKELY(current_epoch() > 0 && queue != NULL))
        queue_ensure_recorded(queue);
    *call = (struct call){.thread = thread};
    call->row[CALL_API] = api;
    call->row[CALL_SITE] = site_find(thread, frame, address);
    call->row[CALL_THREAD] = thread->id;
    call->row[CALL_QUEUE] = handle_word(queue);
    call->row[CALL_SIZE] = -1;
    return true;
}

#define CALL_BEGIN(call, api, queue) \
    call_begin_at((call), (api), (queue), __builtin_frame_address(0), __builtin_return_address(0))

/* Returns where the driver is to put the event of a command: the program's place, or the layer's. */
static inline cl_event *call_event(struct call *call, cl_event *event)
{
    call->program_event = event;
    if (UNLIKELY(driver_may_be_gone())) {
        call->row[CALL_FLAGS] |= CALL_QUEUED_ONLY;
        return event;
    }
    return event != NULL ? event : &call->own_event;
}

/* True if the call returns when commands are complete. */
static inline bool call_is_waiting(const struct call *call)
{
    return call->row[CALL_FLAGS] & CALL_BLOCKING || call->row[CALL_API] == API_clFinish ||
           call->row[CALL_API] == API_clWaitForEvents;
}

/* Takes the time of the entry, right before the driver is called. */
static inline void call_enter(struct call *call)
{
    thread_enter_driver(call->thread, call_is_waiting(call) ? THREAD_WAITING : THREAD_CALLING);
    call->row[CALL_ENTER] = now_host_ns();
}

static inline void call_enter_if(struct call *call, bool is_recorded)
{
    if (is_recorded)
        call_enter(call);
}

/* Takes the time of the return, and records the call. Returns `status`. */
cl_int call_end(struct call *call, cl_int status);

/* As `call_end`, when the time of the return was taken by `call_return`. */
static inline void call_return(struct call *call)
{
    call->row[CALL_RETURN] = now_host_ns();
    thread_leave_driver(call->thread, call->row[CALL_RETURN]);
}
void call_record(struct call *call, cl_int status);

/* Appends a row per event that is waited for. Returns the mark that joins them to a call, 0 if none. */
int64_t record_waits(struct thread *thread, const struct wait_list *list);

/* Counts a call, and samples the time since it returned. */
void call_account(struct thread *thread, int64_t return_ns);

static inline bool reads_stamps_in_calls(void)
{
    return UNLIKELY(atomic_load_explicit(&stamps_are_read_in_calls, memory_order_relaxed));
}

/* Accounts for a command that was enqueued with an event. */
static inline void command_account(struct thread *thread, int64_t return_ns, cl_event event)
{
    call_account(thread, return_ns);
    if (reads_stamps_in_calls() && event != NULL)
        stamps_keep_newest(thread, event);
}

/* Counts a command that is not recorded because recording is paused, or has ended. */
void count_skipped(void);

/* Tell that the program has created a user event, or that an event is a command's. User events belong to no
   command, and a driver reuses the handles of either for the other. */
void note_user_event(cl_event event);
void note_command_event(cl_event event);

#endif
