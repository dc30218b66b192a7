/* Does what few programs do, in the way that the first argument names, and prints what it observes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define UNTOUCHED 1234

static struct world world;
static const size_t items = 16;

static void show(const char *name, long value)
{
    printf("%s %ld\n", name, value);
    fflush(stdout);
}

/* Loads a loader of OpenCL again and again, and closes it each time. */
static void reload(void)
{
    for (int i = 0; i < 10; i++) {
        void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        if (loader == NULL)
            exit(8);
#define FOUND(name) ((CL_TYPE(name))dlsym(loader, #name))
        cl_platform_id platform;
        cl_device_id device;
        cl_int status;
        CHECK(FOUND(clGetPlatformIDs)(1, &platform, NULL));
        CHECK(((get_devices_function *)dlsym(loader, "clGetDeviceIDs"))(
            platform, 0xFFFFFFFF, 1, &device, NULL));
        const cl_context context = FOUND(clCreateContext)(NULL, 1, &device, NULL, NULL, &status);
        CHECK(status);
        const cl_command_queue queue = FOUND(clCreateCommandQueue)(context, device, 0, &status);
        CHECK(status);
        CHECK(FOUND(clEnqueueMarkerWithWaitList)(queue, 0, NULL, NULL));
        CHECK(FOUND(clFinish)(queue));
        ((release_function *)dlsym(loader, "clReleaseCommandQueue"))(queue);
        ((release_function *)dlsym(loader, "clReleaseContext"))(context);
        show("closed", dlclose(loader));
    }
}

static void show_errno(const char *name)
{
    show(name, errno);
    errno = UNTOUCHED;
}

static void look_at_errno(void)
{
    cl_int status;
    cl_event event;
    errno = UNTOUCHED;
    CL(clEnqueueNDRangeKernel)(world.queue, world.scale, 1, NULL, &items, NULL, 0, NULL, &event);
    show_errno("launch");
    CL(clWaitForEvents)(1, &event);
    show_errno("wait");
    const cl_mem buffer = CL(clCreateBuffer)(world.context, 1, 64, NULL, &status);
    show_errno("buffer");
    RELEASE("MemObject", buffer);
    show_errno("release");
    const cl_kernel kernel = CL(clCreateKernel)(world.program, "nothing", &status);
    show_errno("kernel");
    CL(clSetKernelArg)(kernel, 7, 4, &status);
    show_errno("argument");
    CL(clCreateCommandQueue)(world.context, world.device, 0, &status);
    show_errno("queue");
    for (int i = 0; i < 50000; i++)
        CL(clEnqueueNDRangeKernel)(world.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    show_errno("launches");
    CL(clFinish)(world.queue);
    show_errno("finish");
}

static void *launch_in_thread(void *argument)
{
    launch(&world, 16);
    CHECK(CL(clEnqueueMarkerWithWaitList)(world.queue, 0, NULL, NULL)); /* the first of the process */
    CHECK(CL(clFinish)(world.queue));
    return argument;
}

static void use_small_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    show("stack", pthread_attr_setstacksize(&attributes, 16384));
    show("thread", pthread_create(&thread, &attributes, launch_in_thread, NULL));
    show("join", pthread_join(thread, NULL));
}

static void fork_in_callback(cl_program program, void *is_child)
{
    int status = -1;
    (void)program;
    const pid_t child = fork();
    *(int *)is_child = child == 0;
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    show("child", status);
}

/* The child returns from the call in which it was forked. */
static void fork_in_build(void)
{
    int is_child = 0;
    const cl_int status =
        CL(clBuildProgram)(world.program, 0, NULL, "-DAGAIN", fork_in_callback, &is_child);
    if (is_child)
        _exit(status == CL_SUCCESS ? 5 : 6);
    show("build", status);
}

/* The child runs no handlers of forks, but the handlers of the exit. */
static void exit_after_raw_fork(void)
{
    int status = -1;
    const pid_t child = _Fork();
    if (child == 0) {
        alarm(3);
        exit(3);
    }
    waitpid(child, &status, 0);
    show("child", status);
    launch(&world, 16);
    CHECK(CL(clFinish)(world.queue));
}

/* A variable for the event of the last command, and of the next one. */
static void chain(void)
{
    cl_event event;
    CHECK(CL(clEnqueueMarkerWithWaitList)(world.queue, 0, NULL, &event));
    for (int i = 0; i < 4; i++)
        CHECK(CL(clEnqueueMarkerWithWaitList)(world.queue, 1, &event, &event));
    CHECK(CL(clFinish)(world.queue));
}

/* Children use objects of the parent, while the layer reads the stamps of the parent's commands. */
static void fork_often(void)
{
    for (int i = 0; i < 20; i++) {
        int status = -1;
        for (int j = 0; j < 20; j++)
            CHECK(CL(clEnqueueMarkerWithWaitList)(world.queue, 0, NULL, NULL));
        CHECK(CL(clFinish)(world.queue));
        usleep(30000); /* the layer has begun to read */
        const pid_t child = fork();
        if (child == 0) {
            cl_int error;
            alarm(10);
            RELEASE("MemObject", CL(clCreateBuffer)(world.context, 1, 256, NULL, &error));
            exit(CL(clFlush)(world.queue) != CL_SUCCESS || error != CL_SUCCESS);
        }
        waitpid(child, &status, 0);
        show("child", status);
    }
}

static void fail(void)
{
    cl_uint count = UNTOUCHED;
    cl_event event = (cl_event)UNTOUCHED;
    cl_kernel kernel;
    const char *no_name = NULL;
    show("kernels", CL(clCreateKernelsInProgram)(world.program, 1, &kernel, &count));
    show("count", count);
    show("no program", CL(clCreateKernelsInProgram)(NULL, 1, &kernel, &count));
    show("count", count);
    show("dimensions", CL(clEnqueueNDRangeKernel)(
        world.queue, world.scale, 1000000, NULL, &items, NULL, 0, NULL, &event));
    show("event", (long)event);
    show("header", CL(clCompileProgram)(
        world.program, 0, NULL, "", 1, &world.program, &no_name, NULL, NULL));
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*act)(void);
    } ways[] = {
        {"errno", look_at_errno},        {"small-stack", use_small_stack},
        {"fork-in-build", fork_in_build}, {"raw-fork", exit_after_raw_fork},
        {"fail", fail},                  {"chain", chain},
        {"fork-often", fork_often},
    };
    if (argc < 2)
        return 1;
    if (strcmp(argv[1], "reload") == 0) {
        reload();
        return 0;
    }
    world = make_world(0);
    launch(&world, 16);
    CHECK(CL(clFinish)(world.queue));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].act();
    return 0;
}
