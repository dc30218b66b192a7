#include "contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle_map.h"
#include "layer.h"
#include "memory.h"
#include "records.h"
#include "settings.h"
#include "spool_file.h"

/* As large as constant memory is, which holds filters, tables, cameras and sizes. */
#define SMALL_BYTES ((size_t)64 << 10)
#define SMALL_ROOM_BYTES ((size_t)4 << 20)
#define MAX_VERSIONS 64 /* of a buffer: one that changes for every launch tells no more */

/* The contents of a buffer; `bytes` is NULL while they are not known. Protected by `contents_mutex`. */
struct copy {
    struct object object;
    int64_t buffer_id;
    unsigned char *bytes;
    size_t size;
    int64_t written_ns;
    int64_t position; /* of the same bytes in the file, -1 if they are not there */
    int versions;     /* that are recorded */
    bool is_fresh;    /* not recorded since it was written */
    bool is_current;  /* the version that was recorded last is that of the buffer */
    bool is_divided;
};

/* Small contents have a room of their own, as large ones would leave none. */
struct room {
    size_t copied;
    size_t stored;
};

atomic_int fresh_contents;

/* Never held while the driver is called, which may call `contents_ended` from any thread. */
static pthread_mutex_t contents_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct handle_map copies;
static struct room small_room, large_room;
static struct spool_file contents_file = {.name = "contents.bin"};
static int64_t contents_position;

static struct copy *find_copy(uintptr_t handle)
{
    return (struct copy *)(void *)map_find(&copies, handle);
}

static struct room *room_of(size_t size)
{
    return size <= SMALL_BYTES ? &small_room : &large_room;
}

static size_t room_bytes(size_t size)
{
    const size_t large = (size_t)settings.capture_bytes;
    return size <= SMALL_BYTES ? SMALL_ROOM_BYTES + large / 4 : large;
}

static bool is_captured(size_t size)
{
    if (!settings.captures_contents || !settings.records_arguments || size == 0)
        return false;
    return size <= SMALL_BYTES || size <= (size_t)settings.capture_bytes;
}

static void note_omission(size_t size)
{
    static atomic_bool is_noted;
    char message[128];
    if (settings.capture_bytes == 0 || atomic_exchange(&is_noted, true))
        return;
    snprintf(message, sizeof message,
             "not all contents of buffers are recorded: %zu bytes were the first beyond --capture-buffers %lld",
             size, (long long)(settings.capture_bytes >> 20));
    record_diagnostic("warning", "contents-not-captured", message);
}

/* Records where the contents of a buffer are in the file, or that they are not known from now on (-1). */
static void record_version(const struct copy *copy, int64_t position, int64_t size, int64_t written_ns)
{
    struct record record;
    record_begin(&record, "content_version");
    record_integer(&record, position);
    record_integer(&record, size);
    record_integer(&record, written_ns);
    record_integer(&record, copy->buffer_id);
    record_end(&record);
}

static void set_fresh(struct copy *copy, bool is_fresh)
{
    if (copy->is_fresh != is_fresh)
        atomic_fetch_add_explicit(&fresh_contents, is_fresh ? 1 : -1, memory_order_relaxed);
    copy->is_fresh = is_fresh;
}

static void free_bytes(struct copy *copy)
{
    if (copy->bytes != NULL)
        room_of(copy->size)->copied -= copy->size;
    free(copy->bytes);
    copy->bytes = NULL;
    set_fresh(copy, false);
}

static void forget(struct copy *copy)
{
    if (copy->is_current)
        record_version(copy, 0, -1, now_host_ns());
    copy->is_current = false;
    free_bytes(copy);
}

static void reset(struct copy *copy, int64_t buffer_id)
{
    free_bytes(copy);
    copy->buffer_id = buffer_id;
    copy->position = -1;
    copy->versions = 0;
    copy->is_current = copy->is_divided = false;
}

/* Returns a copy's bytes, with room for `size`; NULL if there is no room. */
static unsigned char *allocate(struct copy *copy, size_t size)
{
    if (copy->bytes != NULL && copy->size == size)
        return copy->bytes;
    free_bytes(copy);
    struct room *room = room_of(size);
    if (room->copied + size > room_bytes(size) || (copy->bytes = malloc(size)) == NULL)
        return NULL;
    room->copied += size;
    copy->size = size;
    return copy->bytes;
}

static void copy_whole(struct copy *copy, const void *host, size_t size)
{
    const bool is_same = copy->bytes != NULL && copy->size == size && memcmp(copy->bytes, host, size) == 0;
    if (copy->is_divided || copy->buffer_id == 0)
        return;
    if (!is_same && allocate(copy, size) == NULL) {
        note_omission(size);
        forget(copy);
        return;
    }
    if (!is_same) {
        memcpy(copy->bytes, host, size);
        copy->position = -1;
    }
    copy->written_ns = now_host_ns(); /* of the same data, too: a kernel may have written the buffer between */
    set_fresh(copy, true);
}

void contents_created(cl_mem buffer, int64_t buffer_id, const void *host, size_t size)
{
    if (!is_captured(size) || buffer_id == 0) {
        if (host != NULL && buffer_id != 0)
            note_omission(size);
        return;
    }
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    struct copy *copy = (struct copy *)(void *)map_insert(&copies, (uintptr_t)buffer, sizeof *copy);
    if (copy != NULL) {
        reset(copy, buffer_id);
        if (host != NULL)
            copy_whole(copy, host, size);
    }
    pthread_mutex_unlock(&contents_mutex);
}

void contents_written(cl_mem buffer, size_t offset, size_t size, const void *host)
{
    struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy == NULL || host == NULL)
        return;
    KEEP_ERRNO();
    const size_t buffer_size = (size_t)memory_size_bytes(buffer);
    pthread_mutex_lock(&contents_mutex);
    if (offset == 0 && size == buffer_size) {
        copy_whole(copy, host, size);
    } else if (copy->bytes != NULL && offset <= copy->size && size <= copy->size - offset) {
        memcpy(copy->bytes + offset, host, size);
        copy->position = -1;
        copy->written_ns = now_host_ns();
        set_fresh(copy, true);
    }
    pthread_mutex_unlock(&contents_mutex);
}

void contents_lost(cl_mem buffer)
{
    struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy == NULL)
        return;
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    forget(copy);
    pthread_mutex_unlock(&contents_mutex);
}

void contents_divided(cl_mem buffer)
{
    struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy == NULL)
        return;
    contents_lost(buffer);
    pthread_mutex_lock(&contents_mutex);
    copy->is_divided = true;
    pthread_mutex_unlock(&contents_mutex);
}

void contents_ended(uintptr_t handle)
{
    struct copy *copy = find_copy(handle);
    if (copy == NULL)
        return;
    pthread_mutex_lock(&contents_mutex);
    reset(copy, 0);
    pthread_mutex_unlock(&contents_mutex);
}

/* Appends a copy to the file, if it is not there. Returns false if it has no room, there or on the disk. */
static bool store(struct copy *copy)
{
    struct room *room = room_of(copy->size);
    if (copy->position >= 0)
        return true;
    if (copy->versions >= MAX_VERSIONS || room->stored + copy->size > room_bytes(copy->size))
        return false;
    if (!spool_append(&contents_file, copy->bytes, copy->size))
        return false;
    copy->position = contents_position;
    contents_position += (int64_t)copy->size;
    room->stored += copy->size;
    return true;
}

static void record_copy(struct copy *copy)
{
    if (!store(copy)) {
        note_omission(copy->size);
        forget(copy);
        return;
    }
    if (copy->versions < MAX_VERSIONS)
        record_version(copy, copy->position, (int64_t)copy->size, copy->written_ns);
    copy->versions++;
    copy->is_current = true;
    set_fresh(copy, false);
}

void contents_used(cl_mem buffer)
{
    struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy == NULL)
        return;
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    if (copy->is_fresh && !recording_is_over())
        record_copy(copy);
    pthread_mutex_unlock(&contents_mutex);
}

static void reset_object(struct object *object)
{
    reset((struct copy *)(void *)object, 0);
}

void contents_lock(void)
{
    pthread_mutex_lock(&contents_mutex);
}

void contents_unlock(void)
{
    pthread_mutex_unlock(&contents_mutex);
}

void contents_forked(void)
{
    pthread_mutex_init(&contents_mutex, NULL);
    map_visit(&copies, reset_object);
    spool_close(&contents_file);
    small_room = large_room = (struct room){0};
    contents_position = 0;
}
