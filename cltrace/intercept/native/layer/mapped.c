#include "mapped.h"

#include <sys/mman.h>
#include <sys/resource.h>

bool addresses_are_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void *mapped_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *mapped_grow(void *memory, size_t bytes, size_t new_bytes)
{
    if (memory == NULL)
        return mapped_new(new_bytes);
    void *grown = mremap(memory, bytes, new_bytes, MREMAP_MAYMOVE);
    return grown == MAP_FAILED ? NULL : grown;
}
