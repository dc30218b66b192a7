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
void stamps_lock(void);
void stamps_unlock(void);

/* Drops what a forked child inherited. The events stay as they are: they are the parent's. */
void stamps_forked(void);

#endif
