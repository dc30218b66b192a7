/* Launches a kernel as often as the first argument says, waiting after every second argument's number. */
#include <time.h>

#include "common.h"

int main(int argc, char **argv)
{
    struct timespec begin;
    struct timespec end;
    const long count = argc > 1 ? atol(argv[1]) : 100;
    const long batch = argc > 2 ? atol(argv[2]) : 1000;
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
        clock_gettime(CLOCK_MONOTONIC, &end);
        calls_ns += (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        CHECK(finish(world.queue));
    }
    printf("%.1f ns per launch\n", calls_ns / (double)(count > 0 ? count : 1));
    release_world(&world);
    return 0;
}
