/* Entry points that launch kernels. */
#include <string.h>

#include "commands.h"
#include "contents.h"
#include "kernels.h"
#include "queues.h"

/* Columns of `LAUNCHES`. */
enum launch_column {
    LAUNCH_ENTER,
    LAUNCH_RETURN,
    LAUNCH_CIRCUMSTANCE,
    LAUNCH_ARGUMENTS,
    LAUNCH_MARK,
    LAUNCH_EVENT,
    LAUNCH_COLUMNS,
};

/* Columns of `CIRCUMSTANCES` behind the first. */
enum circumstance_column {
    CIRCUMSTANCE_KERNEL,
    CIRCUMSTANCE_SITE,
    CIRCUMSTANCE_THREAD,
    CIRCUMSTANCE_QUEUE,
    CIRCUMSTANCE_FLAGS,
    CIRCUMSTANCE_GLOBAL_DIMENSIONS,
    CIRCUMSTANCE_LOCAL_DIMENSIONS,
    CIRCUMSTANCE_OFFSET_DIMENSIONS,
    CIRCUMSTANCE_GLOBAL_SIZE,
    CIRCUMSTANCE_LOCAL_SIZE = CIRCUMSTANCE_GLOBAL_SIZE + 3,
    CIRCUMSTANCE_OFFSET = CIRCUMSTANCE_LOCAL_SIZE + 3,
    CIRCUMSTANCE_COLUMNS = CIRCUMSTANCE_OFFSET + 3,
};
_Static_assert(CIRCUMSTANCE_COLUMNS == CIRCUMSTANCE_KEY_WORDS, "columns of the table");

static unsigned circumstance_slot(const struct thread *thread, const int64_t *key)
{
    uint64_t hash = 0;
    for (int i = 0; i < CIRCUMSTANCE_KEY_WORDS; i++)
        hash = (hash ^ (uint64_t)key[i]) * 0x9E3779B97F4A7C15U;
    return (unsigned)(hash >> 40) & (thread->circumstance_slots - 1);
}

/* Returns the number of a circumstance, and writes the circumstance at its first use. One whose slot was
   taken by another is written again under a new number. */
static int64_t circumstance_number(struct thread *thread, const int64_t *key)
{
    struct circumstance *slot = thread->last_circumstance;
    if (LIKELY(slot != NULL && memcmp(slot->key, key, sizeof slot->key) == 0))
        return slot->id;
    slot = &thread->circumstances[circumstance_slot(thread, key)];
    thread->last_circumstance = slot;
    if (slot->id != 0 && memcmp(slot->key, key, sizeof slot->key) == 0)
        return slot->id;
    int64_t row[1 + CIRCUMSTANCE_KEY_WORDS];
    slot->id = row[0] = thread_number(&thread->next_circumstance, NUMBER_CIRCUMSTANCE);
    memcpy(slot->key, key, sizeof slot->key);
    memcpy(row + 1, key, sizeof slot->key);
    thread_push(thread, TABLE_CIRCUMSTANCES, row, 1 + CIRCUMSTANCE_KEY_WORDS);
    return slot->id;
}

/* Puts extents into a key. Returns the number of dimensions, 0 if the program gave no extents. */
static int64_t put_extents(int64_t *key, cl_uint dimensions, const size_t *extents)
{
    if (extents == NULL || dimensions > 3) /* too many: the launch will fail */
        return 0;
    for (cl_uint axis = 0; axis < dimensions; axis++)
        key[axis] = (int64_t)extents[axis];
    return dimensions;
}

struct launch {
    struct thread *thread;
    struct kernel *kernel;
    int64_t key[CIRCUMSTANCE_KEY_WORDS];
    int64_t row[LAUNCH_COLUMNS];
    struct wait_list waits;
    cl_event own_event;
};

static inline bool launch_begin(
    struct launch *launch, cl_command_queue queue, cl_kernel handle, void *const *frame, const void *address)
{
    if (UNLIKELY(!is_recording())) {
        kernel_lose_contents(handle);
        count_skipped();
        return false;
    }
    struct thread *thread = thread_current();
    if (UNLIKELY(thread == NULL))
        return false;
    struct kernel *kernel = kernel_find(thread, handle);
    if (UNLIKELY(kernel == NULL || !atomic_load_explicit(&kernel->is_recorded, memory_order_relaxed))) {
        counter_add(&thread->skipped, kernel != NULL);
        kernel_lose_contents(handle);
        return false;
    }
    if (UNLIKELY(current_epoch() > 0))
        queue_ensure_recorded(queue);
    *launch = (struct launch){.thread = thread, .kernel = kernel};
    launch->key[CIRCUMSTANCE_KERNEL] = atomic_load_explicit(&kernel->number, memory_order_relaxed);
    launch->key[CIRCUMSTANCE_SITE] = site_find(thread, frame, address);
    launch->key[CIRCUMSTANCE_THREAD] = thread->id;
    launch->key[CIRCUMSTANCE_QUEUE] = handle_word(queue);
    return true;
}

/* Returns where the driver is to put the event. */
static inline cl_event *launch_prepare(
    struct launch *launch, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    launch->waits = wait_list_of(wait_count, waits, event);
    if (reads_stamps_in_calls())
        stamps_read_before_command(launch->thread);
    if (UNLIKELY(driver_may_be_gone())) {
        launch->key[CIRCUMSTANCE_FLAGS] = CALL_QUEUED_ONLY;
        return event;
    }
    return event != NULL ? event : &launch->own_event;
}

static inline void launch_end(struct launch *launch, const cl_event *program_event)
{
    struct thread *thread = launch->thread;
    cl_event event = launch->own_event;
    if (program_event != NULL && !driver_may_be_gone()) {
        event = *program_event;
        target.clRetainEvent(event);
    }
    const int64_t last_circumstance = thread->next_circumstance;
    const bool has_changed = atomic_load_explicit(&launch->kernel->has_changed, memory_order_relaxed);
    launch->row[LAUNCH_CIRCUMSTANCE] = circumstance_number(thread, launch->key);
    launch->row[LAUNCH_ARGUMENTS] = arguments_number(thread, launch->kernel);
    /* A new buffer may have the handle of an old one, with which the arguments seem the same. */
    const bool is_new = has_changed || thread->next_circumstance != last_circumstance;
    if (UNLIKELY(is_new || atomic_load_explicit(&unrecorded_contents, memory_order_relaxed) > 0))
        arguments_record_contents(launch->kernel);
    note_command_event(event);
    if (UNLIKELY(launch->waits.count > 0))
        launch->row[LAUNCH_MARK] = record_waits(thread, &launch->waits);
    launch->row[LAUNCH_EVENT] = handle_word(event);
    thread_push(thread, TABLE_LAUNCHES, launch->row, LAUNCH_COLUMNS);
    command_account(thread, launch->row[LAUNCH_RETURN], event);
}

/* Failed launches are calls. */
static void launch_failed(const struct launch *launch, enum api api, cl_command_queue queue, cl_int status)
{
    struct call call = {.thread = launch->thread};
    call.row[CALL_ENTER] = launch->row[LAUNCH_ENTER];
    call.row[CALL_RETURN] = launch->row[LAUNCH_RETURN];
    call.row[CALL_API] = api;
    call.row[CALL_SITE] = launch->key[CIRCUMSTANCE_SITE];
    call.row[CALL_THREAD] = launch->thread->id;
    call.row[CALL_QUEUE] = handle_word(queue);
    call.row[CALL_SIZE] = -1;
    call_record(&call, status);
}

cl_int layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                    const size_t *offset, const size_t *global_size,
                                    const size_t *local_size, cl_uint wait_count, const cl_event *waits,
                                    cl_event *event)
{
    struct launch launch;
    if (!launch_begin(&launch, queue, kernel, __builtin_frame_address(0), __builtin_return_address(0)))
        return target.clEnqueueNDRangeKernel(
            queue, kernel, dimensions, offset, global_size, local_size, wait_count, waits, event);
    int64_t *key = launch.key;
    key[CIRCUMSTANCE_GLOBAL_DIMENSIONS] =
        put_extents(key + CIRCUMSTANCE_GLOBAL_SIZE, dimensions, global_size);
    key[CIRCUMSTANCE_LOCAL_DIMENSIONS] =
        put_extents(key + CIRCUMSTANCE_LOCAL_SIZE, dimensions, local_size);
    key[CIRCUMSTANCE_OFFSET_DIMENSIONS] = put_extents(key + CIRCUMSTANCE_OFFSET, dimensions, offset);
    cl_event *const event_place = launch_prepare(&launch, wait_count, waits, event);
    thread_enter_driver(launch.thread, THREAD_CALLING);
    launch.row[LAUNCH_ENTER] = now_host_ns();
    const cl_int status = target.clEnqueueNDRangeKernel(
        queue, kernel, dimensions, offset, global_size, local_size, wait_count, waits, event_place);
    launch.row[LAUNCH_RETURN] = now_host_ns();
    thread_leave_driver(launch.thread, launch.row[LAUNCH_RETURN]);
    if (LIKELY(status == CL_SUCCESS))
        launch_end(&launch, event);
    else
        launch_failed(&launch, API_clEnqueueNDRangeKernel, queue, status);
    return status;
}

/* A task is a launch of one work-item. */
cl_int layer_clEnqueueTask(
    cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    static const size_t single = 1;
    struct launch launch;
    if (!launch_begin(&launch, queue, kernel, __builtin_frame_address(0), __builtin_return_address(0)))
        return target.clEnqueueTask(queue, kernel, wait_count, waits, event);
    int64_t *key = launch.key;
    key[CIRCUMSTANCE_GLOBAL_DIMENSIONS] = put_extents(key + CIRCUMSTANCE_GLOBAL_SIZE, 1, &single);
    key[CIRCUMSTANCE_LOCAL_DIMENSIONS] = put_extents(key + CIRCUMSTANCE_LOCAL_SIZE, 1, &single);
    cl_event *const event_place = launch_prepare(&launch, wait_count, waits, event);
    thread_enter_driver(launch.thread, THREAD_CALLING);
    launch.row[LAUNCH_ENTER] = now_host_ns();
    const cl_int status = target.clEnqueueTask(queue, kernel, wait_count, waits, event_place);
    launch.row[LAUNCH_RETURN] = now_host_ns();
    thread_leave_driver(launch.thread, launch.row[LAUNCH_RETURN]);
    if (LIKELY(status == CL_SUCCESS))
        launch_end(&launch, event);
    else
        launch_failed(&launch, API_clEnqueueTask, queue, status);
    return status;
}

cl_int layer_clEnqueueNativeKernel(cl_command_queue queue, cl_native_kernel function, void *arguments,
                                   size_t size, cl_uint memory_count, const cl_mem *memories,
                                   const void **places, cl_uint wait_count, const cl_event *waits,
                                   cl_event *event)
{
    BEGIN_COMMAND(clEnqueueNativeKernel);
    for (cl_uint i = 0; memories != NULL && i < memory_count; i++)
        contents_lost(memories[i]);
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueNativeKernel(queue, function, arguments, size, memory_count, memories, places,
                                     wait_count, waits, event_place);
    END_COMMAND(status);
}
