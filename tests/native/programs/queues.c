/* Makes queues in both ways and prints the properties that the program sees of each. */
#include "common.h"

static void show(const char *name, cl_command_queue queue)
{
    cl_bitfield properties = 0;
    cl_bitfield array[8] = {0};
    size_t size = 99;
    CHECK(CL(clGetCommandQueueInfo)(queue, 0x1093, sizeof properties, &properties, NULL));
    CHECK(CL(clGetCommandQueueInfo)(queue, 0x1098, sizeof array, array, &size));
    printf("%s %llu array", name, (unsigned long long)properties);
    for (size_t i = 0; i < size / sizeof *array; i++)
        printf(" %llu", (unsigned long long)array[i]);
    printf("\n");
    RELEASE("CommandQueue", queue);
}

int main(void)
{
    cl_int status;
    struct world world = make_world(0);
    const cl_bitfield out_of_order[] = {0x1093, 1, 0};
    const cl_bitfield profiling[] = {0x1093, 2, 0};
    const cl_bitfield nothing[] = {0};
    const CL_TYPE(clCreateCommandQueueWithProperties) create = CL(clCreateCommandQueueWithProperties);
    show("plain", CL(clCreateCommandQueue)(world.context, world.device, 0, &status));
    show("plain-profiling", CL(clCreateCommandQueue)(world.context, world.device, 2, &status));
    show("out-of-order", create(world.context, world.device, out_of_order, &status));
    show("profiling", create(world.context, world.device, profiling, &status));
    show("nothing", create(world.context, world.device, nothing, &status));
    show("null", create(world.context, world.device, NULL, &status));
    release_world(&world);
    return 0;
}
