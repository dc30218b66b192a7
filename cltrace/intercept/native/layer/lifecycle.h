/* Begin and end of the recording of a process, and its forks. */
#ifndef CLTRACE_LIFECYCLE_H
#define CLTRACE_LIFECYCLE_H

#include <stdbool.h>

/* Reads the settings. Returns false if this process is not to be recorded. */
bool process_prepare(void);

/* Begins the recording of this process in a directory that exists, before a loader initialises the layer.
   Returns false if this process is not to be recorded. */
bool process_begin(const char *directory);

/* Begins the recording of this process, once. Returns false if there is none. */
bool process_join_recording(void);

/* Registers the end of the recording with the C library again, so that it precedes the end of a driver
   which registered its own in the meantime. */
void process_watch_exit(void);

/* First stage of the end: all stamps are read while the driver still answers. The driver is not called any
   more. */
void process_settle(void);

/* Writes what is recorded so far; with `how`, also how the process ends if it ends now. */
void process_flush(const char *how);

/* Ends the recording for good. `how` tells how the process ends. */
void process_end(const char *how);

/* True once the driver may have ended: no stamps are read any more, and no events kept. */
bool driver_may_be_gone(void);

#endif
