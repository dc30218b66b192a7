/* Launches a kernel as often as the first argument says, waiting after every second argument's number; for as many
   milliseconds as the fourth one says it calls the driver before each wait. */
#include <time.h>

#include "common.h"

static double elapsed_ns(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e9 + (double)(now.tv_nsec - since->tv_nsec);
}

int main(int argc, char **argv)
{
    struct timespec begin;
    struct timespec end;
    const long count = argc > 1 ? atol(argv[1]) : 100;
    const long batch = argc > 2 ? atol(argv[2]) : 1000;
    const long busy_ms = argc > 4 ? atol(argv[4]) : 0;
    struct world world = make_world(argc > 3 ? (cl_bitfield)atol(argv[3]) : 0);
    const CL_TYPE(clEnqueueNDRangeKernel) enqueue = CL(clEnqueueNDRangeKernel);
    const CL_TYPE(clFinish) finish = CL(clFinish);
    const size_t items = 16;
    double calls_ns = 0;
    launch(&world, items);
    CHECK(finish(world.queue));
    for (long i = 0; i < count;) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (long j = 0; j < batch && i < count; i++, j++)
            CHECK(enqueue(world.queue, world.scale, 1, NULL, &items, NULL, 0, NULL, NULL));
        calls_ns += elapsed_ns(&begin);
        clock_gettime(CLOCK_MONOTONIC, &end);
        while (elapsed_ns(&end) < (double)busy_ms * 1e6)
            CHECK(CL(clFlush)(world.queue));
        CHECK(finish(world.queue));
    }
    printf("%.1f ns per launch\n", calls_ns / (double)(count > 0 ? count : 1));
    release_world(&world);
    return 0;
}
