/* Stamps reader: a thread that reads the device stamps of complete commands and releases their events. */
#ifndef CLTRACE_STAMPS_H
#define CLTRACE_STAMPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl.h"

struct thread;

/* A command whose stamps are unread. The layer owns a reference to the event. */
struct pending_event {
    int64_t command; /* as in the table of stamps */
    cl_event event;
};

bool stamps_start(void);

/* Reads what is complete, until no event is unread or no command completes for some time; then ends. */
void stamps_stop(void);

/* Adds commands. */
void stamps_add(const struct pending_event *events, size_t count);

/* True if the program's threads read stamps: the driver lets one thread in at a time. */
extern atomic_bool stamps_are_read_in_calls;

/* Keeps the event of the newest command of a thread. */
void stamps_keep_newest(struct thread *thread, cl_event event);

/* Reads stamps in a thread of the program, if its newest command is complete. */
void stamps_read_before_command(struct thread *thread);

/* Reads stamps in a thread of the program that has waited for its commands. */
void stamps_read_after_wait(struct thread *thread);

/* Reads what is complete, so that its events are released. Returns the number of references to `event`,
   which may be NULL, that the layer still owns. */
unsigned stamps_release_complete(cl_event event);

/* True while the program's threads must wait, because too many events are unread. */
bool stamps_must_wait(void);

int64_t stamps_unread_peak(void);
int64_t stamps_cpu_ns(void);

/* Wait until the thread is out of the driver, and let it in again. A child that is forked meanwhile would
   inherit the driver's locks in the hands of a thread that it lacks. */
void stamps_leave_driver(void);
void stamps_enter_driver(void);

/* Lock or unlock the list of added commands around a fork. */
void stamps_lock(void);
void stamps_unlock(void);

/* Drops what a forked child inherited. The events stay as they are: they are the parent's. */
void stamps_forked(void);

#endif
