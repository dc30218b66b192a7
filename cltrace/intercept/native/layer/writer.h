/* Writer: a thread that takes rows from the rings and appends them to the spool's files. */
#ifndef CLTRACE_WRITER_H
#define CLTRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the thread. Returns false if there is none. */
bool writer_start(void);

/* Ends the thread and waits for it. */
void writer_stop(void);

/* Writes all rows and records that are complete. Any thread may call it. */
void writer_flush(void);

/* Makes the thread write soon. */
void writer_wake(void);

/* Appends stamps: rows of `STAMPS`. Only the thread that reads stamps calls it. */
void writer_append_stamps(const int64_t *rows, int64_t count);

void writer_close_files(void);

/* Writes the last record of the process. */
void writer_record_end(const char *how);

/* Locks or unlocks the writer around a fork. */
void writer_lock(void);
void writer_unlock(void);

/* Drops what a forked child inherited. */
void writer_forked(void);

#endif
