/* Threads of the layer, invisible to the program: they get none of its signals. */
#ifndef CLTRACE_BACKGROUND_H
#define CLTRACE_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread that does `round` once per period, and again at once while that returns true. */
struct background {
    const char *name;
    size_t small_stack_bytes; /* of its stack in a program whose addresses are limited */
    bool (*round)(void);
    int64_t period_ns;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    atomic_bool is_started;
    bool is_stopping;
    bool is_awake;
    bool shares_heap;
    bool has_begun;
    bool is_done;
    atomic_llong cpu_ns;
};

bool background_start(struct background *background, bool (*round)(void), int64_t period_ns);

/* Ends the thread after its round, and waits for it up to some seconds. Returns true if it has ended. */
bool background_stop(struct background *background);

void background_wake(struct background *background);
int64_t background_cpu_ns(struct background *background);
void background_forked(struct background *background);

#endif
