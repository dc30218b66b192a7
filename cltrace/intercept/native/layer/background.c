#include "background.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <time.h>

#include "heaps.h"
#include "layer.h"
#include "mapped.h"

/* The end of a process waits no longer: a driver may block its queries while the process exits. */
#define MAX_STOP_NS (5 * NS_PER_S)

/* The threads call no function of the program, and a driver's queries need little. The default takes 8 MiB
   of the addresses that a program may have. */
#define STACK_BYTES (512U << 10)

#define MAX_BEGIN_NS NS_PER_S

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static struct timespec deadline_after(int64_t duration_ns)
{
    const int64_t deadline_ns = now_host_ns() + duration_ns;
    return (struct timespec){.tv_sec = deadline_ns / NS_PER_S, .tv_nsec = deadline_ns % NS_PER_S};
}

/* Waits until the next round is due. Returns true if the thread is to end. */
static bool wait_for_round(struct background *background, bool has_more)
{
    const struct timespec deadline = deadline_after(background->period_ns);
    pthread_mutex_lock(&background->mutex);
    while (!has_more && !background->is_stopping && !background->is_awake)
        if (pthread_cond_timedwait(&background->changed, &background->mutex, &deadline) != 0)
            break;
    background->is_awake = false;
    const bool is_stopping = background->is_stopping;
    pthread_mutex_unlock(&background->mutex);
    return is_stopping;
}

static void *run(void *argument)
{
    struct background *background = argument;
    bool has_more = false;
    if (background->shares_heap)
        heaps_take();
    pthread_mutex_lock(&background->mutex);
    background->has_begun = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    while (!wait_for_round(background, has_more)) {
        has_more = background->round();
        atomic_store(&background->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
    }
    pthread_mutex_lock(&background->mutex);
    background->is_done = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    return NULL;
}

static void wait_until_begun(struct background *background)
{
    const struct timespec deadline = deadline_after(MAX_BEGIN_NS);
    pthread_mutex_lock(&background->mutex);
    while (!background->has_begun)
        if (pthread_cond_timedwait(&background->changed, &background->mutex, &deadline) != 0)
            break;
    pthread_mutex_unlock(&background->mutex);
}

static int add_thread_bytes(struct dl_phdr_info *info, size_t size, void *argument)
{
    size_t *bytes = argument;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *bytes += info->dlpi_phdr[i].p_memsz;
    return 0;
}

/* Returns the bytes of a stack that the C library takes for thread-local variables. glibc tells them: it has
   those of libraries that are loaded later elsewhere. Other C libraries may put all of them there. */
static size_t thread_local_bytes(void)
{
    size_t bytes = 0;
    const pthread_attr_t *attributes = NULL;
    size_t (*min_stack)(const pthread_attr_t *) = NULL;
    *(void **)(&min_stack) = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    if (min_stack != NULL)
        return min_stack(attributes);
    dl_iterate_phdr(add_thread_bytes, &bytes);
    return bytes;
}

static size_t stack_bytes(const struct background *background)
{
    const size_t own_bytes = addresses_are_limited() ? background->small_stack_bytes : STACK_BYTES;
    return own_bytes + thread_local_bytes();
}

static bool create_thread(struct background *background)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes(background));
    bool is_started = pthread_create(&background->thread, &attributes, run, background) == 0;
    if (!is_started) /* a program with much memory per thread needs larger stacks */
        is_started = pthread_create(&background->thread, NULL, run, background) == 0;
    pthread_attr_destroy(&attributes);
    return is_started;
}

bool background_start(struct background *background, bool (*round)(void), int64_t period_ns)
{
    sigset_t blocked;
    sigset_t before;
    background->round = round;
    background->period_ns = period_ns;
    background->is_stopping = background->is_awake = false;
    background->has_begun = background->is_done = false;
    pthread_mutex_init(&background->mutex, NULL);
    init_condition(&background->changed);
    /* The thread gets only the signals of its own faults: others belong to the program's threads. */
    sigfillset(&blocked);
    const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    background->shares_heap = heaps_forbid_new();
    const bool is_started = create_thread(background);
    if (is_started && background->shares_heap)
        wait_until_begun(background);
    if (background->shares_heap)
        heaps_allow_new();
    atomic_store(&background->is_started, is_started);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_setname_np(background->thread, background->name);
    return is_started;
}

bool background_stop(struct background *background)
{
    if (!background->is_started)
        return true;
    const struct timespec deadline = deadline_after(MAX_STOP_NS);
    pthread_mutex_lock(&background->mutex);
    background->is_stopping = true;
    pthread_cond_broadcast(&background->changed);
    while (!background->is_done)
        if (pthread_cond_timedwait(&background->changed, &background->mutex, &deadline) != 0)
            break;
    const bool is_done = background->is_done;
    pthread_mutex_unlock(&background->mutex);
    if (is_done) {
        pthread_join(background->thread, NULL);
        background->is_started = false;
    }
    return is_done;
}

void background_wake(struct background *background)
{
    if (!background->is_started)
        return;
    pthread_mutex_lock(&background->mutex);
    background->is_awake = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
}

int64_t background_cpu_ns(struct background *background)
{
    return atomic_load(&background->cpu_ns);
}

void background_forked(struct background *background)
{
    background->is_started = false;
    atomic_store(&background->cpu_ns, 0);
}
