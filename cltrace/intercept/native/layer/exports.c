/* Functions that Python's side of cltrace calls in this process. Where the layer does not record, they do
   nothing. */

#include <string.h>

#include "layer.h"
#include "lifecycle.h"
#include "loaders.h"
#include "process_facts.h"
#include "programs.h"
#include "records.h"
#include "schedule.h"
#include "threads.h"

LAYER_EXPORT bool cltrace_layer_begin(const char *directory, const char *pyopencl_version);
LAYER_EXPORT void cltrace_layer_pause(void);
LAYER_EXPORT void cltrace_layer_resume(void);
LAYER_EXPORT void cltrace_layer_flush(const char *how);
LAYER_EXPORT void cltrace_layer_end(const char *how);
LAYER_EXPORT void cltrace_layer_adopt_loaders(void);
LAYER_EXPORT void cltrace_layer_offer_source(const char *bytes, size_t length);
LAYER_EXPORT void cltrace_layer_record_region(const char *name, size_t length, int64_t enter_ns);

/* Begins the recording of this process in `directory`, before its first call. Returns whether it is
   recorded. */
bool cltrace_layer_begin(const char *directory, const char *pyopencl_version)
{
    process_name_pyopencl(pyopencl_version);
    return process_begin(directory);
}

void cltrace_layer_pause(void)
{
    schedule_pause();
}

void cltrace_layer_resume(void)
{
    schedule_resume();
}

void cltrace_layer_flush(const char *how)
{
    process_flush(how);
}

void cltrace_layer_end(const char *how)
{
    process_end(how);
}

void cltrace_layer_adopt_loaders(void)
{
    loaders_adopt();
}

/* Gives the source of the next program that this thread makes from binaries; with NULL there is none. */
void cltrace_layer_offer_source(const char *bytes, size_t length)
{
    program_offer_source(bytes, length);
}

/* Records a named region of the program that began at `enter_ns` and ends now. */
void cltrace_layer_record_region(const char *name, size_t length, int64_t enter_ns)
{
    const int64_t leave_ns = now_host_ns();
    struct thread *thread = is_recording() ? thread_current() : NULL;
    if (thread == NULL)
        return;
    const int64_t row[] = {text_number(name, length), thread->id, enter_ns, leave_ns};
    thread_push(thread, TABLE_REGIONS, row, 4);
    thread_check_ring(thread);
}
