/* Frames of the Python interpreter in this process, if there is one. */
#ifndef CLTRACE_PYTHON_H
#define CLTRACE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if this process runs Python, of any version. */
bool python_is_present(void);

/* Finds the interpreter's functions. Without all of them, no frames are read. */
void python_prepare(void);

/* Returns the version of the interpreter; empty without one. */
const char *python_version(void);

/* Returns the site of the Python code that makes the current call: the nearest frame that belongs
   neither to pyopencl and its helpers nor to cltrace; 0 if there is none. -1 outside of Python. */
int64_t python_site(void);

/* Writes the name that Python's `threading` gives the calling thread to `name`; leaves it where that is
   not known. */
void python_thread_name(char *name, size_t room);

void python_forked(void);

#endif
