/* Entry points that read, write, copy, fill, map and migrate memory. */
#ifndef CLTRACE_TRANSFERS_H
#define CLTRACE_TRANSFERS_H

#include "opencl.h"

typedef const cl_event *cl_waits;

cl_int layer_clEnqueueReadBuffer(
    cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueWriteBuffer(
    cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueCopyBuffer(
    cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueReadBufferRect(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *,
                                     const size_t *, size_t, size_t, size_t, size_t, void *, cl_uint,
                                     cl_waits, cl_event *);
cl_int layer_clEnqueueWriteBufferRect(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *,
                                      const size_t *, size_t, size_t, size_t, size_t, const void *,
                                      cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueCopyBufferRect(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                     const size_t *, size_t, size_t, size_t, size_t, cl_uint, cl_waits,
                                     cl_event *);
cl_int layer_clEnqueueFillBuffer(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint,
                                 cl_waits, cl_event *);
cl_int layer_clEnqueueReadImage(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, size_t,
                                size_t, void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueWriteImage(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, size_t,
                                 size_t, const void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueCopyImage(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                const size_t *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueCopyImageToBuffer(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                        size_t, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueCopyBufferToImage(cl_command_queue, cl_mem, cl_mem, size_t, const size_t *,
                                        const size_t *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueFillImage(cl_command_queue, cl_mem, const void *, const size_t *, const size_t *,
                                cl_uint, cl_waits, cl_event *);
void *layer_clEnqueueMapBuffer(cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint,
                               cl_waits, cl_event *, cl_int *);
void *layer_clEnqueueMapImage(cl_command_queue, cl_mem, cl_uint, cl_bitfield, const size_t *,
                              const size_t *, size_t *, size_t *, cl_uint, cl_waits, cl_event *, cl_int *);
cl_int layer_clEnqueueUnmapMemObject(cl_command_queue, cl_mem, void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueMigrateMemObjects(
    cl_command_queue, cl_uint, const cl_mem *, cl_bitfield, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueAcquireGLObjects(
    cl_command_queue, cl_uint, const cl_mem *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueReleaseGLObjects(
    cl_command_queue, cl_uint, const cl_mem *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueSVMFree(cl_command_queue, cl_uint, void **, cl_svm_free_callback, void *, cl_uint,
                              cl_waits, cl_event *);
cl_int layer_clEnqueueSVMMemcpy(
    cl_command_queue, cl_uint, void *, const void *, size_t, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueSVMMemFill(
    cl_command_queue, void *, const void *, size_t, size_t, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueSVMMap(
    cl_command_queue, cl_uint, cl_bitfield, void *, size_t, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueSVMUnmap(cl_command_queue, void *, cl_uint, cl_waits, cl_event *);
cl_int layer_clEnqueueSVMMigrateMem(cl_command_queue, cl_uint, const void **, const size_t *, cl_bitfield,
                                    cl_uint, cl_waits, cl_event *);

#endif
