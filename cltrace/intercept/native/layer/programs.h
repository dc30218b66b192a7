/* Programs: their sources and their builds. */
#ifndef CLTRACE_PROGRAMS_H
#define CLTRACE_PROGRAMS_H

#include <stdint.h>

#include "opencl.h"

/* Returns the number of a program, and records the program at its first use. */
int64_t program_number(cl_program program);

/* Returns the number of the kernel function `name` of a program. `is_new` tells that the function has
   not been recorded yet. The caller holds `objects_mutex`. */
int64_t program_kernel_number(cl_program program, const char *name, int *is_new);

/* Returns the context of a program, or NULL. */
cl_context program_context(cl_program program);

/* Gives the source of the next program that the calling thread makes from binaries. It is copied. With
   NULL there is none. */
void program_offer_source(const char *bytes, size_t length);

cl_program layer_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
cl_program layer_clCreateProgramWithBinary(cl_context, cl_uint, const cl_device_id *, const size_t *,
                                           const unsigned char **, cl_int *, cl_int *);
cl_program layer_clCreateProgramWithIL(cl_context, const void *, size_t, cl_int *);
cl_program layer_clCreateProgramWithBuiltInKernels(
    cl_context, cl_uint, const cl_device_id *, const char *, cl_int *);
cl_int layer_clBuildProgram(
    cl_program, cl_uint, const cl_device_id *, const char *, cl_program_callback, void *);
cl_int layer_clCompileProgram(cl_program, cl_uint, const cl_device_id *, const char *, cl_uint,
                              const cl_program *, const char **, cl_program_callback, void *);
cl_program layer_clLinkProgram(cl_context, cl_uint, const cl_device_id *, const char *, cl_uint,
                               const cl_program *, cl_program_callback, void *, cl_int *);

#endif
