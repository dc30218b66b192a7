#include "lifecycle.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contents.h"
#include "extensions.h"
#include "layer.h"
#include "loaders.h"
#include "process_facts.h"
#include "python.h"
#include "records.h"
#include "schedule.h"
#include "settings.h"
#include "signals.h"
#include "sites.h"
#include "spool_file.h"
#include "stamps.h"
#include "stop_page.h"
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
static pid_t recorded_pid;
static pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;
static char parts_directory[PATH_MAX];
static char given_directory[PATH_MAX]; /* that Python has made for this process; empty without one */

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
    stop_page_tell(reason);
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

/* False in a child that ran no handlers of forks, because of `vfork` or `clone`: it may share the parent's
   memory. */
static bool is_recorded_process(void)
{
    return atomic_load(&state) == STATE_RECORDING && getpid() == recorded_pid;
}

void process_settle(void)
{
    if (!is_recorded_process() || atomic_exchange(&driver_is_closing, true))
        return;
    const sigset_t before = block_size_signal();
    writer_flush();
    stamps_stop();
    writer_flush();
    restore_signals(&before);
}

/* Python begins the recording of its process before the program calls a loader. */
static void record_end_with_notes(const char *how)
{
    if (target.clGetPlatformIDs == NULL)
        record_diagnostic("note", "layer-unused",
                          "no OpenCL loader loaded the layer: the process called none, the loader found no "
                          "platform (OCL_ICD_VENDORS), or it refused the layer; `--layer off` records "
                          "pyopencl by hooks");
    writer_record_end(how);
}

void process_end(const char *how)
{
    process_settle();
    if (stop_page_is_told() && recorded_pid == getpid())
        writer_flush(); /* counts the rows that are left, which nothing writes any more */
    if (!is_recorded_process())
        return;
    const sigset_t before = block_size_signal();
    atomic_store(&recording_gate, 0);
    writer_stop();
    writer_flush();
    if (!recording_is_over())
        record_end_with_notes(how);
    atomic_store(&state, STATE_OVER);
    writer_close_files();
    restore_signals(&before);
}

/* Second stage: C++ programs release their objects in destructors that run after the first. */
__attribute__((destructor)) static void finish(void)
{
    process_end("exit");
}

void process_flush(const char *how)
{
    if (!is_recorded_process())
        return;
    const sigset_t before = block_size_signal();
    writer_flush();
    /* The process may be killed or replaced before the reader of stamps has its turn. */
    stamps_release_complete(NULL);
    if (how != NULL)
        writer_record_end(how); /* an `exec` may fail, and the program go on to use OpenCL */
    restore_signals(&before);
}

void process_watch_exit(void)
{
    /* Drivers register their ends when the first objects are made. */
    static atomic_int registrations;
    if (!driver_may_be_gone() && atomic_fetch_add(&registrations, 1) < MAX_EXIT_REGISTRATIONS)
        atexit(process_settle);
}

static void before_fork(void)
{
    stamps_leave_driver();
    pthread_mutex_lock(&objects_mutex);
    contents_lock();
    writer_lock();
    stamps_lock();
}

static void after_fork_in_parent(void)
{
    stamps_unlock();
    writer_unlock();
    contents_unlock();
    pthread_mutex_unlock(&objects_mutex);
    stamps_enter_driver();
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
    extensions_forked();
    contents_forked();
    *given_directory = '\0';
    if (atomic_load(&state) == STATE_OVER)
        return;
    if (settings.follows_children) {
        atomic_store(&state, STATE_WAITING);
    } else {
        atomic_store(&recording_gate, 0);
        atomic_store(&state, STATE_OVER);
        stop_page_leave();
    }
}

/* Returns true if this process is to be recorded, and reads the settings. */
static bool prepare(void)
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

bool process_prepare(void)
{
    static bool is_tried;
    static bool is_prepared;
    pthread_mutex_lock(&state_mutex);
    if (!is_tried) {
        is_tried = true;
        is_prepared = prepare();
    }
    pthread_mutex_unlock(&state_mutex);
    return is_prepared;
}

bool process_begin(const char *directory)
{
    if (!process_prepare())
        return false;
    if (strlen(directory) < sizeof given_directory)
        strcpy(given_directory, directory);
    return process_join_recording();
}

static bool begin_recording(void)
{
    const bool is_given = *given_directory != '\0' && spool_use_directory(given_directory);
    if (!is_given && !spool_create_directory(parts_directory)) {
        atomic_store(&recording_gate, 0);
        atomic_store(&state, STATE_OVER);
        spool_report_untraced(parts_directory, "tracing did not start: no directory can be made");
        stop_page_add_fork();
        return false;
    }
    if (!stop_page_create(spool_directory()))
        spool_report_untraced(parts_directory, "a stop of the recording cannot be told: no file can be made");
    record_process();
    recorded_pid = getpid();
    atomic_store(&state, STATE_RECORDING);
    if (!writer_start() || !stamps_start()) {
        stop_recording("no file or thread can be made");
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
