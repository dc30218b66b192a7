/* Facts about this process. */
#ifndef CLTRACE_PROCESS_FACTS_H
#define CLTRACE_PROCESS_FACTS_H

/* Records this process, and what the user excluded. */
void record_process(void);

/* Names the version of pyopencl in this process, for `record_process`. */
void process_name_pyopencl(const char *version);

#endif
