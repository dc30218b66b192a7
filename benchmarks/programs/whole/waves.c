/* Waves on a string, step by step, with the state read back now and then.

   Usage: waves STEPS PROFILING PLATFORM. */

#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this program needs of OpenCL: it builds where no headers are installed. */
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_mem *cl_mem;
typedef void *pointer;

cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
cl_int clGetPlatformInfo(cl_platform_id, cl_uint, size_t, pointer, size_t *);
cl_int clGetDeviceIDs(cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *);
cl_context clCreateContext(pointer, cl_uint, cl_device_id *, pointer, pointer, cl_int *);
cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_bitfield, cl_int *);
cl_program clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
cl_int clBuildProgram(cl_program, cl_uint, cl_device_id *, const char *, pointer, pointer);
cl_kernel clCreateKernel(cl_program, const char *, cl_int *);
cl_mem clCreateBuffer(cl_context, cl_bitfield, size_t, pointer, cl_int *);
cl_int clSetKernelArg(cl_kernel, cl_uint, size_t, const void *);
cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                              const size_t *, cl_uint, pointer, pointer);
cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_uint, size_t, size_t, pointer, cl_uint,
                           pointer, pointer);
cl_int clFinish(cl_command_queue);
cl_int clReleaseMemObject(cl_mem);
cl_int clReleaseKernel(cl_kernel);
cl_int clReleaseProgram(cl_program);
cl_int clReleaseCommandQueue(cl_command_queue);
cl_int clReleaseContext(cl_context);

#define CL_SUCCESS 0
#define CL_TRUE 1
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFF
#define CL_PLATFORM_NAME 0x0902
#define CL_QUEUE_PROFILING_ENABLE (1 << 1)
#define CL_MEM_READ_WRITE (1 << 0)
#define CL_MEM_COPY_HOST_PTR (1 << 5)

#define POINTS 4096
#define GROUP 64
#define STEPS_PER_READ 50
#define MAX_PLATFORMS 16

static const char *source =
    "kernel void wave(global const float *before, global const float *now, global float *next,\n"
    "                 float speed)\n"
    "{\n"
    "    const int i = get_global_id(0), last = get_global_size(0) - 1;\n"
    "    const float left = i == 0 ? 0 : now[i - 1], right = i == last ? 0 : now[i + 1];\n"
    "    next[i] = 2 * now[i] - before[i] + speed * (left - 2 * now[i] + right);\n"
    "}\n";

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", call, status);
    exit(1);
}

static cl_platform_id find_platform(const char *part)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    char name[256];
    check(clGetPlatformIDs(MAX_PLATFORMS, platforms, &count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        check(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL), "name");
        if (strcasestr(name, part) != NULL)
            return platforms[i];
    }
    fprintf(stderr, "no platform named %s\n", part);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const int steps = atoi(argv[1]);
    const cl_bitfield properties =
        strcmp(argv[2], "1") == 0 ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_platform_id platform = find_platform(argv[3]);
    cl_device_id device;
    cl_int status;
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "wave", &status);
    check(status, "clCreateKernel");

    static float heights[POINTS];
    for (int i = 0; i < POINTS; i++)
        heights[i] = (float)i * (float)(POINTS - i) / ((float)POINTS * POINTS);
    cl_mem states[3];
    for (int i = 0; i < 3; i++) {
        states[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof heights, heights, &status);
        check(status, "clCreateBuffer");
    }
    const size_t items = POINTS;
    const size_t group = GROUP;
    const float speed = 0.25f;
    check(clSetKernelArg(kernel, 3, sizeof speed, &speed), "clSetKernelArg");
    for (int step = 0; step < steps; step++) {
        for (cl_uint i = 0; i < 3; i++)
            check(clSetKernelArg(kernel, i, sizeof(cl_mem), &states[((cl_uint)step + i) % 3]),
                  "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
              "clEnqueueNDRangeKernel");
        if (step % STEPS_PER_READ == 0)
            check(clEnqueueReadBuffer(queue, states[(step + 2) % 3], CL_TRUE, 0, sizeof heights,
                                      heights, 0, NULL, NULL),
                  "clEnqueueReadBuffer");
    }
    check(clFinish(queue), "clFinish");
    if (!isfinite(heights[POINTS / 2]))
        return 1;
    printf("%.3f\n", (double)heights[POINTS / 2]);
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(states[i]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
