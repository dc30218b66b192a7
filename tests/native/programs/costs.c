/* Times entry points. Prints a line per entry point: its name, the caller's CPU ns per call, the wall ns
   per call, and the whole process's CPU ns per call including the wait at the end of each batch.
   The arguments: the number of calls, the number of calls per batch. */
#include <stdint.h>
#include <time.h>

#include "common.h"

#define MAX_BATCHES 4096

static struct world world;
static cl_mem other;
static cl_kernel changing;
static const size_t items = 16;
static int number;
static char host[BUFFER_BYTES];

static double clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *first, const void *second)
{
    const double difference = *(const double *)first - *(const double *)second;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, long count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void measure(const char *name, void (*call)(void), long count, long batch)
{
    static double cpu_ns[MAX_BATCHES];
    static double wall_ns[MAX_BATCHES];
    static double process_ns[MAX_BATCHES];
    long batches = count / batch;
    if (batches > MAX_BATCHES)
        batches = MAX_BATCHES;
    for (long i = -1; i < batches; i++) { /* the first warms up */
        const double process = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        const double cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const double wall = clock_ns(CLOCK_MONOTONIC);
        for (long j = 0; j < batch; j++)
            call();
        if (i >= 0) {
            wall_ns[i] = (clock_ns(CLOCK_MONOTONIC) - wall) / (double)batch;
            cpu_ns[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)batch;
        }
        CHECK(CL(clFinish)(world.queue));
        if (i >= 0)
            process_ns[i] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process) / (double)batch;
    }
    /* The layer's threads work at their own times, so the process's time is a mean. */
    double total = 0;
    for (long i = 0; i < batches; i++)
        total += process_ns[i];
    printf("%s %.1f %.1f %.1f\n", name, median(cpu_ns, batches), median(wall_ns, batches),
           total / (double)batches);
}

#define ENTRY(name) \
    static CL_TYPE(name) name

ENTRY(clEnqueueNDRangeKernel);
ENTRY(clSetKernelArg);
ENTRY(clEnqueueCopyBuffer);
ENTRY(clEnqueueFillBuffer);
ENTRY(clEnqueueWriteBuffer);
ENTRY(clEnqueueMarkerWithWaitList);
ENTRY(clCreateBuffer);
ENTRY(clFlush);
static release_function *release_memory;
static release_function *release_event;
static cl_event awaited;

static void launch_same(void)
{
    clEnqueueNDRangeKernel(world.queue, world.scale, 1, NULL, &items, NULL, 0, NULL, NULL);
}

static void launch_with_event(void)
{
    cl_event event;
    clEnqueueNDRangeKernel(world.queue, world.scale, 1, NULL, &items, NULL, 0, NULL, &event);
    release_event(event);
}

static void launch_after_event(void)
{
    clEnqueueNDRangeKernel(world.queue, world.scale, 1, NULL, &items, NULL, 1, &awaited, NULL);
}

static void launch_changed(void)
{
    number++;
    clSetKernelArg(changing, 1, sizeof number, &number);
    clEnqueueNDRangeKernel(world.queue, changing, 1, NULL, &items, NULL, 0, NULL, NULL);
}

static void set_argument(void)
{
    number++;
    clSetKernelArg(changing, 1, sizeof number, &number);
}

static void copy(void)
{
    clEnqueueCopyBuffer(world.queue, world.buffer, other, 0, 0, 64, 0, NULL, NULL);
}

static void fill(void)
{
    clEnqueueFillBuffer(world.queue, other, &number, sizeof number, 0, 64, 0, NULL, NULL);
}

static void write_blocking(void)
{
    clEnqueueWriteBuffer(world.queue, world.buffer, 1, 0, 64, host, 0, NULL, NULL);
}

static void write_blocking_with_event(void)
{
    cl_event event;
    clEnqueueWriteBuffer(world.queue, world.buffer, 1, 0, 64, host, 0, NULL, &event);
    release_event(event);
}

static void mark(void)
{
    clEnqueueMarkerWithWaitList(world.queue, 0, NULL, NULL);
}

static void flush(void)
{
    clFlush(world.queue);
}

static void make_buffer(void)
{
    release_memory(clCreateBuffer(world.context, 1, 64, NULL, NULL));
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 100000;
    const long batch = argc > 2 ? atol(argv[2]) : 500;
    const int64_t wide = 1;
    cl_int status;
    world = make_world(2); /* with profiling: the layer is not to be blamed for that */
    other = CL(clCreateBuffer)(world.context, 1, BUFFER_BYTES, NULL, &status);
    CHECK(status);
    changing = CL(clCreateKernel)(world.program, "plain", &status);
    CHECK(status);
    CHECK(CL(clSetKernelArg)(changing, 0, sizeof world.buffer, &world.buffer));
    CHECK(CL(clSetKernelArg)(changing, 1, sizeof number, &number));
    CHECK(CL(clSetKernelArg)(changing, 2, 64, NULL));
    CHECK(CL(clSetKernelArg)(changing, 3, sizeof wide, &wide));
    clEnqueueNDRangeKernel = CL(clEnqueueNDRangeKernel);
    clSetKernelArg = CL(clSetKernelArg);
    clEnqueueCopyBuffer = CL(clEnqueueCopyBuffer);
    clEnqueueFillBuffer = CL(clEnqueueFillBuffer);
    clEnqueueWriteBuffer = CL(clEnqueueWriteBuffer);
    clEnqueueMarkerWithWaitList = CL(clEnqueueMarkerWithWaitList);
    clCreateBuffer = CL(clCreateBuffer);
    clFlush = CL(clFlush);
    release_memory = (release_function *)entry_point("clReleaseMemObject");
    release_event = (release_function *)entry_point("clReleaseEvent");
    CHECK(clEnqueueMarkerWithWaitList(world.queue, 0, NULL, &awaited));
    measure("launch", launch_same, count, batch);
    measure("launch-event", launch_with_event, count, batch);
    measure("launch-wait-list", launch_after_event, count, batch);
    measure("set-arg-and-launch", launch_changed, count, batch);
    measure("set-arg", set_argument, count, batch);
    measure("copy", copy, count, batch);
    measure("fill", fill, count, batch);
    measure("blocking-write", write_blocking, count / 4, batch);
    measure("blocking-write-event", write_blocking_with_event, count / 4, batch);
    measure("marker", mark, count, batch);
    measure("flush", flush, count, batch);
    measure("buffer-and-release", make_buffer, count, batch);
    release_event(awaited);
    return 0;
}
