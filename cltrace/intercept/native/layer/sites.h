/* Call sites in the program. */
#ifndef CLTRACE_SITES_H
#define CLTRACE_SITES_H

#include <stdint.h>

#include "threads.h"

/* Tells that a loader or another layer is at this address: it is no call site. */
void sites_add_loader(const void *address);

/* True if the loader that has this address was added. */
bool sites_has_loader(const void *address);

/* Returns the site of a call. `frame` is the frame address of the replaced entry point, `address` its
   return address. */
int64_t site_find(struct thread *thread, void *const *frame, const void *address);

/* The site of the entry point in which this stands. */
#define CURRENT_SITE(thread) \
    site_find((thread), __builtin_frame_address(0), __builtin_return_address(0))

void sites_forked(void);

#endif
