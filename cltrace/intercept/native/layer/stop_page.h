/* Page of shared memory that tells why the recording of a process stopped, and how many commands it lacks.

   It is a file of the process directory, mapped at the start. So it can be written on a full disk, after the
   process lost the right to open files, and it outlives a kill. `spool/stop_page.py` reads it. */
#ifndef CLTRACE_STOP_PAGE_H
#define CLTRACE_STOP_PAGE_H

#include <stdbool.h>

/* Creates the page in a process directory. Returns false if that fails: nothing is told then. */
bool stop_page_create(const char *directory);

/* Writes that the recording stopped now. The first reason counts. */
void stop_page_tell(const char *reason);

/* Adds commands that were enqueued and are not in the spool. */
void stop_page_add_missing(long long commands);

/* True if a reason was written. */
bool stop_page_is_told(void);

/* Writes to no file from now on: this is a fork that the user does not want to be recorded. */
void stop_page_leave(void);

/* Adds a fork of this process that cannot be recorded. The page is the parent's. */
void stop_page_add_fork(void);

#endif
