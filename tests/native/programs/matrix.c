/* Calls every entry point that the layer replaces, with sizes and offsets that tell them apart.
   Prints the handles of the objects, and a line per call that may fail: its status. */
#include <stdint.h>

#include "common.h"

#define SHOW(name, handle) printf("%s %lld\n", name, (long long)(intptr_t)(handle))
#define TRY(name, call) printf("status %s %d\n", name, (int)(call))

static void write_to_host(void *arguments)
{
    (void)arguments;
}

static void on_event(cl_event event, cl_int status, void *user_data)
{
    (void)event;
    (void)status;
    (void)user_data;
}

static const size_t rect_origin[3] = {4, 2, 0};
static const size_t host_origin[3] = {0, 0, 0};
static const size_t rect_region[3] = {8, 3, 1};
static char host[BUFFER_BYTES];

static void transfer(const struct world *world, cl_mem other)
{
    const cl_mem buffer = world->buffer;
    const cl_command_queue queue = world->queue;
    const int pattern = 7;
    cl_event first;
    cl_event second;
    cl_event waits[2];
    CHECK(CL(clEnqueueWriteBuffer)(queue, buffer, 1, 16, 128, host, 0, NULL, NULL));
    CHECK(CL(clEnqueueReadBuffer)(queue, buffer, 1, 32, 256, host, 0, NULL, NULL));
    CHECK(CL(clEnqueueWriteBuffer)(queue, buffer, 0, 0, 12, host, 0, NULL, &first));
    CHECK(CL(clEnqueueReadBuffer)(queue, buffer, 0, 0, 20, host, 1, &first, &second));
    waits[0] = first;
    waits[1] = second;
    SHOW("first_event", first);
    SHOW("second_event", second);
    CHECK(CL(clEnqueueCopyBuffer)(queue, buffer, other, 4, 8, 64, 2, waits, NULL));
    CHECK(CL(clEnqueueFillBuffer)(queue, other, &pattern, 4, 40, 80, 0, NULL, NULL));
    CHECK(CL(clEnqueueReadBufferRect)(queue, buffer, 1, rect_origin, host_origin, rect_region, 64, 0, 0, 0,
                                      host, 0, NULL, NULL));
    CHECK(CL(clEnqueueWriteBufferRect)(queue, buffer, 1, rect_origin, host_origin, rect_region, 64, 0, 0,
                                       0, host, 0, NULL, NULL));
    CHECK(CL(clEnqueueCopyBufferRect)(queue, buffer, other, rect_origin, host_origin, rect_region, 64, 0,
                                      64, 0, 0, NULL, NULL));
    CHECK(CL(clEnqueueMigrateMemObjects)(queue, 1, &buffer, 0, 0, NULL, NULL));
    CHECK(CL(clEnqueueMigrateMemObjects)(queue, 1, &buffer, 1, 0, NULL, NULL));
    CHECK(CL(clWaitForEvents)(2, waits));
    RELEASE("Event", first);
    RELEASE("Event", second);
}

static void map(const struct world *world)
{
    cl_int status;
    void *address = CL(clEnqueueMapBuffer)(
        world->queue, world->buffer, 1, 2, 24, 48, 0, NULL, NULL, &status);
    CHECK(status);
    CHECK(CL(clEnqueueUnmapMemObject)(world->queue, world->buffer, address, 0, NULL, NULL));
    address = CL(clEnqueueMapBuffer)(world->queue, world->buffer, 1, 1, 0, 96, 0, NULL, NULL, &status);
    CHECK(status);
    CHECK(CL(clEnqueueUnmapMemObject)(world->queue, world->buffer, address, 0, NULL, NULL));
}

static void use_images(const struct world *world)
{
    const cl_image_format format = {0x10B5, 0x10DE}; /* RGBA, float: 16 bytes */
    const cl_image_desc description = {.type = 0x10F1, .width = 16, .height = 8};
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {4, 2, 1};
    const float color[4] = {1, 2, 3, 4};
    size_t row_pitch;
    cl_int status;
    const cl_command_queue queue = world->queue;
    const cl_mem image = CL(clCreateImage)(world->context, 1, &format, &description, NULL, &status);
    CHECK(status);
    const cl_mem second = CL(clCreateImage2D)(world->context, 1, &format, 16, 8, 0, NULL, &status);
    CHECK(status);
    SHOW("image", image);
    SHOW("second_image", second);
    CHECK(CL(clEnqueueWriteImage)(queue, image, 1, origin, region, 0, 0, host, 0, NULL, NULL));
    CHECK(CL(clEnqueueReadImage)(queue, image, 1, origin, region, 0, 0, host, 0, NULL, NULL));
    CHECK(CL(clEnqueueCopyImage)(queue, image, second, origin, origin, region, 0, NULL, NULL));
    CHECK(CL(clEnqueueCopyImageToBuffer)(queue, image, world->buffer, origin, region, 64, 0, NULL, NULL));
    CHECK(CL(clEnqueueCopyBufferToImage)(queue, world->buffer, image, 32, origin, region, 0, NULL, NULL));
    CHECK(CL(clEnqueueFillImage)(queue, image, color, origin, region, 0, NULL, NULL));
    void *address = CL(clEnqueueMapImage)(
        queue, image, 1, 1, origin, region, &row_pitch, NULL, 0, NULL, NULL, &status);
    CHECK(status);
    CHECK(CL(clEnqueueUnmapMemObject)(queue, image, address, 0, NULL, NULL));
    CHECK(CL(clFinish)(queue));
    RELEASE("MemObject", second);
    RELEASE("MemObject", image);
}

static void use_shared_memory(const struct world *world)
{
    const cl_command_queue queue = world->queue;
    const char pattern = 1;
    char *memory = CL(clSVMAlloc)(world->context, 1, 512, 0);
    void *freed = CL(clSVMAlloc)(world->context, 1, 1024, 0);
    SHOW("svm", memory);
    SHOW("second_svm", freed);
    CHECK(CL(clEnqueueSVMMemFill)(queue, memory, &pattern, 1, 100, 0, NULL, NULL));
    CHECK(CL(clEnqueueSVMMemcpy)(queue, 1, memory + 128, memory, 60, 0, NULL, NULL));
    CHECK(CL(clEnqueueSVMMap)(queue, 1, 2, memory, 512, 0, NULL, NULL));
    CHECK(CL(clEnqueueSVMUnmap)(queue, memory, 0, NULL, NULL));
    const void *migrated = memory;
    TRY("clEnqueueSVMMigrateMem", CL(clEnqueueSVMMigrateMem)(queue, 1, &migrated, NULL, 0, 0, NULL, NULL));
    CHECK(CL(clFinish)(queue));
    CHECK(CL(clSetKernelArgSVMPointer)(world->scale, 0, memory));
    launch(world, 16);
    CHECK(CL(clEnqueueSVMFree)(queue, 1, &freed, NULL, NULL, 0, NULL, NULL));
    CHECK(CL(clFinish)(queue));
    CL(clSVMFree)(world->context, memory);
    CHECK(CL(clSetKernelArg)(world->scale, 0, sizeof world->buffer, &world->buffer));
}

static void synchronise(const struct world *world)
{
    cl_int status;
    cl_event event;
    cl_event marker;
    const cl_event user = CL(clCreateUserEvent)(world->context, &status);
    CHECK(status);
    CHECK(CL(clEnqueueMarker)(world->queue, &marker));
    SHOW("marker_event", marker);
    CHECK(CL(clEnqueueMarkerWithWaitList)(world->queue, 1, &marker, &event));
    CHECK(CL(clSetEventCallback)(event, 0, on_event, NULL));
    CHECK(CL(clEnqueueBarrier)(world->queue));
    CHECK(CL(clEnqueueBarrierWithWaitList)(world->queue, 1, &user, NULL));
    CHECK(CL(clSetUserEventStatus)(user, 0));
    CHECK(CL(clFlush)(world->queue));
    CHECK(CL(clFinish)(world->queue));
    RELEASE("Event", event);
    RELEASE("Event", marker);
    RELEASE("Event", user);
}

static void launch_in_all_ways(struct world *world)
{
    const size_t global_size[3] = {8, 4, 2};
    const size_t local_size[3] = {4, 2, 1};
    const size_t offset[3] = {1, 2, 3};
    const int number = 41;
    const int64_t wide = 42;
    cl_int status;
    cl_uint count;
    cl_kernel kernels[3];
    const cl_kernel plain = CL(clCreateKernel)(world->program, "plain", &status);
    CHECK(status);
    CHECK(CL(clSetKernelArg)(plain, 0, sizeof world->buffer, &world->buffer));
    CHECK(CL(clSetKernelArg)(plain, 1, sizeof number, &number));
    CHECK(CL(clSetKernelArg)(plain, 2, 256, NULL));
    CHECK(CL(clSetKernelArg)(plain, 3, sizeof wide, &wide));
    CHECK(CL(clEnqueueNDRangeKernel)(
        world->queue, plain, 3, offset, global_size, local_size, 0, NULL, NULL));
    CHECK(CL(clEnqueueNDRangeKernel)(world->queue, plain, 2, NULL, global_size, NULL, 0, NULL, NULL));
    CHECK(CL(clCreateKernelsInProgram)(world->program, 3, kernels, &count));
    CHECK(CL(clEnqueueTask)(world->queue, plain, 0, NULL, NULL));
    /* PoCL 3.0 reads beyond local arguments of a clone. */
    const cl_kernel clone = CL(clCloneKernel)(world->scale, &status);
    TRY("clCloneKernel", status);
    if (status == CL_SUCCESS) {
        const float factor = 1.0F; /* NVIDIA's driver clones without the arguments */
        CHECK(CL(clSetKernelArg)(clone, 0, sizeof world->buffer, &world->buffer));
        CHECK(CL(clSetKernelArg)(clone, 1, sizeof factor, &factor));
        launch(&(struct world){.queue = world->queue, .scale = clone}, 4);
        RELEASE("Kernel", clone);
    }
    TRY("clEnqueueNativeKernel",
        CL(clEnqueueNativeKernel)(world->queue, write_to_host, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    CHECK(CL(clFinish)(world->queue));
    for (cl_uint i = 0; i < count; i++)
        RELEASE("Kernel", kernels[i]);
    RELEASE("Kernel", plain);
}

static void fail(const struct world *world)
{
    const size_t huge = 1;
    const size_t bad_local_size = 3;
    const size_t items = 16;
    const char *wrong = "kernel void wrong( {";
    cl_int status;
    TRY("failed clEnqueueReadBuffer",
        CL(clEnqueueReadBuffer)(world->queue, world->buffer, 1, 0, BUFFER_BYTES * 2, host, 0, NULL, NULL));
    TRY("failed clEnqueueNDRangeKernel",
        CL(clEnqueueNDRangeKernel)(
            world->queue, world->scale, 1, NULL, &items, &bad_local_size, 0, NULL, NULL));
    TRY("failed clSetKernelArg", CL(clSetKernelArg)(world->scale, 77, sizeof huge, &huge));
    CL(clCreateBuffer)(world->context, 1, 0, NULL, &status);
    TRY("failed clCreateBuffer", status);
    CL(clCreateKernel)(world->program, "missing", &status);
    TRY("failed clCreateKernel", status);
    const cl_program program = CL(clCreateProgramWithSource)(world->context, 1, &wrong, NULL, &status);
    TRY("failed clBuildProgram", CL(clBuildProgram)(program, 0, NULL, NULL, NULL, NULL));
    RELEASE("Program", program);
}

static void compile_and_link(const struct world *world)
{
    const char *header_text = "#define FACTOR 3\n";
    const char *text = "#include \"factor.h\"\nkernel void linked(global int *a) { a[0] = FACTOR; }";
    const char *name = "factor.h";
    size_t size = 0;
    cl_int status;
    const cl_program header = CL(clCreateProgramWithSource)(world->context, 1, &header_text, NULL, &status);
    const cl_program part = CL(clCreateProgramWithSource)(world->context, 1, &text, NULL, &status);
    TRY("clCompileProgram",
        CL(clCompileProgram)(part, 0, NULL, "-w", 1, &header, &name, NULL, NULL));
    const cl_program linked =
        CL(clLinkProgram)(world->context, 0, NULL, "", 1, &part, NULL, NULL, &status);
    TRY("clLinkProgram", status);
    CHECK(CL(clGetProgramInfo)(world->program, 0x1165, sizeof size, &size, NULL)); /* BINARY_SIZES */
    unsigned char *binary = malloc(size);
    CHECK(CL(clGetProgramInfo)(world->program, 0x1166, sizeof binary, &binary, NULL));
    const cl_program copy = CL(clCreateProgramWithBinary)(
        world->context, 1, &world->device, &size, (const unsigned char **)&binary, NULL, &status);
    CHECK(status);
    printf("binary_bytes %zu\n", size);
    CHECK(CL(clBuildProgram)(copy, 1, &world->device, "", NULL, NULL));
    free(binary);
    RELEASE("Program", copy);
    if (linked != NULL)
        RELEASE("Program", linked);
    RELEASE("Program", part);
    RELEASE("Program", header);
}

int main(void)
{
    cl_int status;
    struct world world = make_world(0);
    const cl_buffer_region region = {1024, 512};
    const cl_mem other = CL(clCreateBuffer)(world.context, 1, 2048, NULL, &status);
    CHECK(status);
    const cl_mem part = CL(clCreateSubBuffer)(world.buffer, 1, 0x1220, &region, &status);
    CHECK(status);
    SHOW("buffer", world.buffer);
    SHOW("other", other);
    SHOW("part", part);
    SHOW("queue", world.queue);
    transfer(&world, other);
    map(&world);
    use_images(&world);
    use_shared_memory(&world);
    synchronise(&world);
    launch_in_all_ways(&world);
    compile_and_link(&world);
    fail(&world);
    RELEASE("MemObject", part);
    RELEASE("MemObject", other);
    release_world(&world);
    return 0;
}
