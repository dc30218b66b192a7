/* Files of the spool, which survive a program that closes descriptors that it did not open. */
#ifndef CLTRACE_SPOOL_FILE_H
#define CLTRACE_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPOOL_NAME_BYTES 32

/* A file of the process directory that grows at its end. All zeros but the name: not opened yet. */
struct spool_file {
    char name[SPOOL_NAME_BYTES];
    int descriptor;
    bool is_open;
    bool is_kept; /* false where only the descriptors that the program gets are left: open for a write only */
    dev_t device;
    ino_t inode;
};

/* Creates this process's directory in `parts_directory`. Returns false if that fails. */
bool spool_create_directory(const char *parts_directory);

/* Uses a directory that exists as this process's. Returns false if there is none of that name. */
bool spool_use_directory(const char *directory);

/* Returns this process's directory. */
const char *spool_directory(void);

/* Opens a file now, because the process may lose the right to do so. Returns false if that fails. */
bool spool_open(struct spool_file *file);

/* Appends bytes, all of them or none. Returns false and sets `errno` if they cannot be written. */
bool spool_append(struct spool_file *file, const void *bytes, size_t length);

void spool_close(struct spool_file *file);

/* Appends a line to `untraced-PID.txt`: the reason why this process is not traced further. */
void spool_report_untraced(const char *parts_directory, const char *reason);

#endif
