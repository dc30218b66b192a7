/* What the test programs share: checked calls, a device, a context, a queue, a program.
   OpenCL is used without a header of its own: the declarations are those of the layer. */
#ifndef TESTS_NATIVE_COMMON_H
#define TESTS_NATIVE_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

#define CL_TYPE(name) __typeof__(((struct cl_dispatch *)0)->name)

/* Entry points of the loader in this process, by name. */
void *entry_point(const char *name);
#define CL(name) ((CL_TYPE(name))entry_point(#name))

/* Entry points of which the layer's table has no type. */
typedef cl_int release_function(void *);
#define RELEASE(kind, handle) ((release_function *)entry_point("clRelease" kind))((void *)(handle))
typedef cl_int get_devices_function(cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *);

#define CHECK(call)                                                            \
    do {                                                                       \
        const cl_int check_status = (call);                                    \
        if (check_status != CL_SUCCESS) {                                      \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, check_status); \
            exit(9);                                                           \
        }                                                                      \
    } while (0)

struct world {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel scale;
    cl_mem buffer;
};

#define BUFFER_BYTES 4096

cl_device_id first_device(void);

/* Makes a world with a kernel `scale(global float *, float)` of 16 work-items. */
struct world make_world(cl_bitfield queue_properties);
void launch(const struct world *world, size_t items);
void release_world(struct world *world);

#endif
