/* Threads of the program that make calls, each with a ring buffer of rows. */
#ifndef CLTRACE_THREADS_H
#define CLTRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "layer.h"
#include "ring.h"

/* Row tables, in the order of their files in `writer.c`. */
enum table {
    TABLE_LAUNCHES,
    TABLE_CALLS,
    TABLE_CIRCUMSTANCES,
    TABLE_EDGES,
    TABLE_BUFFERS,
    TABLE_RELEASES,
    TABLE_REGIONS,
    TABLE_ANCHORS,
    TABLE_STAMPS,
    TABLE_COUNT,
    TABLE_ARGUMENTS, /* stands for all tables of argument lists */
};

#define CIRCUMSTANCE_KEY_WORDS 17
#define SITE_SLOTS 256
#define WRITE_SLOTS 64
#define NUMBER_BLOCK 256

/* A circumstance that the thread has recorded. `id` is 0 in an empty slot. */
struct circumstance {
    int64_t id;
    int64_t key[CIRCUMSTANCE_KEY_WORDS];
};

struct site_slot {
    uintptr_t address;
    int64_t site_id;
};

/* The last write to a range of a buffer, by fingerprints of the range and of a sample of the data.
   `repeats` are the writes since the sample changed. `whole` is the fingerprint of all data at the last of
   them that was compared as a whole, and `is_same` whether it was that of the one before. */
struct write_slot {
    uint64_t range;
    uint64_t sample;
    uint64_t whole;
    unsigned repeats;
    int is_same;
};

/* Where a thread is, as the stamps reader sees it. */
enum thread_activity { THREAD_OUTSIDE, THREAD_CALLING, THREAD_WAITING };

enum thread_state { THREAD_RUNNING, THREAD_ENDED, THREAD_FREE };

#define FIRST_CALLS 64

struct thread {
    struct thread *next; /* in the list of all threads, which only grows */
    atomic_int state;
    int64_t id;
    /* Numbers from `next_*` to the end of a block of `NUMBER_BLOCK` belong to this thread. */
    int64_t next_arguments;
    int64_t next_circumstance;
    int64_t next_mark;
    struct kernel *last_kernel;
    uintptr_t last_kernel_handle;
    struct circumstance *last_circumstance;
    atomic_int activity;
    atomic_llong last_return_ns;
    _Atomic(cl_event) newest_event; /* of the thread's commands, kept; only where it reads stamps */
    unsigned commands_since_reading;
    atomic_llong calls;
    atomic_llong first_ns; /* time of the layer in the first FIRST_CALLS calls, all of them timed */
    atomic_llong sampled_calls; /* of the later calls, one in 64 is timed */
    atomic_llong sampled_ns;
    atomic_llong waits;
    atomic_llong wait_ns;
    atomic_llong skipped;
    struct site_slot sites[SITE_SLOTS];
    struct write_slot writes[WRITE_SLOTS];
    unsigned circumstance_slots; /* a power of two */
    struct circumstance *circumstances;
    struct ring ring;
};

/* First of all threads of this process. */
extern _Atomic(struct thread *) first_thread;

extern _Thread_local struct thread *current_thread_state;

/* Registers the calling thread. Returns NULL if the recording is over. */
struct thread *thread_register(void);

/* Returns the calling thread, or NULL if the recording is over. */
static inline struct thread *thread_current(void)
{
    struct thread *thread = current_thread_state;
    return LIKELY(thread != NULL) ? thread : thread_register();
}

/* Appends a row to the thread's ring. Waits while the ring is full. */
void thread_push_slowly(struct thread *thread, enum table table, const int64_t *words, unsigned count);

static inline void thread_push(
    struct thread *thread, enum table table, const int64_t *words, unsigned count)
{
    if (LIKELY(ring_has_room(&thread->ring, count + 1)))
        ring_push(&thread->ring, table, words, count);
    else
        thread_push_slowly(thread, table, words, count);
}

/* Wakes the writer when the ring is half full. */
void thread_check_ring(struct thread *thread);

/* Waits while too many events are unread. */
void thread_wait_for_events(struct thread *thread);

static inline void thread_enter_driver(struct thread *thread, enum thread_activity activity)
{
    atomic_store_explicit(&thread->activity, activity, memory_order_relaxed);
}

static inline void thread_leave_driver(struct thread *thread, int64_t now_ns)
{
    atomic_store_explicit(&thread->last_return_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&thread->activity, THREAD_OUTSIDE, memory_order_relaxed);
}

/* True if a thread calls the driver, or did so within the last `quiet_ns`. Waiting is no such call. */
bool threads_are_calling(int64_t now_ns, int64_t quiet_ns);

static inline int64_t thread_number(int64_t *next, enum number_kind kind)
{
    /* Numbers start at 1, so a block starts behind a multiple of its size. */
    if (*next % NUMBER_BLOCK == 0)
        *next = (int64_t)atomic_fetch_add_explicit(
            &number_counters[kind], NUMBER_BLOCK, memory_order_relaxed);
    return ++*next;
}

static inline void counter_add(atomic_llong *counter, long long value)
{
    /* Only the thread itself writes its counters. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value,
                          memory_order_relaxed);
}

/* Frees the rings that a forked child inherited, but that of the thread that forked: the fork may have been
   called by a callback of the program, in a call that is recorded. */
void threads_forked(void);

#endif
