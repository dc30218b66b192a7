#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifecycle.h"
#include "mapped.h"
#include "python.h"
#include "records.h"
#include "stamps.h"
#include "stop_page.h"
#include "writer.h"

/* Sizes of a thread's ring, in words, and of its cache of circumstances; the small ones where addresses are
   limited. Sizes are powers of two. */
#define RING_WORDS (1U << 17)
#define CIRCUMSTANCE_SLOTS 1024
#define SMALL_RING_WORDS (1U << 12)
#define SMALL_CIRCUMSTANCE_SLOTS 128

_Atomic(struct thread *) first_thread;
_Thread_local struct thread *current_thread_state;

static pthread_mutex_t threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static bool has_end_key;

static void thread_ended(void *value)
{
    struct thread *thread = value;
    current_thread_state = NULL;
    atomic_store_explicit(&thread->state, THREAD_ENDED, memory_order_release);
}

static void create_end_key(void)
{
    has_end_key = pthread_key_create(&end_key, thread_ended) == 0;
}

/* Returns a thread whose rows are all written, or NULL. */
static struct thread *reuse_thread(void)
{
    struct thread *thread = atomic_load(&first_thread);
    while (thread != NULL && atomic_load(&thread->state) != THREAD_FREE)
        thread = thread->next;
    return thread;
}

/* Returns the bytes of a thread with what lies behind it: the words of its ring, then its circumstances. */
static size_t thread_bytes(size_t ring_words, size_t circumstance_slots)
{
    return sizeof(struct thread) + ring_words * sizeof(uint64_t) +
           circumstance_slots * sizeof(struct circumstance);
}

/* A small ring fills more often: the thread then waits for the writer, which takes some microseconds. */
static struct thread *allocate_thread(void)
{
    const bool is_small = addresses_are_limited();
    const unsigned words = is_small ? SMALL_RING_WORDS : RING_WORDS;
    const unsigned slots = is_small ? SMALL_CIRCUMSTANCE_SLOTS : CIRCUMSTANCE_SLOTS;
    struct thread *thread = mapped_new(thread_bytes(words, slots));
    if (thread == NULL)
        return NULL;
    thread->ring.size = words;
    thread->ring.words = (uint64_t *)(void *)(thread + 1);
    thread->circumstance_slots = slots;
    thread->circumstances = (struct circumstance *)(void *)(thread->ring.words + words);
    return thread;
}

static void free_thread(struct thread *thread)
{
    munmap(thread, thread_bytes(thread->ring.size, thread->circumstance_slots));
}

static void clear_caches(struct thread *thread)
{
    memset(thread->sites, 0, sizeof thread->sites);
    for (unsigned i = 0; i < thread->circumstance_slots; i++)
        thread->circumstances[i].id = 0;
}

static void reset_thread(struct thread *thread)
{
    thread->id = next_number(NUMBER_THREAD);
    thread->next_arguments = thread->next_circumstance = thread->next_mark = 0;
    thread->last_kernel = NULL;
    thread->last_kernel_handle = 0;
    thread->last_circumstance = NULL;
    thread->commands_since_reading = 0;
    atomic_store(&thread->activity, THREAD_OUTSIDE);
    atomic_store(&thread->state, THREAD_RUNNING);
}

static void record_thread(const struct thread *thread)
{
    char name[128] = "";
    struct record record;
    prctl(PR_GET_NAME, name, 0, 0, 0);
    python_thread_name(name, sizeof name);
    record_begin(&record, "thread");
    record_integer(&record, thread->id);
    record_integer(&record, (int64_t)syscall(SYS_gettid));
    record_string(&record, name);
    record_end(&record);
}

struct thread *thread_register(void)
{
    KEEP_ERRNO();
    if (recording_is_over() || !process_join_recording())
        return NULL;
    pthread_once(&key_once, create_end_key);
    pthread_mutex_lock(&threads_mutex);
    struct thread *thread = reuse_thread();
    const bool is_new = thread == NULL;
    if (is_new)
        thread = allocate_thread();
    else
        clear_caches(thread);
    if (thread != NULL) {
        reset_thread(thread);
        if (is_new) {
            thread->next = atomic_load(&first_thread);
            atomic_store(&first_thread, thread);
        }
    }
    pthread_mutex_unlock(&threads_mutex);
    if (thread == NULL) {
        stop_recording("no memory for a thread's rows");
        return NULL;
    }
    record_thread(thread);
    if (has_end_key)
        pthread_setspecific(end_key, thread);
    current_thread_state = thread;
    return thread;
}

void thread_push_slowly(struct thread *thread, enum table table, const int64_t *words, unsigned count)
{
    KEEP_ERRNO();
    const int64_t begin_ns = now_host_ns();
    if (count + 1 > ring_max_entry(&thread->ring))
        return;
    while (!ring_has_room(&thread->ring, count + 1)) {
        if (recording_is_over()) {
            const bool is_command = table == TABLE_LAUNCHES || (table == TABLE_CALLS && words[count - 1]);
            stop_page_add_missing(is_command);
            return;
        }
        writer_wake();
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    ring_push(&thread->ring, table, words, count);
    counter_add(&thread->waits, 1);
    counter_add(&thread->wait_ns, now_host_ns() - begin_ns);
}

void thread_check_ring(struct thread *thread)
{
    const uint64_t head = atomic_load_explicit(&thread->ring.head, memory_order_relaxed);
    if (head - atomic_load_explicit(&thread->ring.tail, memory_order_relaxed) > thread->ring.size / 2)
        writer_wake();
}

void thread_wait_for_events(struct thread *thread)
{
    KEEP_ERRNO();
    const int64_t begin_ns = now_host_ns();
    while (stamps_must_wait() && !recording_is_over() && !driver_may_be_gone())
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    counter_add(&thread->waits, 1);
    counter_add(&thread->wait_ns, now_host_ns() - begin_ns);
}

bool threads_are_calling(int64_t now_ns, int64_t quiet_ns)
{
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next) {
        const int activity = atomic_load_explicit(&each->activity, memory_order_relaxed);
        const int64_t last_ns = atomic_load_explicit(&each->last_return_ns, memory_order_relaxed);
        if (activity == THREAD_CALLING ||
            (activity == THREAD_OUTSIDE && now_ns - last_ns < quiet_ns))
            return true;
    }
    return false;
}

void threads_forked(void)
{
    pthread_mutex_init(&threads_mutex, NULL);
    struct thread *thread = atomic_load(&first_thread);
    struct thread *const forking = current_thread_state;
    atomic_store(&first_thread, NULL);
    current_thread_state = NULL;
    if (has_end_key)
        pthread_setspecific(end_key, NULL);
    if (forking != NULL) /* nothing drains it: the call's rows must fit */
        ring_clear(&forking->ring);
    while (thread != NULL) {
        struct thread *next = thread->next;
        if (thread != forking)
            free_thread(thread);
        thread = next;
    }
}
