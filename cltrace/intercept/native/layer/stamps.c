#include "stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "layer.h"
#include "records.h"
#include "writer.h"

#define PERIOD_NS (10 * NS_PER_MS)
#define IDLE_PERIOD_NS (500 * NS_PER_MS)
#define MAX_UNREAD 200000
#define BLOCK_EVENTS 2048
#define MAX_INCOMPLETE 4096 /* consecutive incomplete commands after which the rest is not tried */
#define STAMP_COLUMNS 6
#define PATIENCE_NS NS_PER_S
#define SETTLE_NS (250 * NS_PER_MS)

static struct background thread = {.name = "cltrace-stamps"};
static pthread_mutex_t added_mutex = PTHREAD_MUTEX_INITIALIZER;

struct event_list {
    struct pending_event *items;
    size_t count;
    size_t capacity;
};
static struct event_list added;   /* protected by the mutex */
static struct event_list pending; /* of the thread alone, oldest first */

static atomic_llong unread;
static atomic_llong unread_peak;
static atomic_bool must_wait;
static int64_t max_unread = MAX_UNREAD;
static int64_t last_progress_ns;

static bool list_append(struct event_list *list, const struct pending_event *items, size_t count)
{
    if (list->capacity - list->count < count) {
        const size_t capacity = list->capacity * 2 + count;
        struct pending_event *grown = realloc(list->items, capacity * sizeof *grown);
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
    if (now_unread > max_unread)
        atomic_store(&must_wait, true);
    else if (now_unread <= max_unread / 2)
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

/* Reads a command's stamps into a row of `STAMPS`. Returns false if the command is incomplete. */
static bool read_command(const struct pending_event *command, int64_t *row)
{
    cl_int execution_status = CL_COMPLETE;
    const cl_int status =
        target.clGetEventInfo(command->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof execution_status, &execution_status, NULL);
    if (status == CL_SUCCESS && execution_status > CL_COMPLETE)
        return false;
    row[0] = command->command;
    row[1] = read_stamp(command->event, CL_PROFILING_COMMAND_QUEUED);
    row[2] = read_stamp(command->event, CL_PROFILING_COMMAND_SUBMIT);
    row[3] = read_stamp(command->event, CL_PROFILING_COMMAND_START);
    row[4] = read_stamp(command->event, CL_PROFILING_COMMAND_END);
    row[5] = status == CL_SUCCESS ? execution_status : status;
    target.clReleaseEvent(command->event);
    return true;
}

/* Reads complete commands among the oldest pending ones. Returns their number. */
static size_t read_block(int64_t rows[BLOCK_EVENTS][STAMP_COLUMNS], size_t *position, size_t *kept)
{
    size_t read = 0;
    while (*position < pending.count && read < BLOCK_EVENTS) {
        const struct pending_event *command = &pending.items[*position];
        if (read_command(command, rows[read]))
            read++;
        else
            pending.items[(*kept)++] = *command;
        ++*position;
        if (*kept >= MAX_INCOMPLETE)
            break;
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
    max_unread *= 2;
    snprintf(message, sizeof message,
             "no command completed for %lld ms: up to %lld events are kept in memory",
             (long long)(PATIENCE_NS / NS_PER_MS), (long long)max_unread);
    record_diagnostic("warning", "events-kept", message);
    update_wait();
}

static size_t read_all_complete(void)
{
    static int64_t rows[BLOCK_EVENTS][STAMP_COLUMNS];
    size_t position = 0;
    size_t kept = 0;
    size_t total = 0;
    take_added();
    while (position < pending.count && kept < MAX_INCOMPLETE) {
        const size_t read = read_block(rows, &position, &kept);
        if (read == 0)
            continue;
        writer_append_stamps(rows[0], (int64_t)read);
        atomic_fetch_sub(&unread, (long long)read);
        update_wait();
        total += read;
    }
    if (position < pending.count && position > kept)
        memmove(pending.items + kept, pending.items + position,
                (pending.count - position) * sizeof *pending.items);
    pending.count = kept + pending.count - position;
    if (total > 0)
        last_progress_ns = now_host_ns();
    return total;
}

static bool run_round(void)
{
    read_all_complete();
    check_patience();
    /* The writer wakes the thread when there are new commands. */
    thread.period_ns = pending.count > 0 ? PERIOD_NS : IDLE_PERIOD_NS;
    return false;
}

bool stamps_start(void)
{
    last_progress_ns = now_host_ns();
    return background_start(&thread, run_round, PERIOD_NS);
}

void stamps_stop(void)
{
    if (!background_stop(&thread))
        return; /* the thread is in the driver, which blocks it */
    int64_t deadline_ns = now_host_ns() + SETTLE_NS;
    while (atomic_load(&unread) > 0 && now_host_ns() < deadline_ns) {
        if (read_all_complete() > 0)
            deadline_ns = now_host_ns() + SETTLE_NS;
        else
            nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
    }
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
    background_forked(&thread);
    /* The lists may have been growing in another thread: their memory stays allocated. */
    added = pending = (struct event_list){0};
    atomic_store(&unread, 0);
    atomic_store(&unread_peak, 0);
    atomic_store(&must_wait, false);
    max_unread = MAX_UNREAD;
}
