/* Writes of the host that bring a range of a buffer the data which the write before brought it. */
#ifndef CLTRACE_REPEATS_H
#define CLTRACE_REPEATS_H

#include <stddef.h>

#include "calls.h"

/* Sets `CALL_SAME_DATA` in the row of a write that has succeeded, if it repeats the thread's last write to
   the same range of the same buffer. Where samples of large data are the same, they are compared as a
   whole: in the first repetitions, of which the first one is not noted, and in ever fewer later ones. */
void note_written_data(struct call *call, const void *host, size_t size);

/* Returns a fingerprint of all of the data. */
uint64_t data_fingerprint(const void *data, size_t size);

#endif
