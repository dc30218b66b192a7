#include "common.h"

#include <dlfcn.h>

static const char source[] =
    "kernel void scale(global float *data, float factor) { data[get_global_id(0)] *= factor; }\n"
    "kernel void plain(global int *data, int a, local int *scratch, long b) {\n"
    "  data[get_global_id(0)] = a + (int)b; }\n"
    "kernel void nothing(void) {}\n";

void *entry_point(const char *name)
{
    static void *loader;
    if (loader == NULL) {
        const char *path = getenv("TEST_OPENCL_LOADER");
        loader = dlopen(path == NULL ? "libOpenCL.so.1" : path, RTLD_NOW | RTLD_LOCAL);
    }
    void *address = loader == NULL ? NULL : dlsym(loader, name);
    if (address == NULL) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(8);
    }
    return address;
}

cl_device_id first_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    CHECK(CL(clGetPlatformIDs)(1, &platform, NULL));
    CHECK(((get_devices_function *)entry_point("clGetDeviceIDs"))(platform, 0xFFFFFFFF, 1, &device, NULL));
    return device;
}

struct world make_world(cl_bitfield queue_properties)
{
    struct world world = {0};
    cl_int status;
    const char *text = source;
    const float factor = 2.0F;
    world.device = first_device();
    world.context = CL(clCreateContext)(NULL, 1, &world.device, NULL, NULL, &status);
    CHECK(status);
    world.queue = CL(clCreateCommandQueue)(world.context, world.device, queue_properties, &status);
    CHECK(status);
    world.program = CL(clCreateProgramWithSource)(world.context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(CL(clBuildProgram)(world.program, 0, NULL, "-DUNUSED=1", NULL, NULL));
    world.scale = CL(clCreateKernel)(world.program, "scale", &status);
    CHECK(status);
    world.buffer = CL(clCreateBuffer)(world.context, 1, BUFFER_BYTES, NULL, &status);
    CHECK(status);
    CHECK(CL(clSetKernelArg)(world.scale, 0, sizeof world.buffer, &world.buffer));
    CHECK(CL(clSetKernelArg)(world.scale, 1, sizeof factor, &factor));
    return world;
}

void launch(const struct world *world, size_t items)
{
    CHECK(CL(clEnqueueNDRangeKernel)(world->queue, world->scale, 1, NULL, &items, NULL, 0, NULL, NULL));
}

void release_world(struct world *world)
{
    CHECK(CL(clFinish)(world->queue));
    RELEASE("MemObject", world->buffer);
    RELEASE("Kernel", world->scale);
    RELEASE("Program", world->program);
    RELEASE("CommandQueue", world->queue);
    RELEASE("Context", world->context);
}
