/* Memory from the system: a thread that allocates from the C library gets an arena of its own there,
   which takes 64 MiB of the addresses that a program may have (`RLIMIT_AS`). */
#ifndef CLTRACE_MAPPED_H
#define CLTRACE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the addresses of this process are limited. What is reserved for later counts, too. */
bool addresses_are_limited(void);

/* Returns zeroed memory, or NULL. Pages get memory at their first use. */
void *mapped_new(size_t bytes);

/* Returns `memory`, which is NULL or was returned here for `bytes`, grown to `new_bytes`; its address may be
   another. Returns NULL, and leaves it as it is, if there is no memory. */
void *mapped_grow(void *memory, size_t bytes, size_t new_bytes);

#endif
