/* Eight threads launch at once: in contexts of their own, on sub-devices, out-of-order queues, wait lists,
   and a kernel object that two threads share. */
#include <pthread.h>
#include <stdint.h>

#include "common.h"

#define THREADS 8
#define LAUNCHES 500

static struct world shared;

static void *launch_shared(void *argument)
{
    (void)argument;
    for (int i = 0; i < LAUNCHES; i++)
        launch(&shared, 16);
    CHECK(CL(clFinish)(shared.queue));
    return NULL;
}

static void *launch_own(void *argument)
{
    const float factor = 1.0F;
    struct world world = *(struct world *)argument;
    cl_event previous = NULL;
    for (int i = 0; i < LAUNCHES; i++) {
        const size_t items = 16;
        const float changing = factor + (float)i;
        cl_event event;
        CHECK(CL(clSetKernelArg)(world.scale, 1, sizeof changing, &changing));
        CHECK(CL(clEnqueueNDRangeKernel)(world.queue, world.scale, 1, NULL, &items, NULL,
                                         previous != NULL, previous == NULL ? NULL : &previous, &event));
        if (previous != NULL)
            RELEASE("Event", previous);
        previous = event;
    }
    RELEASE("Event", previous);
    CHECK(CL(clFinish)(world.queue));
    return NULL;
}

static void *launch_on_part(void *argument)
{
    cl_int status;
    cl_device_id parts[2];
    const intptr_t equally[] = {0x1086, 1, 0};
    const struct world world = *(struct world *)argument;
    /* Not every device has parts. */
    if (CL(clCreateSubDevices)(world.device, equally, 2, parts, NULL) != CL_SUCCESS)
        parts[0] = parts[1] = world.device;
    const cl_context context = CL(clCreateContext)(NULL, 1, &parts[1], NULL, NULL, &status);
    CHECK(status);
    const cl_bitfield properties[] = {0x1093, 1, 0};
    const cl_command_queue queue =
        CL(clCreateCommandQueueWithProperties)(context, parts[1], properties, &status);
    CHECK(status);
    const cl_mem buffer = CL(clCreateBuffer)(context, 1, 4096, NULL, &status);
    CHECK(status);
    const int pattern = 3;
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(CL(clEnqueueFillBuffer)(queue, buffer, &pattern, 4, 0, 4096, 0, NULL, NULL));
    CHECK(CL(clFinish)(queue));
    RELEASE("MemObject", buffer);
    RELEASE("CommandQueue", queue);
    RELEASE("Context", context);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct world worlds[THREADS];
    shared = make_world(0);
    /* PoCL 3.0 sometimes dies when several threads make contexts at once. */
    for (int i = 0; i < THREADS; i++)
        worlds[i] = make_world(i & 1); /* every second queue is out of order */
    /* It sometimes dies, too, when two threads use a buffer for the first time at once. */
    launch(&shared, 16);
    CHECK(CL(clFinish)(shared.queue));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL,
                       i < 2   ? launch_shared
                       : i < 6 ? launch_own
                               : launch_on_part,
                       &worlds[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        release_world(&worlds[i]);
    }
    release_world(&shared);
    return 0;
}
