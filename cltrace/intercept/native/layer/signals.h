/* The signal that a write beyond a limit of the file's size sends: it would end the program. */
#ifndef CLTRACE_SIGNALS_H
#define CLTRACE_SIGNALS_H

#include <signal.h>

/* Blocks the signal in this thread, and returns the former mask. */
sigset_t block_size_signal(void);

/* Takes a signal that was sent meanwhile, and restores the mask. */
void restore_signals(const sigset_t *before);

#endif
