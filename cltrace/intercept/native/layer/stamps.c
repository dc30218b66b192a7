#include "stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "background.h"
#include "layer.h"
#include "lifecycle.h"
#include "mapped.h"
#include "records.h"
#include "threads.h"
#include "writer.h"

#define PERIOD_NS (10 * NS_PER_MS)
#define IDLE_PERIOD_NS (500 * NS_PER_MS)
#define MAX_UNREAD 200000
#define BLOCK_EVENTS 256
#define MAX_INCOMPLETE 4096 /* consecutive incomplete commands after which the rest is not tried */
#define STAMP_COLUMNS 6
#define QUIET_NS 30000 /* time after a call in which another is expected */
#define MIN_SAMPLE 256 /* events from which a driver is judged */
#define MAX_EVENTS_PER_WAIT 8
#define MAX_LATENESS_NS (80 * NS_PER_MS)
#define MAX_LATE_READING_NS (20 * NS_PER_MS)
#define CALL_ROWS 384
#define READINGS_PER_CALL 256
#define COMMANDS_PER_READING 64
#define PATIENCE_NS NS_PER_S
#define SETTLE_NS (250 * NS_PER_MS)
#define MAX_REFERENCE_WAIT_NS (100 * NS_PER_MS) /* the reader may be in the driver, which blocks it */
#define MAX_FORK_WAIT_S 2 /* a query may wait for the program, which is about to fork */

#ifndef EXCLUSIVE_DRIVER
#define EXCLUSIVE_DRIVER false /* tests assume that a driver is, from the start */
#endif
#ifndef POLITE_PERIOD_NS
#define POLITE_PERIOD_NS (NS_PER_MS / 5) /* tests let the reader sleep until the end */
#endif

/* With what the C library adds, the small stack is as large as musl's default, with which drivers work. */
static struct background thread = {.name = "cltrace-stamps", .small_stack_bytes = 112U << 10};
static pthread_mutex_t added_mutex = PTHREAD_MUTEX_INITIALIZER;

struct event_list {
    struct pending_event *items;
    size_t count;
    size_t capacity;
};
static struct event_list added; /* protected by `added_mutex` */

/* Protects `pending` and what follows it. Held while stamps are read: its holder may be in the driver. */
static pthread_mutex_t reading_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct event_list pending; /* oldest first */
static size_t pending_begin;      /* the commands before it have been read by the program's threads */
static int64_t call_rows[CALL_ROWS][STAMP_COLUMNS]; /* read by the program's threads, not written yet */
static size_t call_row_count;

static atomic_int leaving; /* threads that fork */
static _Thread_local bool holds_reading;

static atomic_llong unread;
static atomic_llong unread_peak;
static atomic_bool must_wait;
static atomic_llong max_unread = MAX_UNREAD;
static int64_t last_progress_ns;
static int64_t caught_up_ns; /* when all that was complete had been read */

static bool list_append(struct event_list *list, const struct pending_event *items, size_t count)
{
    if (list->capacity - list->count < count) {
        const size_t capacity = list->capacity * 2 + count;
        struct pending_event *grown =
            mapped_grow(list->items, list->capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        list->items = grown;
        list->capacity = capacity;
    }
    if (count > 0)
        memcpy(list->items + list->count, items, count * sizeof *items);
    list->count += count;
    return true;
}

static void update_wait(void)
{
    const long long now_unread = atomic_load(&unread);
    const long long limit = atomic_load(&max_unread);
    if (now_unread > limit)
        atomic_store(&must_wait, true);
    else if (now_unread <= limit / 2)
        atomic_store(&must_wait, false);
}

void stamps_add(const struct pending_event *events, size_t count)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&added_mutex);
    const bool is_added = list_append(&added, events, count);
    pthread_mutex_unlock(&added_mutex);
    if (!is_added) {
        stop_recording("no memory for unread events");
        return;
    }
    const long long now_unread = atomic_fetch_add(&unread, (long long)count) + (long long)count;
    if (now_unread > atomic_load(&unread_peak))
        atomic_store(&unread_peak, now_unread);
    update_wait();
    background_wake(&thread);
}

static int64_t read_stamp(cl_event event, cl_uint stage)
{
    cl_ulong stamp = 0;
    const cl_int status = target.clGetEventProfilingInfo(event, stage, sizeof stamp, &stamp, NULL);
    return status == CL_SUCCESS ? (int64_t)stamp : NO_STAMP;
}

/* Returns the execution status of a command: 0 when it is complete, negative when it failed. */
static cl_int execution_status(cl_event event)
{
    cl_int execution_status = CL_COMPLETE;
    const cl_int status = target.clGetEventInfo(
        event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution_status, &execution_status, NULL);
    return status == CL_SUCCESS ? execution_status : status;
}

/* Reads a command's stamps into a row of `STAMPS`. Returns false if the command is incomplete.

   OpenCL gives no stamps of a command that is incomplete, failed, or in a queue without profiling. So
   its status is asked for only if there is no last stamp. */
static bool read_command(const struct pending_event *command, int64_t *row)
{
    int64_t end = read_stamp(command->event, CL_PROFILING_COMMAND_END);
    const bool has_stamps = end != NO_STAMP && end != 0;
    const cl_int status = has_stamps ? CL_COMPLETE : execution_status(command->event);
    if (status > CL_COMPLETE)
        return false;
    if (!has_stamps) /* it may have completed in between */
        end = read_stamp(command->event, CL_PROFILING_COMMAND_END);
    row[0] = command->command;
    row[1] = read_stamp(command->event, CL_PROFILING_COMMAND_QUEUED);
    row[2] = read_stamp(command->event, CL_PROFILING_COMMAND_SUBMIT);
    row[3] = read_stamp(command->event, CL_PROFILING_COMMAND_START);
    row[4] = end;
    row[5] = status;
    target.clReleaseEvent(command->event);
    return true;
}

/* A pass over the pending commands, oldest first. */
struct pass {
    size_t position;
    size_t kept;
    int64_t deadline_ns; /* 0: none */
    bool yields;         /* ends when a thread of the program calls the driver */
    bool is_interrupted;
};

static bool must_stop(struct pass *pass)
{
    if (pass->kept >= MAX_INCOMPLETE)
        return true;
    if (atomic_load_explicit(&leaving, memory_order_relaxed) > 0) {
        pass->is_interrupted = true;
        return true;
    }
    if (pass->deadline_ns == 0 && !pass->yields)
        return false;
    const int64_t now_ns = now_host_ns();
    pass->is_interrupted = (pass->deadline_ns != 0 && now_ns > pass->deadline_ns) ||
                           (pass->yields && threads_are_calling(now_ns, QUIET_NS));
    return pass->is_interrupted;
}

/* Reads the next complete commands. Returns their number. */
static size_t read_block(int64_t rows[BLOCK_EVENTS][STAMP_COLUMNS], struct pass *pass)
{
    size_t read = 0;
    while (pass->position < pending.count && read < BLOCK_EVENTS && !must_stop(pass)) {
        const struct pending_event *command = &pending.items[pass->position];
        if (read_command(command, rows[read]))
            read++;
        else
            pending.items[pass->kept++] = *command;
        pass->position++;
    }
    return read;
}

static void take_added(void)
{
    pthread_mutex_lock(&added_mutex);
    if (!list_append(&pending, added.items, added.count))
        stop_recording("no memory for unread events");
    added.count = 0;
    pthread_mutex_unlock(&added_mutex);
}

/* Keeps more events in memory: the commands wait for an action of the program. */
static void check_patience(void)
{
    char message[128];
    if (!atomic_load(&must_wait) || now_host_ns() - last_progress_ns < PATIENCE_NS)
        return;
    const long long limit = 2 * atomic_load(&max_unread);
    atomic_store(&max_unread, limit);
    snprintf(message, sizeof message,
             "no command completed for %lld ms: up to %lld events are kept in memory",
             (long long)(PATIENCE_NS / NS_PER_MS), limit);
    record_diagnostic("warning", "events-kept", message);
    update_wait();
}

static void count_read(size_t read)
{
    atomic_fetch_sub(&unread, (long long)read);
    update_wait();
    last_progress_ns = now_host_ns();
}

static void write_call_rows(void)
{
    if (call_row_count > 0)
        writer_append_stamps(call_rows[0], (int64_t)call_row_count);
    call_row_count = 0;
}

/* Drops the commands that the program's threads have read. */
static void drop_read(void)
{
    if (pending_begin == 0)
        return;
    memmove(pending.items, pending.items + pending_begin,
            (pending.count - pending_begin) * sizeof *pending.items);
    pending.count -= pending_begin;
    pending_begin = 0;
}

/* Returns the number of commands that were read. The caller holds `reading_mutex`. */
static size_t read_pass(struct pass *pass)
{
    static int64_t rows[BLOCK_EVENTS][STAMP_COLUMNS];
    size_t total = 0;
    write_call_rows();
    drop_read();
    take_added();
    while (pass->position < pending.count && !must_stop(pass)) {
        const size_t read = read_block(rows, pass);
        if (read == 0)
            continue;
        writer_append_stamps(rows[0], (int64_t)read);
        count_read(read);
        total += read;
    }
    if (pass->position < pending.count && pass->position > pass->kept)
        memmove(pending.items + pass->kept, pending.items + pass->position,
                (pending.count - pass->position) * sizeof *pending.items);
    pending.count = pass->kept + pending.count - pass->position;
    if (!pass->is_interrupted)
        caught_up_ns = now_host_ns();
    return total;
}

/* Some drivers let one thread in at a time, and ask the device at each query while a command is underway:
   a query of the reader then takes long, and delays a thread of the program that calls at that time. The
   reader sees that in its own waits. From then on a thread of the program reads the stamps when the newest
   command is complete: before some of the commands that it enqueues, and after its waits. The reader goes
   on while the program's threads wait or do other things, and when it is late. */
atomic_bool stamps_are_read_in_calls = EXCLUSIVE_DRIVER;

static void note_exclusive_driver(void)
{
    atomic_store(&stamps_are_read_in_calls, true);
    record_diagnostic("note", "driver-exclusive",
                      "the driver lets one thread in at a time: the program's threads read stamps "
                      "between commands");
}

/* Returns true if a command is left that no thread has read. The caller holds `reading_mutex`. */
static bool has_next_command(void)
{
    if (pending_begin < pending.count)
        return true;
    pending_begin = pending.count = 0;
    take_added();
    caught_up_ns = now_host_ns();
    return pending.count > 0;
}

static void read_in_call(void)
{
    if (pthread_mutex_trylock(&reading_mutex) != 0)
        return;
    size_t read = 0;
    if (call_row_count + READINGS_PER_CALL > CALL_ROWS)
        write_call_rows();
    while (read < READINGS_PER_CALL && has_next_command() &&
           read_command(&pending.items[pending_begin], call_rows[call_row_count])) {
        pending_begin++;
        call_row_count++;
        read++;
    }
    if (read > 0)
        count_read(read);
    pthread_mutex_unlock(&reading_mutex);
}

static void drop_newest(struct thread *of)
{
    cl_event event = atomic_exchange_explicit(&of->newest_event, NULL, memory_order_acq_rel);
    if (event != NULL)
        target.clReleaseEvent(event);
}

void stamps_keep_newest(struct thread *of, cl_event event)
{
    target.clRetainEvent(event);
    event = atomic_exchange_explicit(&of->newest_event, event, memory_order_acq_rel);
    if (event != NULL)
        target.clReleaseEvent(event);
}

void stamps_read_before_command(struct thread *of)
{
    if (++of->commands_since_reading < COMMANDS_PER_READING || atomic_load(&unread) == 0)
        return;
    of->commands_since_reading = 0;
    cl_event newest = atomic_exchange_explicit(&of->newest_event, NULL, memory_order_acq_rel);
    if (newest == NULL)
        return;
    const int64_t end = read_stamp(newest, CL_PROFILING_COMMAND_END);
    target.clReleaseEvent(newest);
    if (end != NO_STAMP && end != 0)
        read_in_call();
}

void stamps_read_after_wait(struct thread *of)
{
    of->commands_since_reading = 0;
    drop_newest(of);
    if (atomic_load(&unread) > 0)
        read_in_call();
}

static bool lock_reading(int64_t max_wait_ns)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    const int64_t nanoseconds = deadline.tv_nsec + max_wait_ns;
    deadline.tv_sec += nanoseconds / NS_PER_S;
    deadline.tv_nsec = nanoseconds % NS_PER_S;
    return pthread_mutex_timedlock(&reading_mutex, &deadline) == 0;
}

unsigned stamps_release_complete(cl_event event)
{
    struct pass pass = {0};
    unsigned references = 0;
    if (driver_may_be_gone() || !lock_reading(MAX_REFERENCE_WAIT_NS))
        return 0;
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next)
        drop_newest(each);
    read_pass(&pass);
    for (size_t i = pending_begin; i < pending.count; i++)
        references += event != NULL && pending.items[i].event == event;
    pthread_mutex_unlock(&reading_mutex);
    return references;
}

/* Reads everything, and finds out whether the driver lets several threads in. */
static void read_freely(void)
{
    struct rusage before;
    struct rusage after;
    struct pass pass = {0};
    getrusage(RUSAGE_THREAD, &before);
    const size_t read = read_pass(&pass);
    getrusage(RUSAGE_THREAD, &after);
    const long waits = after.ru_nvcsw - before.ru_nvcsw;
    if (read >= MIN_SAMPLE && waits * MAX_EVENTS_PER_WAIT > (long)read)
        note_exclusive_driver();
}

static void read_politely(void)
{
    struct pass pass = {.yields = true};
    read_pass(&pass);
    if (!pass.is_interrupted || now_host_ns() - caught_up_ns < MAX_LATENESS_NS)
        return;
    pass = (struct pass){.deadline_ns = now_host_ns() + MAX_LATE_READING_NS};
    read_pass(&pass);
}

static bool run_round(void)
{
    const bool is_exclusive = atomic_load(&stamps_are_read_in_calls);
    pthread_mutex_lock(&reading_mutex);
    if (is_exclusive)
        read_politely();
    else
        read_freely();
    check_patience();
    if (is_exclusive && pending.count == pending_begin && !threads_are_calling(now_host_ns(), NS_PER_MS))
        for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next)
            drop_newest(each);
    const bool has_pending = pending.count > pending_begin || call_row_count > 0;
    pthread_mutex_unlock(&reading_mutex);
    /* The writer wakes the thread when there are new commands. */
    thread.period_ns = has_pending ? (is_exclusive ? POLITE_PERIOD_NS : PERIOD_NS) : IDLE_PERIOD_NS;
    return false;
}

bool stamps_start(void)
{
    last_progress_ns = caught_up_ns = now_host_ns();
    return background_start(&thread, run_round, PERIOD_NS);
}

void stamps_stop(void)
{
    if (!background_stop(&thread))
        return; /* the thread is in the driver, which blocks it */
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next)
        drop_newest(each);
    int64_t deadline_ns = now_host_ns() + SETTLE_NS;
    while (atomic_load(&unread) > 0 && now_host_ns() < deadline_ns) {
        struct pass pass = {0};
        pthread_mutex_lock(&reading_mutex);
        const size_t read = read_pass(&pass);
        pthread_mutex_unlock(&reading_mutex);
        if (read > 0)
            deadline_ns = now_host_ns() + SETTLE_NS;
        else
            nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
    }
    pthread_mutex_lock(&reading_mutex);
    write_call_rows(); /* nothing is unread where the program's threads have read the last ones */
    pthread_mutex_unlock(&reading_mutex);
}

bool stamps_must_wait(void)
{
    return atomic_load_explicit(&must_wait, memory_order_relaxed);
}

int64_t stamps_unread_peak(void)
{
    return atomic_load(&unread_peak);
}

int64_t stamps_cpu_ns(void)
{
    return background_cpu_ns(&thread);
}

void stamps_leave_driver(void)
{
    atomic_fetch_add(&leaving, 1);
    holds_reading = lock_reading(MAX_FORK_WAIT_S * NS_PER_S);
}

void stamps_enter_driver(void)
{
    atomic_fetch_sub(&leaving, 1);
    if (holds_reading)
        pthread_mutex_unlock(&reading_mutex);
}

void stamps_lock(void)
{
    pthread_mutex_lock(&added_mutex);
}

void stamps_unlock(void)
{
    pthread_mutex_unlock(&added_mutex);
}

void stamps_forked(void)
{
    pthread_mutex_init(&added_mutex, NULL);
    pthread_mutex_init(&reading_mutex, NULL);
    atomic_store(&leaving, 0);
    background_forked(&thread);
    /* The lists may have been growing in another thread: their memory stays allocated. */
    added = pending = (struct event_list){0};
    pending_begin = call_row_count = 0;
    atomic_store(&unread, 0);
    atomic_store(&unread_peak, 0);
    atomic_store(&must_wait, false);
    atomic_store(&max_unread, MAX_UNREAD);
}
