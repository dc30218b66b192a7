/* Stamps reader: a thread that reads the device stamps of complete commands and releases their events. */
#ifndef CLTRACE_STAMPS_H
#define CLTRACE_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl.h"

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
