/* A layer below the one under test that makes the driver strict:

   - It lets one thread in at a time. Queries of stamps take some time.
   - It copies wait lists before it writes events, as most drivers do; PoCL hangs on a list with the place of
     the command's own event.
   - It ends a forked child that asks for facts about platforms, devices and contexts. */
#include <pthread.h>
#include <unistd.h>

#include "common.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT cl_int clGetLayerInfo(cl_uint, size_t, void *, size_t *);
EXPORT cl_int clInitLayer(
    cl_uint, const struct cl_dispatch *, cl_uint *, const struct cl_dispatch **);
EXPORT cl_int clInitLayerWithProperties(cl_uint, const struct cl_dispatch *, cl_uint *,
                                        const struct cl_dispatch **, const cl_ulong *);

static struct cl_dispatch target;
static struct cl_dispatch strict;
static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t first_pid;

static cl_int get_stamp(cl_event event, cl_uint stage, size_t room, void *stamp, size_t *size)
{
    pthread_mutex_lock(&driver_mutex);
    usleep(500);
    const cl_int status = target.clGetEventProfilingInfo(event, stage, room, stamp, size);
    pthread_mutex_unlock(&driver_mutex);
    return status;
}

static cl_int flush(cl_command_queue queue)
{
    pthread_mutex_lock(&driver_mutex);
    const cl_int status = getpid() == first_pid ? target.clFlush(queue) : CL_SUCCESS;
    pthread_mutex_unlock(&driver_mutex);
    return status;
}

static cl_int mark(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event)
{
    cl_event copy[16];
    if (count > 16)
        return CL_INVALID_VALUE;
    if (count > 0)
        memcpy(copy, waits, count * sizeof *copy);
    return target.clEnqueueMarkerWithWaitList(queue, count, count > 0 ? copy : NULL, event);
}

static void refuse_child(const char *name)
{
    if (getpid() == first_pid)
        return;
    fprintf(stderr, "a child called %s\n", name);
    _exit(7);
}

static cl_int get_platform_fact(
    cl_platform_id platform, cl_uint name, size_t room, void *fact, size_t *size)
{
    refuse_child("clGetPlatformInfo");
    return target.clGetPlatformInfo(platform, name, room, fact, size);
}

static cl_int get_device_fact(cl_device_id device, cl_uint name, size_t room, void *fact, size_t *size)
{
    refuse_child("clGetDeviceInfo");
    return target.clGetDeviceInfo(device, name, room, fact, size);
}

static cl_int get_context_fact(
    cl_context context, cl_uint name, size_t room, void *fact, size_t *size)
{
    refuse_child("clGetContextInfo");
    return target.clGetContextInfo(context, name, room, fact, size);
}

static cl_int get_queue_fact(
    cl_command_queue queue, cl_uint name, size_t room, void *fact, size_t *size)
{
    refuse_child("clGetCommandQueueInfo");
    return target.clGetCommandQueueInfo(queue, name, room, fact, size);
}

cl_int clGetLayerInfo(cl_uint name, size_t room, void *result, size_t *size)
{
    const cl_uint version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (result != NULL && room >= sizeof version)
        memcpy(result, &version, sizeof version);
    if (size != NULL)
        *size = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint count, const struct cl_dispatch *next, cl_uint *count_return,
                   const struct cl_dispatch **dispatch)
{
    const size_t size = count * sizeof(cl_unused_entry *);
    memcpy(&target, next, size < sizeof target ? size : sizeof target);
    strict = target;
    strict.clGetEventProfilingInfo = get_stamp;
    strict.clFlush = flush;
    strict.clEnqueueMarkerWithWaitList = mark;
    strict.clGetPlatformInfo = get_platform_fact;
    strict.clGetDeviceInfo = get_device_fact;
    strict.clGetContextInfo = get_context_fact;
    strict.clGetCommandQueueInfo = get_queue_fact;
    first_pid = getpid();
    *count_return = sizeof strict / sizeof(cl_unused_entry *);
    *dispatch = &strict;
    return CL_SUCCESS;
}

cl_int clInitLayerWithProperties(cl_uint count, const struct cl_dispatch *next, cl_uint *count_return,
                                 const struct cl_dispatch **dispatch, const cl_ulong *properties)
{
    (void)properties;
    return clInitLayer(count, next, count_return, dispatch);
}
