/* Control of the gate: by the clock, by the program, and up to a limit of commands. */
#ifndef CLTRACE_SCHEDULE_H
#define CLTRACE_SCHEDULE_H

#include <stdint.h>

/* Sets the gate when a recording begins. */
void schedule_begin(void);

/* Opens or closes the gate by the clock, until the program does so itself. */
void schedule_follow(int64_t now_ns);

/* Closes the gate when `commands` reaches the limit of the settings. */
void schedule_limit(int64_t commands);

/* Close or open the gate for the program, whatever the clock shows. */
void schedule_pause(void);
void schedule_resume(void);

#endif
