#include "spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DIRECTORIES 1000

/* Lowest number for a descriptor. Programs get the lowest free one: they expect 0 to 2, sometimes 3. */
#define MIN_DESCRIPTOR 200

static char process_directory[PATH_MAX];

/* Returns the time at which this process started, in clock ticks: field 22 of /proc/self/stat. */
static unsigned long long start_ticks(void)
{
    char stat[2048];
    const int descriptor = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    const ssize_t length = read(descriptor, stat, sizeof stat - 1);
    close(descriptor);
    if (length <= 0)
        return 0;
    stat[length] = '\0';
    const char *field = strrchr(stat, ')'); /* the process's name may contain anything */
    for (int i = 0; field != NULL && i < 20; i++)
        field = strchr(field + 1, ' ');
    return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

/* Appends a line to a file in the directory of parts. A line that cannot be written is left out. */
static void append_line(const char *parts_directory, const char *name, const char *text)
{
    char path[PATH_MAX];
    char line[512];
    const int path_length = snprintf(path, sizeof path, "%s/%s", parts_directory, name);
    if (path_length < 0 || (size_t)path_length >= sizeof path)
        return;
    const int descriptor =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (descriptor < 0)
        return;
    const int length = snprintf(line, sizeof line, "%s\n", text);
    if (length > 0) {
        const size_t size = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
        if (write(descriptor, line, size) < 0) {
            /* Nothing more can be done. */
        }
    }
    close(descriptor);
}

bool spool_create_directory(const char *parts_directory)
{
    const unsigned long long ticks = start_ticks();
    for (int attempt = 0; attempt < MAX_DIRECTORIES; attempt++) {
        char suffix[16] = "";
        /* A process that replaced its image keeps its number and start time. */
        if (attempt > 0)
            snprintf(suffix, sizeof suffix, "-%d", attempt);
        const int length = snprintf(process_directory, sizeof process_directory, "%s/%ld-%llu%s",
                                    parts_directory, (long)getpid(), ticks, suffix);
        if (length < 0 || (size_t)length >= sizeof process_directory)
            return false;
        if (mkdir(process_directory, 0700) == 0) {
            append_line(parts_directory, "processes.txt", strrchr(process_directory, '/') + 1);
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

bool spool_use_directory(const char *directory)
{
    struct stat status;
    if (strlen(directory) >= sizeof process_directory || stat(directory, &status) != 0 ||
        !S_ISDIR(status.st_mode))
        return false;
    strcpy(process_directory, directory);
    return true;
}

static bool is_ours(const struct spool_file *file)
{
    struct stat status;
    return file->is_open && fstat(file->descriptor, &status) == 0 && status.st_dev == file->device &&
           status.st_ino == file->inode;
}

static bool open_file(struct spool_file *file)
{
    char path[PATH_MAX + SPOOL_NAME_BYTES + 1];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", process_directory, file->name);
    const int low =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (low < 0)
        return false;
    const int high = fcntl(low, F_DUPFD_CLOEXEC, MIN_DESCRIPTOR);
    if (high >= 0)
        close(low);
    file->is_kept = high >= 0; /* the program may limit itself to fewer descriptors, and needs the low ones */
    file->descriptor = file->is_kept ? high : low;
    if (fstat(file->descriptor, &status) != 0) {
        close(file->descriptor);
        return false;
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->is_open = true;
    return true;
}

const char *spool_directory(void)
{
    return process_directory;
}

static bool ensure_open(struct spool_file *file)
{
    return is_ours(file) || open_file(file);
}

static void release(struct spool_file *file)
{
    const int reason = errno;
    if (!file->is_kept)
        spool_close(file);
    errno = reason;
}

bool spool_open(struct spool_file *file)
{
    const bool is_open = ensure_open(file);
    release(file);
    return is_open;
}

/* Removes a part of an append: entries behind it would not begin at an entry's place. Keeps `errno`. */
static void remove_part(const struct spool_file *file, size_t length)
{
    struct stat status;
    const int reason = errno;
    if (length > 0 && fstat(file->descriptor, &status) == 0 && status.st_size >= (off_t)length &&
        ftruncate(file->descriptor, status.st_size - (off_t)length) != 0) {
        /* Readers leave out an entry that is cut off. */
    }
    errno = reason;
}

static bool write_all(const struct spool_file *file, const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        const ssize_t written = write(file->descriptor, next, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            remove_part(file, (size_t)(next - (const char *)bytes));
            return false;
        }
        next += written;
        length -= (size_t)written;
    }
    return true;
}

bool spool_append(struct spool_file *file, const void *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!ensure_open(file))
        return false;
    const bool is_written = write_all(file, bytes, length);
    release(file);
    return is_written;
}

void spool_close(struct spool_file *file)
{
    if (is_ours(file))
        close(file->descriptor);
    file->is_open = false;
}

void spool_report_untraced(const char *parts_directory, const char *reason)
{
    char name[64];
    snprintf(name, sizeof name, "untraced-%ld.txt", (long)getpid());
    append_line(parts_directory, name, reason);
}
