/* Kernel objects and their arguments. */
#ifndef CLTRACE_KERNELS_H
#define CLTRACE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "handle_map.h"
#include "opencl.h"
#include "threads.h"

struct argument;

/* A kernel object. `number` is that of its kernel function, which other objects share. */
struct kernel {
    struct object object;
    atomic_llong number;
    atomic_bool is_recorded;   /* its launches are recorded */
    atomic_bool has_changed;   /* an argument was set since its list was written */
    atomic_llong arguments_id; /* the list that was written last, 0 if none */
    atomic_bool has_new_form;
    atomic_llong form_id;
    cl_uint argument_count;
    struct argument *arguments;
};

/* Returns a kernel object, and records it at its first use. NULL for an invalid handle. */
struct kernel *kernel_find(struct thread *thread, cl_kernel handle);

/* Registers a new kernel object, even if its handle is registered for an earlier one. */
struct kernel *kernel_register(cl_kernel handle);

/* Notes what the program set an argument to. */
void argument_set(struct kernel *kernel, cl_uint index, size_t size, const void *value);
void argument_set_svm(struct kernel *kernel, cl_uint index, const void *address);

/* Makes room for the arguments of a kernel object, all unset, and reads their declarations. */
bool arguments_reset(struct kernel *kernel, cl_kernel handle, cl_uint count);

/* Copies the arguments of a kernel object to its clone. */
void arguments_copy(struct kernel *clone, const struct kernel *original);

/* Returns the number of the list of a kernel's arguments, and writes the list if it has changed. */
int64_t arguments_number(struct thread *thread, struct kernel *kernel);

/* Records the contents of the buffers among the arguments, where these are known and not recorded yet. */
void arguments_record_contents(const struct kernel *kernel);

/* Tells that a launch that is not recorded may have written the buffers among the arguments. */
void kernel_lose_contents(cl_kernel handle);
void arguments_lose_contents(const struct kernel *kernel);

cl_kernel layer_clCreateKernel(cl_program, const char *, cl_int *);
cl_int layer_clCreateKernelsInProgram(cl_program, cl_uint, cl_kernel *, cl_uint *);
cl_kernel layer_clCloneKernel(cl_kernel, cl_int *);
cl_int layer_clSetKernelArg(cl_kernel, cl_uint, size_t, const void *);
cl_int layer_clSetKernelArgSVMPointer(cl_kernel, cl_uint, const void *);
cl_int layer_clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                    const size_t *, cl_uint, const cl_event *, cl_event *);
cl_int layer_clEnqueueTask(cl_command_queue, cl_kernel, cl_uint, const cl_event *, cl_event *);
cl_int layer_clEnqueueNativeKernel(cl_command_queue, cl_native_kernel, void *, size_t, cl_uint,
                                   const cl_mem *, const void **, cl_uint, const cl_event *, cl_event *);
cl_sampler layer_clCreateSampler(cl_context, cl_uint, cl_uint, cl_uint, cl_int *);
cl_sampler layer_clCreateSamplerWithProperties(cl_context, const cl_bitfield *, cl_int *);

/* Returns true if `handle` is, or was, that of a sampler. */
bool sampler_is_known(uintptr_t handle);

#endif
