/* Contents that decide where a kernel reads and how long it loops, told apart from measured or random data. */
#ifndef CLTRACE_INDICES_H
#define CLTRACE_INDICES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether data look like indices, lengths or flags: at least three of 16 of their words are small integers
   other than 0. Of random words two of 16 are; floating-point numbers are none. */
bool holds_indices(const void *data, size_t size);

#endif
