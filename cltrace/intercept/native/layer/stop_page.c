#include "stop_page.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layer.h"

#define PAGE_BYTES 512
#define REASON_BYTES 448

struct stop_page {
    atomic_llong stopped_host_ns; /* 0 while the recording goes on; written after the reason */
    atomic_llong missing;
    atomic_llong unrecorded_forks;
    long long reserved[5];
    char reason[REASON_BYTES];
};
_Static_assert(sizeof(struct stop_page) == PAGE_BYTES, "size of the file");

/* Used without a file. */
static struct stop_page unseen;
static struct stop_page *_Atomic page = &unseen;

bool stop_page_create(const char *directory)
{
    char path[PATH_MAX + 32];
    static const char zeros[PAGE_BYTES];
    snprintf(path, sizeof path, "%s/stopped.page", directory);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (descriptor < 0)
        return false;
    /* A store into a page without space on the disk would raise a fatal signal. */
    void *memory = MAP_FAILED;
    if (pwrite(descriptor, zeros, PAGE_BYTES, 0) == PAGE_BYTES)
        memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED)
        return false;
    atomic_store(&page, memory);
    return true;
}

void stop_page_tell(const char *reason)
{
    struct stop_page *const own = atomic_load(&page);
    if (atomic_load(&own->stopped_host_ns) != 0)
        return;
    strncpy(own->reason, reason, REASON_BYTES - 1);
    atomic_store(&own->stopped_host_ns, now_host_ns());
}

bool stop_page_is_told(void)
{
    return atomic_load(&atomic_load(&page)->stopped_host_ns) != 0;
}

void stop_page_leave(void)
{
    atomic_store(&page, &unseen);
}

void stop_page_add_missing(long long commands)
{
    atomic_fetch_add_explicit(&atomic_load(&page)->missing, commands, memory_order_relaxed);
}

void stop_page_add_fork(void)
{
    atomic_fetch_add(&atomic_load(&page)->unrecorded_forks, 1);
}
