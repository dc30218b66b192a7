/* Command queues: their creation with profiling, and what the program sees of that. */
#ifndef CLTRACE_QUEUES_H
#define CLTRACE_QUEUES_H

#include "opencl.h"

/* Records a queue that this process inherited from its parent. */
void queue_ensure_recorded(cl_command_queue queue);

/* Returns true if `handle` is, or was, that of a queue. */
int queue_is_known(uintptr_t handle);

cl_command_queue layer_clCreateCommandQueue(cl_context, cl_device_id, cl_bitfield, cl_int *);
cl_command_queue layer_clCreateCommandQueueWithProperties(
    cl_context, cl_device_id, const cl_bitfield *, cl_int *);
cl_int layer_clGetCommandQueueInfo(cl_command_queue, cl_uint, size_t, void *, size_t *);

#endif
