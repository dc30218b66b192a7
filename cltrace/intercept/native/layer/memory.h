/* Memory objects and shared virtual memory: creation, release, live bytes. */
#ifndef CLTRACE_MEMORY_H
#define CLTRACE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "apis.h"
#include "opencl.h"

struct memory_peak {
    int64_t bytes;
    int64_t host_ns;
};

/* Returns the largest number of bytes that were live, and its time. */
struct memory_peak memory_peak(void);

/* Returns the kind of the live memory object with this handle, or 0. */
enum memory_kind memory_live_kind(uintptr_t handle);

/* Returns the bytes of a pixel of an image, 0 if unknown. */
int64_t memory_element_bytes(cl_mem image);

/* Returns the size of a memory object, 0 if unknown. */
int64_t memory_size_bytes(cl_mem memory);

/* Records a memory object that this process inherited, or whose creation was not observed. */
void memory_ensure_recorded(cl_mem memory);

/* Keep the size of a mapping until it is unmapped. -1: unknown. */
void memory_mapped(const void *address, int64_t size_bytes);
int64_t memory_mapped_bytes(const void *address);

/* Records that shared virtual memory was freed. */
void memory_svm_freed(void *address, int64_t host_ns);

cl_mem layer_clCreateBuffer(cl_context, cl_bitfield, size_t, void *, cl_int *);
cl_mem layer_clCreateBufferWithProperties(
    cl_context, const cl_bitfield *, cl_bitfield, size_t, void *, cl_int *);
cl_mem layer_clCreateSubBuffer(cl_mem, cl_bitfield, cl_uint, const void *, cl_int *);
cl_mem layer_clCreateImage(
    cl_context, cl_bitfield, const cl_image_format *, const cl_image_desc *, void *, cl_int *);
cl_mem layer_clCreateImageWithProperties(cl_context, const cl_bitfield *, cl_bitfield,
                                         const cl_image_format *, const cl_image_desc *, void *, cl_int *);
cl_mem layer_clCreateImage2D(cl_context, cl_bitfield, const cl_image_format *, size_t, size_t, size_t,
                             void *, cl_int *);
cl_mem layer_clCreateImage3D(cl_context, cl_bitfield, const cl_image_format *, size_t, size_t, size_t,
                             size_t, size_t, void *, cl_int *);
cl_mem layer_clCreatePipe(cl_context, cl_bitfield, cl_uint, cl_uint, const intptr_t *, cl_int *);
cl_int layer_clReleaseMemObject(cl_mem);
void *layer_clSVMAlloc(cl_context, cl_bitfield, size_t, cl_uint);
void layer_clSVMFree(cl_context, void *);

#endif
