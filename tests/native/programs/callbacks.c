/* Callbacks of the program: at the end of a build, of a command, of a memory object. They call OpenCL. */
#include <unistd.h>

#include "common.h"

static struct world world;
static volatile int built;
static volatile int completed;
static volatile int destroyed;

static void on_build(cl_program program, void *user_data)
{
    cl_int status = 1;
    CHECK(CL(clGetProgramBuildInfo)(program, world.device, 0x1181, sizeof status, &status, NULL));
    built = *(int *)user_data + status;
}

static void on_event(cl_event event, cl_int status, void *user_data)
{
    cl_int error;
    const cl_mem buffer = CL(clCreateBuffer)(world.context, 1, 333, NULL, &error);
    CHECK(error);
    RELEASE("MemObject", buffer);
    completed = *(int *)user_data + status + (event == NULL);
}

static void on_destruction(cl_mem memory, void *user_data)
{
    (void)memory;
    destroyed = *(int *)user_data;
}

int main(void)
{
    static int one = 1;
    const char *text = "kernel void built(global int *a) { a[0] = 1; }";
    const size_t items = 16;
    cl_int status;
    cl_event event;
    world = make_world(0);
    const cl_program program = CL(clCreateProgramWithSource)(world.context, 1, &text, NULL, &status);
    CHECK(CL(clBuildProgram)(program, 0, NULL, "-DASYNC", on_build, &one));
    while (!built)
        usleep(1000);
    CHECK(CL(clEnqueueNDRangeKernel)(world.queue, world.scale, 1, NULL, &items, NULL, 0, NULL, &event));
    CHECK(CL(clSetEventCallback)(event, 0, on_event, &one));
    CHECK(CL(clFinish)(world.queue));
    while (!completed)
        usleep(1000);
    RELEASE("Event", event);
    CHECK(CL(clSetMemObjectDestructorCallback)(world.buffer, on_destruction, &one));
    RELEASE("Program", program);
    release_world(&world);
    printf("%d %d %d\n", built, completed, destroyed);
    return 0;
}
