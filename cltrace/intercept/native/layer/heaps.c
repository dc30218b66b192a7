#include "heaps.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "mapped.h"

static bool has_program_chosen(void)
{
    const char *tunables = getenv("GLIBC_TUNABLES");
    return getenv("MALLOC_ARENA_MAX") != NULL || (tunables != NULL && strstr(tunables, "arena_max") != NULL);
}

bool heaps_forbid_new(void)
{
#ifdef M_ARENA_MAX
    return addresses_are_limited() && !has_program_chosen() && mallopt(M_ARENA_MAX, 1);
#else
    return false;
#endif
}

void heaps_allow_new(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 0);
#endif
}

void heaps_take(void)
{
    void *volatile memory = malloc(1);
    free(memory);
}
