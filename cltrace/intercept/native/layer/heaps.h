/* Heaps that the C library gives to threads which allocate. */
#ifndef CLTRACE_HEAPS_H
#define CLTRACE_HEAPS_H

#include <stdbool.h>

/* Lets threads that allocate first from here on use an existing heap, if the program's addresses are limited
   (`RLIMIT_AS`) and it has not chosen a number of heaps: a heap takes 64 MiB of them. Returns true if
   `heaps_allow_new` is to follow. The C library reads the number once, so later threads of the program share
   heaps, too. */
bool heaps_forbid_new(void);
void heaps_allow_new(void);

/* Gives the calling thread its heap. */
void heaps_take(void);

#endif
