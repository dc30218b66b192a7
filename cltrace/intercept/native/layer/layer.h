/* State of the whole layer: the next layer's entry points, the gate, numbers, clocks. */
#ifndef CLTRACE_LAYER_H
#define CLTRACE_LAYER_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "opencl.h"

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL
#define NO_STAMP INT64_MIN
#define LAYER_EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect((condition), 1)
#define UNLIKELY(condition) __builtin_expect((condition), 0)

/* The next layer's or the loader's own entry points. Written once, before any call arrives. */
extern struct cl_dispatch target;

/* Nonzero while calls are recorded. Objects are registered even while it is zero. */
extern atomic_int recording_gate;

/* Number of forks that led to this process. Objects registered in an earlier epoch were recorded in the
   parent's spool only. */
extern atomic_uint process_epoch;

/* Protects the registration of objects; recursive. Never taken while a call only launches. */
extern pthread_mutex_t objects_mutex;

/* Counters of numbers that are unique in the process. */
enum number_kind {
    NUMBER_THREAD,
    NUMBER_TEXT,
    NUMBER_SITE,
    NUMBER_PLATFORM,
    NUMBER_DEVICE,
    NUMBER_CONTEXT,
    NUMBER_QUEUE,
    NUMBER_PROGRAM,
    NUMBER_KERNEL,
    NUMBER_FORM,
    NUMBER_BUFFER,
    NUMBER_CIRCUMSTANCE,
    NUMBER_ARGUMENTS,
    NUMBER_MARK,
    NUMBER_KINDS,
};
extern atomic_int_fast64_t number_counters[NUMBER_KINDS];

static inline int64_t next_number(enum number_kind kind)
{
    return (int64_t)atomic_fetch_add_explicit(&number_counters[kind], 1, memory_order_relaxed) + 1;
}

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* The host's clock of a trace: CLOCK_MONOTONIC. */
static inline int64_t now_host_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline bool is_recording(void)
{
    return atomic_load_explicit(&recording_gate, memory_order_relaxed) != 0;
}

static inline unsigned current_epoch(void)
{
    return atomic_load_explicit(&process_epoch, memory_order_relaxed);
}

static inline void restore_errno(const int *kept)
{
    errno = *kept;
}

/* Restores `errno` at the end of the block: the program may read it after a call of OpenCL. Stands in what
   a call does beyond its fast path. */
#define KEEP_ERRNO() __attribute__((cleanup(restore_errno), unused)) const int kept_errno = errno

/* Ends the recording for good because of an internal failure. Calls pass through from now on. */
void stop_recording(const char *reason);

/* True once the recording has ended. */
bool recording_is_over(void);

#endif
