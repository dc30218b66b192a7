#include "queues.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "handle_map.h"
#include "layer.h"
#include "loaders.h"
#include "platforms.h"
#include "records.h"
#include "references.h"
#include "settings.h"

#define MAX_PROPERTY_WORDS 128

struct queue {
    struct object object;
    cl_bitfield requested;
    bool is_forced;
    struct text line; /* its record */
    size_t array_words;
    cl_bitfield *array; /* the properties that the program gave, with the final 0 */
};

static struct handle_map queues;

static struct queue *find_queue(cl_command_queue handle)
{
    return (struct queue *)(void *)map_find(&queues, (uintptr_t)handle);
}

int queue_is_known(uintptr_t handle)
{
    return map_find(&queues, handle) != NULL;
}

static void record_queue(struct queue *queue, int64_t known_host_ns)
{
    struct record record;
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_bitfield properties = 0;
    const cl_command_queue handle = (cl_command_queue)queue->object.handle;
    target.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    target.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    target.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    const int64_t context_id = context_number(context);
    const int64_t device_id = device_number(device);
    record_begin(&record, "queue");
    record_integer(&record, next_number(NUMBER_QUEUE));
    record_integer(&record, handle_word(handle));
    record_integer(&record, (int64_t)(queue->is_forced ? queue->requested : properties));
    record_boolean(&record, (properties & CL_QUEUE_PROFILING_ENABLE) != 0);
    record_boolean(&record, queue->is_forced);
    record_integer(&record, known_host_ns);
    record_integer(&record, context_id);
    record_integer(&record, device_id);
    record_end_kept(&record, &queue->line);
    atomic_store(&queue->object.epoch, current_epoch() + 1);
}

void queue_ensure_recorded(cl_command_queue handle)
{
    KEEP_ERRNO();
    struct queue *queue = find_queue(handle);
    if (queue == NULL || atomic_load(&queue->object.epoch) == current_epoch() + 1)
        return;
    pthread_mutex_lock(&objects_mutex);
    if (atomic_load(&queue->object.epoch) != current_epoch() + 1) {
        platforms_ensure_recorded();
        record_again(&queue->line);
        atomic_store(&queue->object.epoch, current_epoch() + 1);
    }
    pthread_mutex_unlock(&objects_mutex);
}

/* Registers a new queue, even if its handle is registered for an earlier one. `array` is the program's
   list of `array_words` properties, or NULL. */
static void register_queue(cl_command_queue handle, cl_bitfield requested, bool is_forced,
                           const cl_bitfield *array, size_t array_words, int64_t known_host_ns)
{
    pthread_mutex_lock(&objects_mutex);
    struct queue *queue = (struct queue *)(void *)map_insert(&queues, (uintptr_t)handle, sizeof *queue);
    if (queue != NULL) {
        free(queue->array);
        queue->array = NULL;
        queue->requested = requested;
        queue->is_forced = is_forced;
        queue->array_words = array_words;
        if (array_words > 0 && (queue->array = malloc(array_words * sizeof *array)) != NULL)
            memcpy(queue->array, array, array_words * sizeof *array);
        record_queue(queue, known_host_ns);
    }
    pthread_mutex_unlock(&objects_mutex);
}

static bool wants_profiling(cl_bitfield requested)
{
    return settings.forces_profiling && !recording_is_over() &&
           !(requested & CL_QUEUE_PROFILING_ENABLE);
}

/* What both creation calls do when the driver has returned. */
static void queue_created(struct call *call, bool is_recorded, cl_command_queue handle, cl_int status,
                          cl_bitfield requested, bool is_forced, const cl_bitfield *array,
                          size_t array_words)
{
    KEEP_ERRNO();
    if (is_recorded)
        call_return(call);
    const int64_t known_host_ns = is_recorded ? call->row[CALL_RETURN] : now_host_ns();
    if (handle != NULL && thread_current() != NULL) {
        register_queue(handle, requested, is_forced, array, array_words, known_host_ns);
        process_watch_exit();
        loaders_adopt();
    }
    if (!is_recorded)
        return;
    call->row[CALL_QUEUE] = handle_word(handle);
    call_record(call, status);
}

cl_command_queue layer_clCreateCommandQueue(
    cl_context context, cl_device_id device, cl_bitfield properties, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    cl_command_queue queue = NULL;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateCommandQueue, NULL);
    bool is_forced = wants_profiling(properties);
    if (is_recorded)
        call_enter(&call);
    if (is_forced)
        queue = target.clCreateCommandQueue(
            context, device, properties | CL_QUEUE_PROFILING_ENABLE, &status);
    if (queue == NULL) { /* not wanted, or the driver declines */
        is_forced = false;
        queue = target.clCreateCommandQueue(context, device, properties, &status);
    }
    queue_created(&call, is_recorded, queue, status, properties, is_forced, NULL, 0);
    if (status_return != NULL)
        *status_return = status;
    return queue;
}

/* Copies a list of properties and enables profiling in it. Returns the number of words of the program's
   list with its final 0, or 0 if it is too long. */
static size_t copy_with_profiling(const cl_bitfield *list, cl_bitfield *changed, cl_bitfield *requested)
{
    size_t words = 0;
    bool has_properties = false;
    *requested = 0;
    while (list != NULL && list[words] != 0) {
        if (words + 6 > MAX_PROPERTY_WORDS)
            return 0;
        changed[words] = list[words];
        changed[words + 1] = list[words + 1];
        if (list[words] == CL_QUEUE_PROPERTIES) {
            *requested = list[words + 1];
            changed[words + 1] |= CL_QUEUE_PROFILING_ENABLE;
            has_properties = true;
        }
        words += 2;
    }
    size_t end = words;
    if (!has_properties) {
        changed[end++] = CL_QUEUE_PROPERTIES;
        changed[end++] = CL_QUEUE_PROFILING_ENABLE;
    }
    changed[end] = 0;
    return words + 1;
}

cl_command_queue layer_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_bitfield *properties, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    cl_bitfield changed[MAX_PROPERTY_WORDS];
    cl_bitfield requested;
    cl_command_queue queue = NULL;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateCommandQueueWithProperties, NULL);
    const size_t words = copy_with_profiling(properties, changed, &requested);
    bool is_forced = words > 0 && wants_profiling(requested);
    if (is_recorded)
        call_enter(&call);
    if (is_forced)
        queue = target.clCreateCommandQueueWithProperties(context, device, changed, &status);
    if (queue == NULL) { /* not wanted, or the driver declines */
        is_forced = false;
        queue = target.clCreateCommandQueueWithProperties(context, device, properties, &status);
    }
    queue_created(&call, is_recorded, queue, status, requested, is_forced, properties,
                  properties == NULL ? 0 : words);
    if (status_return != NULL)
        *status_return = status;
    return queue;
}

/* Answers a query as the driver does. */
static cl_int answer(const void *value, size_t size, size_t room, void *result, size_t *size_return)
{
    if (result != NULL) {
        if (room < size)
            return CL_INVALID_VALUE;
        if (size > 0)
            memcpy(result, value, size);
    }
    if (size_return != NULL)
        *size_return = size;
    return CL_SUCCESS;
}

cl_int layer_clGetCommandQueueInfo(
    cl_command_queue handle, cl_uint name, size_t room, void *result, size_t *size_return)
{
    if (name == CL_QUEUE_REFERENCE_COUNT)
        references_settle(NULL);
    const cl_int status = target.clGetCommandQueueInfo(handle, name, room, result, size_return);
    const struct queue *queue =
        name == CL_QUEUE_PROPERTIES || name == CL_QUEUE_PROPERTIES_ARRAY ? find_queue(handle) : NULL;
    if (queue == NULL || !queue->is_forced)
        return status;
    if (name == CL_QUEUE_PROPERTIES) {
        cl_bitfield properties = 0;
        if (status == CL_SUCCESS && result != NULL && room >= sizeof properties) {
            memcpy(&properties, result, sizeof properties);
            properties &= ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE;
            memcpy(result, &properties, sizeof properties);
        }
        return status;
    }
    /* The driver knows a longer list than the program gave. */
    if (target.clGetCommandQueueInfo(handle, name, 0, NULL, NULL) != CL_SUCCESS)
        return status;
    return answer(queue->array, queue->array_words * sizeof *queue->array, room, result, size_return);
}
