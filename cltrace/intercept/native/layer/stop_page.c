#include "stop_page.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "layer.h"

#define PAGE_BYTES 512
#define REASON_BYTES 448

/* Lowest number for a descriptor: programs get the lowest free one. */
#define MIN_DESCRIPTOR 200

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

/* A page that is written to its file instead of mapped. */
static struct stop_page unmapped;
static struct {
    atomic_int descriptor; /* -1 without a file */
    dev_t device;
    ino_t inode;
} file = {.descriptor = -1};

/* Returns true if the file system writes each page to a new place. A store into a mapped page raises a
   fatal signal there if a full disk or a quota has no space for it, even if the file has it. */
static bool copies_on_write(int descriptor)
{
    static const long btrfs = 0x9123683E, zfs = 0x2FC12FC1, bcachefs = 0xCA451A4E, f2fs = 0xF2F52010;
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0)
        return true;
    const long kind = (long)status.f_type;
    return kind == btrfs || kind == zfs || kind == bcachefs || kind == f2fs;
}

/* Keeps the file for writes, if the program leaves a descriptor for it. */
static bool keep_file(int descriptor)
{
    struct stat status;
    const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, MIN_DESCRIPTOR);
    if (high < 0)
        return false;
    if (fstat(high, &status) != 0) {
        close(high);
        return false;
    }
    file.device = status.st_dev;
    file.inode = status.st_ino;
    atomic_store(&file.descriptor, high);
    return true;
}

/* Writes a part of the unmapped page to its file. What cannot be written is left out. */
static void write_out(size_t begin, size_t length)
{
    struct stat status;
    const int descriptor = atomic_load(&file.descriptor);
    /* A program may have closed the descriptor, and have opened another file there. */
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || status.st_dev != file.device ||
        status.st_ino != file.inode)
        return;
    if (pwrite(descriptor, (const char *)&unmapped + begin, length, (off_t)begin) < 0) {
        /* The process's end is not recorded either, so the trace is incomplete. */
    }
}

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
    if (pwrite(descriptor, zeros, PAGE_BYTES, 0) == PAGE_BYTES) {
        if (!copies_on_write(descriptor))
            memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        else if (keep_file(descriptor))
            memory = &unmapped;
    }
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
    if (own == &unmapped)
        write_out(0, PAGE_BYTES);
}

bool stop_page_is_told(void)
{
    return atomic_load(&atomic_load(&page)->stopped_host_ns) != 0;
}

void stop_page_leave(void)
{
    atomic_store(&page, &unseen);
    atomic_store(&file.descriptor, -1);
}

void stop_page_add_missing(long long commands)
{
    struct stop_page *const own = atomic_load(&page);
    atomic_fetch_add_explicit(&own->missing, commands, memory_order_relaxed);
    if (own == &unmapped && commands != 0)
        write_out(offsetof(struct stop_page, missing), sizeof own->missing);
}

void stop_page_add_fork(void)
{
    struct stop_page *const own = atomic_load(&page);
    atomic_fetch_add(&own->unrecorded_forks, 1);
    if (own == &unmapped)
        write_out(offsetof(struct stop_page, unrecorded_forks), sizeof own->unrecorded_forks);
}
