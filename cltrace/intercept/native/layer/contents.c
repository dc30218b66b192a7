#include "contents.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle_map.h"
#include "indices.h"
#include "layer.h"
#include "memory.h"
#include "records.h"
#include "repeats.h"
#include "settings.h"
#include "signals.h"
#include "spool_file.h"

/* As large as constant memory is, which holds filters, tables, cameras and sizes. */
#define SMALL_BYTES ((size_t)64 << 10)
#define SMALL_ROOM_BYTES ((size_t)4 << 20)
#define TINY_BYTES ((size_t)4 << 10)
#define TINY_ROOM_BYTES ((size_t)1 << 20)
/* Of larger ones nobody asked for, indices are recorded: the first contents of a buffer, as further copies would slow
   a program down for as long as it runs. */
#define INDEX_BYTES ((size_t)16 << 20)
#define INDEX_ROOM_BYTES ((size_t)32 << 20)
#define MAX_COPIED_INDEX_BYTES ((size_t)128 << 20)
#define MAX_LOOKS 4 /* at writes of a buffer: one that held no indices by then will hold none */
#define MAX_BYTES ((size_t)1 << 30) /* what readers read */
#define MAX_VERSIONS 64 /* of a buffer: one that changes for every configuration tells no more */
#define NOWHERE (-1)

/* Contents that are in the file, by their fingerprint. */
struct stored {
    struct object object;
    size_t size;
    int64_t position;
};

/* The contents of a buffer. `bytes` is NULL while they are not known, or in the file only. */
struct copy {
    struct object object;
    int64_t buffer_id; /* 0: of no buffer of this process */
    unsigned char *bytes;
    size_t size;
    int64_t written_ns;
    int64_t position; /* of the bytes in the file, or NOWHERE */
    int versions;     /* that were recorded */
    int looks;        /* at unasked contents */
    atomic_bool is_fresh; /* not recorded since they were written; launches read it without the mutex */
    bool is_current;  /* the version that was recorded last is that of the buffer */
    bool is_divided;
};

/* Tiny and small contents have rooms of their own, as large ones would leave none. `evictable` bytes of the copied
   ones are in the file. */
struct room {
    size_t copied;
    size_t evictable;
    size_t stored;
};

atomic_int fresh_contents;
atomic_int unrecorded_contents;
atomic_int followed_contents;

/* Never held while the driver is called, which may call `contents_ended` from any thread. */
static pthread_mutex_t contents_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct handle_map copies, stored_contents;
static struct room tiny_room, small_room, large_room;
static struct room *full_room; /* whose copies are being evicted */
static struct spool_file contents_file = {.name = "contents.bin"};
static int64_t file_bytes;
static size_t copied_index_bytes;

static struct copy *find_copy(uintptr_t handle)
{
    return (struct copy *)(void *)map_find(&copies, handle);
}

static struct room *room_of(size_t size)
{
    if (size <= TINY_BYTES)
        return &tiny_room;
    return size <= SMALL_BYTES ? &small_room : &large_room;
}

/* Whether contents are large and were not asked for. */
static bool is_unasked(size_t size)
{
    return size > SMALL_BYTES && settings.capture_bytes == 0;
}

static size_t room_bytes(size_t size)
{
    const size_t large = (size_t)settings.capture_bytes;
    if (size <= TINY_BYTES)
        return TINY_ROOM_BYTES;
    if (size <= SMALL_BYTES)
        return SMALL_ROOM_BYTES + large / 4;
    return is_unasked(size) ? INDEX_ROOM_BYTES : large;
}

static bool is_captured(size_t size)
{
    if (!settings.captures_contents || !settings.records_arguments || recording_is_over())
        return false;
    const size_t limit = is_unasked(size) ? INDEX_BYTES : (size_t)settings.capture_bytes;
    return size > 0 && size <= MAX_BYTES && (size <= SMALL_BYTES || size <= limit);
}

/* Tells once that contents are left out which the user asked for, or small ones. */
static void note_omission(size_t size)
{
    static atomic_bool is_noted;
    char message[160];
    const bool is_asked_for = settings.capture_bytes > 0;
    if (is_unasked(size) || atomic_exchange(&is_noted, true))
        return;
    if (is_asked_for)
        snprintf(message, sizeof message,
                 "not all contents of buffers are recorded: %zu KiB were the first beyond "
                 "--capture-buffers %lld",
                 (size + 1023) >> 10, (long long)(settings.capture_bytes >> 20));
    else
        snprintf(message, sizeof message,
                 "not all contents of small buffers are recorded: they have room for %zu MiB",
                 SMALL_ROOM_BYTES >> 20);
    record_diagnostic(is_asked_for ? "warning" : "note", "contents-not-captured", message);
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

static void adjust(atomic_int *counter, bool before, bool after)
{
    if (before != after)
        atomic_fetch_add_explicit(counter, after ? 1 : -1, memory_order_relaxed);
}

static bool is_unrecorded(const struct copy *copy)
{
    return copy->is_fresh && copy->versions == 0;
}

static void set_fresh(struct copy *copy, bool is_fresh)
{
    const bool was_unrecorded = is_unrecorded(copy);
    adjust(&fresh_contents, copy->is_fresh, is_fresh);
    copy->is_fresh = is_fresh;
    adjust(&unrecorded_contents, was_unrecorded, is_unrecorded(copy));
}

static void set_versions(struct copy *copy, int versions)
{
    const bool was_unrecorded = is_unrecorded(copy);
    copy->versions = versions;
    adjust(&unrecorded_contents, was_unrecorded, is_unrecorded(copy));
}

static bool is_followed(const struct copy *copy)
{
    return copy->bytes != NULL || copy->is_current;
}

static void set_bytes(struct copy *copy, unsigned char *bytes)
{
    const bool was_followed = is_followed(copy);
    copy->bytes = bytes;
    adjust(&followed_contents, was_followed, is_followed(copy));
}

static void set_current(struct copy *copy, bool is_current)
{
    const bool was_followed = is_followed(copy);
    copy->is_current = is_current;
    adjust(&followed_contents, was_followed, is_followed(copy));
}

static void set_position(struct copy *copy, int64_t position)
{
    struct room *room = room_of(copy->size);
    if (copy->position != NOWHERE)
        room->evictable -= copy->size;
    if (position != NOWHERE)
        room->evictable += copy->size;
    copy->position = position;
}

static void free_bytes(struct copy *copy)
{
    if (copy->bytes == NULL)
        return;
    set_position(copy, NOWHERE);
    room_of(copy->size)->copied -= copy->size;
    free(copy->bytes);
    set_bytes(copy, NULL);
}

/* Records the end of the current version: a write that was not recorded, or now. */
static void end_version(struct copy *copy)
{
    if (copy->is_current && !recording_is_over())
        record_version(copy, 0, -1, copy->is_fresh ? copy->written_ns : now_host_ns());
    set_current(copy, false);
}

/* Forgets contents, which something else has changed or which have no room. */
static void forget(struct copy *copy)
{
    end_version(copy);
    free_bytes(copy);
    set_fresh(copy, false);
}

static void reset(struct copy *copy, int64_t buffer_id)
{
    free_bytes(copy);
    set_fresh(copy, false);
    set_versions(copy, 0);
    set_current(copy, false);
    copy->looks = 0;
    copy->buffer_id = buffer_id;
    copy->position = NOWHERE;
    copy->is_divided = false;
}

static void evict_stored(struct object *object)
{
    struct copy *copy = (struct copy *)(void *)object;
    if (copy->position != NOWHERE && !copy->is_fresh && room_of(copy->size) == full_room)
        free_bytes(copy);
}

/* Returns a copy's bytes, with room for `size`; NULL if there is none. */
static unsigned char *allocate(struct copy *copy, size_t size)
{
    if (copy->bytes != NULL && copy->size == size)
        return copy->bytes;
    free_bytes(copy);
    struct room *room = room_of(size);
    const size_t limit = room_bytes(size);
    if (room->copied + size > limit && room->copied - room->evictable + size <= limit) {
        full_room = room;
        map_visit(&copies, evict_stored);
    }
    unsigned char *bytes = room->copied + size > limit ? NULL : malloc(size);
    if (bytes == NULL)
        return NULL;
    room->copied += size;
    copy->size = size;
    set_bytes(copy, bytes);
    return bytes;
}

/* Whether large contents that nobody asked for are worth a copy. */
static bool is_worth_copying(struct copy *copy, const void *host, size_t size)
{
    return copy->versions == 0 && copied_index_bytes + size <= MAX_COPIED_INDEX_BYTES &&
           copy->looks++ < MAX_LOOKS && holds_indices(host, size);
}

static void copy_whole(struct copy *copy, const void *host, size_t size)
{
    if (copy->is_divided || copy->buffer_id == 0)
        return;
    if (is_unasked(size)) {
        if (!is_worth_copying(copy, host, size)) {
            forget(copy);
            return;
        }
        copied_index_bytes += size;
    }
    const bool is_same = copy->bytes != NULL && copy->size == size && memcmp(copy->bytes, host, size) == 0;
    if (!is_same) {
        if (copy->is_fresh)
            end_version(copy); /* what is overwritten was never recorded */
        if (allocate(copy, size) == NULL) {
            note_omission(size);
            forget(copy);
            return;
        }
        memcpy(copy->bytes, host, size);
        set_position(copy, NOWHERE);
    }
    copy->written_ns = now_host_ns(); /* of the same data, too: a kernel may have written the buffer between */
    set_fresh(copy, true);
}

static void copy_part(struct copy *copy, size_t offset, const void *host, size_t size)
{
    if (copy->bytes == NULL || offset > copy->size || size > copy->size - offset) {
        forget(copy);
        return;
    }
    if (copy->is_fresh)
        end_version(copy);
    memcpy(copy->bytes + offset, host, size);
    set_position(copy, NOWHERE);
    copy->written_ns = now_host_ns();
    set_fresh(copy, true);
}

/* Returns what a buffer is made from as far as its contents stay that until a command writes them, else NULL.
   Other flags, of vendors, may give `host` another meaning. */
static const void *initial_contents(cl_bitfield flags, const void *host)
{
    const bool is_known = (flags & ~(cl_bitfield)CL_MEM_FLAGS_OF_BUFFERS) == 0;
    return is_known && flags & CL_MEM_COPY_HOST_PTR ? host : NULL;
}

void contents_created(
    cl_mem buffer, int64_t buffer_id, cl_bitfield flags, const void *host, size_t size)
{
    const void *initial = initial_contents(flags, host);
    if (!is_captured(size) || buffer_id == 0) {
        contents_ended((uintptr_t)buffer); /* if the driver did not tell of the end of the last one */
        if (initial != NULL && buffer_id != 0 && settings.captures_contents)
            note_omission(size);
        return;
    }
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    struct copy *copy = (struct copy *)(void *)map_insert(&copies, (uintptr_t)buffer, sizeof *copy);
    if (copy != NULL) {
        reset(copy, buffer_id);
        copy->is_divided = (flags & CL_MEM_USE_HOST_PTR) != 0; /* the program may change it without a call */
        if (initial != NULL)
            copy_whole(copy, initial, size);
    }
    pthread_mutex_unlock(&contents_mutex);
}

void contents_written(cl_mem buffer, size_t offset, size_t size, const void *host)
{
    struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy == NULL || host == NULL || recording_is_over())
        return;
    KEEP_ERRNO();
    const size_t buffer_size = (size_t)memory_size_bytes(buffer);
    pthread_mutex_lock(&contents_mutex);
    if (offset == 0 && size == buffer_size)
        copy_whole(copy, host, size);
    else
        copy_part(copy, offset, host, size);
    pthread_mutex_unlock(&contents_mutex);
}

/* Changes the copy of a buffer, if there is one. */
static void change(uintptr_t handle, void (*action)(struct copy *))
{
    struct copy *copy = find_copy(handle);
    if (copy == NULL)
        return;
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    action(copy);
    pthread_mutex_unlock(&contents_mutex);
}

static void divide(struct copy *copy)
{
    forget(copy);
    copy->is_divided = true;
}

static void end(struct copy *copy)
{
    reset(copy, 0);
}

void contents_lost(cl_mem buffer)
{
    change((uintptr_t)buffer, forget);
}

void contents_divided(cl_mem buffer)
{
    change((uintptr_t)buffer, divide);
}

void contents_ended(uintptr_t handle)
{
    change(handle, end);
}

/* Returns where bytes are in the file, after appending them if they are not there; NOWHERE if they have no
   room, there or on the disk. */
static int64_t store(const unsigned char *bytes, size_t size)
{
    const uintptr_t fingerprint = data_fingerprint(bytes, size);
    struct room *room = room_of(size);
    struct stored *stored = (struct stored *)(void *)map_find(&stored_contents, fingerprint);
    if (stored != NULL && stored->size == size)
        return stored->position;
    if (room->stored + size > room_bytes(size))
        return NOWHERE;
    const sigset_t before = block_size_signal();
    const bool is_written = spool_append(&contents_file, bytes, size);
    restore_signals(&before);
    if (!is_written)
        return NOWHERE;
    const int64_t position = file_bytes;
    file_bytes += (int64_t)size;
    room->stored += size;
    stored = (struct stored *)(void *)map_insert(&stored_contents, fingerprint, sizeof *stored);
    if (stored != NULL) {
        stored->size = size;
        stored->position = position;
    }
    return position;
}

static void record_copy(struct copy *copy)
{
    if (copy->position == NOWHERE && copy->versions < MAX_VERSIONS)
        set_position(copy, store(copy->bytes, copy->size));
    if (copy->position == NOWHERE) {
        note_omission(copy->size);
        forget(copy);
        return;
    }
    if (copy->versions < MAX_VERSIONS)
        record_version(copy, copy->position, (int64_t)copy->size, copy->written_ns);
    set_versions(copy, copy->versions + 1);
    set_current(copy, true);
    set_fresh(copy, false);
    if (is_unasked(copy->size))
        free_bytes(copy);
}

static void record_fresh(struct copy *copy)
{
    if (copy->is_fresh && !recording_is_over())
        record_copy(copy);
}

void contents_used(cl_mem buffer)
{
    const struct copy *copy = find_copy((uintptr_t)buffer);
    if (copy != NULL && atomic_load_explicit(&copy->is_fresh, memory_order_relaxed))
        change((uintptr_t)buffer, record_fresh);
}

static void forget_object(struct object *object)
{
    forget((struct copy *)(void *)object);
}

void contents_lost_all(void)
{
    if (LIKELY(atomic_load_explicit(&followed_contents, memory_order_relaxed) == 0))
        return;
    KEEP_ERRNO();
    pthread_mutex_lock(&contents_mutex);
    map_visit(&copies, forget_object);
    pthread_mutex_unlock(&contents_mutex);
}

void contents_lock(void)
{
    pthread_mutex_lock(&contents_mutex);
}

void contents_unlock(void)
{
    pthread_mutex_unlock(&contents_mutex);
}

static void end_object(struct object *object)
{
    end((struct copy *)(void *)object);
}

static void drop_stored(struct object *object)
{
    ((struct stored *)(void *)object)->size = 0;
}

void contents_forked(void)
{
    pthread_mutex_init(&contents_mutex, NULL);
    map_visit(&copies, end_object);
    map_visit(&stored_contents, drop_stored);
    spool_close(&contents_file);
    tiny_room = small_room = large_room = (struct room){0};
    file_bytes = 0;
    copied_index_bytes = 0;
}
