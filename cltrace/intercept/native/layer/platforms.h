/* Platforms, devices and contexts. */
#ifndef CLTRACE_PLATFORMS_H
#define CLTRACE_PLATFORMS_H

#include <stdint.h>

#include "opencl.h"

/* Return the number of an object, and record the object at its first use. */
int64_t device_number(cl_device_id device);
int64_t context_number(cl_context context);

/* Records the platforms, devices and contexts that this process inherited. The driver is not asked again: in
   a forked child many drivers do not answer. */
void platforms_ensure_recorded(void);

/* Records a new context, even if its handle is registered for an earlier one. */
int64_t context_register(cl_context context);

/* Returns the devices of a context or of a program, and their number. The caller frees them. */
cl_device_id *context_devices(cl_context context, cl_uint *count);

cl_context layer_clCreateContext(
    const intptr_t *, cl_uint, const cl_device_id *, cl_context_callback, void *, cl_int *);
cl_context layer_clCreateContextFromType(
    const intptr_t *, cl_bitfield, cl_context_callback, void *, cl_int *);
cl_int layer_clCreateSubDevices(cl_device_id, const intptr_t *, cl_uint, cl_device_id *, cl_uint *);

#endif
