/* Contents of buffers as the host last wrote them, recorded when a launch of a new configuration uses them.

   A copy is made when the host writes a whole buffer, or creates it from its data, and follows later writes of
   the host. A copy is dropped when something else than a kernel writes the buffer. Of large buffers only indices are
   copied, unless all of them are asked for. */
#ifndef CLTRACE_CONTENTS_H
#define CLTRACE_CONTENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl.h"

/* Number of copies that no launch has recorded yet. */
extern atomic_int fresh_contents;

/* Number of them of buffers of which nothing is recorded. */
extern atomic_int unrecorded_contents;

/* Number of buffers whose contents are known. */
extern atomic_int followed_contents;

/* A buffer was created with these arguments. */
void contents_created(
    cl_mem buffer, int64_t buffer_id, cl_bitfield flags, const void *host, size_t size);

/* The host wrote a part of a buffer, or all of it. */
void contents_written(cl_mem buffer, size_t offset, size_t size, const void *host);

/* A command that is no launch wrote a buffer, or is about to. */
void contents_lost(cl_mem buffer);

/* A command that is not recorded may write any buffer. */
void contents_lost_all(void);

/* A buffer has parts that are buffers of their own, or is such a part: its contents are not followed. */
void contents_divided(cl_mem buffer);

/* A buffer has ended, or its handle denotes another. */
void contents_ended(uintptr_t handle);

/* A launch of a new configuration uses a buffer. */
void contents_used(cl_mem buffer);

/* Around a fork. */
void contents_lock(void);
void contents_unlock(void);

/* The buffers of a child belong to its parent's recording. */
void contents_forked(void);

#endif
