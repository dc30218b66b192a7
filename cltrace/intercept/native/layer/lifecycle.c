#include "lifecycle.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer.h"
#include "loaders.h"
#include "process_facts.h"
#include "python.h"
#include "records.h"
#include "schedule.h"
#include "settings.h"
#include "sites.h"
#include "spool_file.h"
#include "stamps.h"
#include "threads.h"
#include "writer.h"

struct cl_dispatch target;
atomic_int recording_gate;
atomic_uint process_epoch;
pthread_mutex_t objects_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
atomic_int_fast64_t number_counters[NUMBER_KINDS];

#define MAX_EXIT_REGISTRATIONS 32

enum state { STATE_WAITING, STATE_RECORDING, STATE_OVER };
static atomic_int state = STATE_OVER;
static atomic_bool driver_is_closing;
static pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;
static char parts_directory[PATH_MAX];

bool recording_is_over(void)
{
    return atomic_load_explicit(&state, memory_order_relaxed) == STATE_OVER;
}

bool driver_may_be_gone(void)
{
    return atomic_load_explicit(&driver_is_closing, memory_order_relaxed);
}

void stop_recording(const char *reason)
{
    char line[256];
    atomic_store(&recording_gate, 0);
    if (atomic_exchange(&state, STATE_OVER) == STATE_OVER)
        return;
    snprintf(line, sizeof line, "tracing stopped: %s", reason);
    record_diagnostic("error", "tracing-stopped", line);
    spool_report_untraced(parts_directory, line);
}

/* Returns true if this process is the command itself, a direct child of the recording process. */
static bool is_command(void)
{
    const char *recorder = getenv("CLTRACE_RECORDER");
    return recorder == NULL || strtol(recorder, NULL, 10) == (long)getppid();
}

/* Blocks the signal that a write beyond a limit of the file's size sends, and returns the former mask. */
static sigset_t block_size_signal(void)
{
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    return before;
}

static void restore_signals(const sigset_t *before)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    if (!sigismember(before, SIGXFSZ))
        sigtimedwait(&blocked, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* First stage of the end: all stamps are read while the driver still answers. */
static void settle(void)
{
    if (atomic_load(&state) != STATE_RECORDING || atomic_exchange(&driver_is_closing, true))
        return;
    const sigset_t before = block_size_signal();
    writer_flush();
    stamps_stop();
    writer_flush();
    restore_signals(&before);
}

/* Second stage: the recording ends, `how` is the word for it. */
static void end_recording(const char *how)
{
    settle();
    if (atomic_load(&state) != STATE_RECORDING)
        return;
    const sigset_t before = block_size_signal();
    atomic_store(&recording_gate, 0);
    writer_stop();
    writer_flush();
    if (!recording_is_over())
        writer_record_end(how);
    atomic_store(&state, STATE_OVER);
    writer_close_files();
    restore_signals(&before);
}

/* C++ programs release their objects in destructors that run after the first stage. */
__attribute__((destructor)) static void finish(void)
{
    end_recording("exit");
}

void process_watch_exit(void)
{
    /* Drivers register their ends when the first objects are made. */
    static atomic_int registrations;
    if (!driver_may_be_gone() && atomic_fetch_add(&registrations, 1) < MAX_EXIT_REGISTRATIONS)
        atexit(settle);
}

static void before_fork(void)
{
    pthread_mutex_lock(&objects_mutex);
    writer_lock();
    stamps_lock();
}

static void after_fork_in_parent(void)
{
    stamps_unlock();
    writer_unlock();
    pthread_mutex_unlock(&objects_mutex);
}

static void after_fork_in_child(void)
{
    objects_mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_init(&state_mutex, NULL);
    atomic_fetch_add(&process_epoch, 1);
    writer_forked();
    stamps_forked();
    records_forked();
    threads_forked();
    sites_forked();
    loaders_forked();
    if (atomic_load(&state) == STATE_OVER)
        return;
    if (settings.follows_children) {
        atomic_store(&state, STATE_WAITING);
    } else {
        atomic_store(&recording_gate, 0);
        atomic_store(&state, STATE_OVER);
    }
}

bool process_prepare(void)
{
    const char *session = getenv("CLTRACE_SESSION");
    if (session == NULL || *session == '\0' || getenv("CLTRACE_DISABLE") != NULL)
        return false;
    if (realpath(session, parts_directory) == NULL || !settings_read(parts_directory))
        return false;
    if (!settings.records_python && python_is_present())
        return false;
    if (!settings.follows_children && !is_command())
        return false;
    python_prepare();
    atomic_store(&state, STATE_WAITING);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    process_watch_exit();
    schedule_begin();
    return true;
}

static bool begin_recording(void)
{
    if (!spool_create_directory(parts_directory)) {
        atomic_store(&recording_gate, 0);
        atomic_store(&state, STATE_OVER);
        spool_report_untraced(parts_directory, "tracing did not start: no directory can be made");
        return false;
    }
    record_process();
    atomic_store(&state, STATE_RECORDING);
    if (!writer_start() || !stamps_start()) {
        stop_recording("no threads can be started");
        writer_stop();
        return false;
    }
    return true;
}

bool process_join_recording(void)
{
    if (atomic_load(&state) != STATE_WAITING)
        return atomic_load(&state) == STATE_RECORDING;
    pthread_mutex_lock(&state_mutex);
    const bool is_joined = atomic_load(&state) == STATE_WAITING
                               ? begin_recording()
                               : atomic_load(&state) == STATE_RECORDING;
    pthread_mutex_unlock(&state_mutex);
    return is_joined;
}

LAYER_EXPORT void cltrace_layer_pause(void);
LAYER_EXPORT void cltrace_layer_resume(void);
LAYER_EXPORT void cltrace_layer_flush(void);
LAYER_EXPORT void cltrace_layer_end(const char *how);
LAYER_EXPORT void cltrace_layer_adopt_loaders(void);

void cltrace_layer_pause(void)
{
    schedule_pause();
}

void cltrace_layer_resume(void)
{
    schedule_resume();
}

void cltrace_layer_adopt_loaders(void)
{
    loaders_adopt();
}

/* Python ends some processes by `_exit`, which runs no destructor. */
void cltrace_layer_end(const char *how)
{
    end_recording(how);
}

void cltrace_layer_flush(void)
{
    if (atomic_load(&state) != STATE_RECORDING)
        return;
    const sigset_t before = block_size_signal();
    writer_flush();
    restore_signals(&before);
}
