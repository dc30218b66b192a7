#include "mapped.h"

#include <sys/mman.h>

void *mapped_grow(void *memory, size_t bytes, size_t new_bytes)
{
    void *grown = memory == NULL ? mmap(NULL, new_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : mremap(memory, bytes, new_bytes, MREMAP_MAYMOVE);
    return grown == MAP_FAILED ? NULL : grown;
}
