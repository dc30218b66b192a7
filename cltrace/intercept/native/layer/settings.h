/* Settings of the recording, read from `layer.settings` in the parts directory.

   A line is a key, a space and a value. A value extends to the end of its line. Unknown keys are ignored.
   `cltrace.intercept.native.settings` writes the file and documents the keys. */
#ifndef CLTRACE_SETTINGS_H
#define CLTRACE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Most frames of a stack, as `cltrace.events` has it. */
#define MAX_CALLSITE_DEPTH 128

struct string_list {
    char **items;
    int count;
};

struct settings {
    bool records_python; /* record calls in processes that run Python */
    bool records_source;
    bool records_arguments;
    bool records_environment;
    bool forces_profiling;
    bool follows_children;
    bool starts_paused;
    bool captures_contents; /* of small buffers, and of large ones up to `capture_bytes`, or indices */
    int callsite_depth;
    int64_t began_host_ns;
    int64_t delay_ns;
    int64_t duration_ns; /* -1: no limit */
    int64_t max_commands; /* -1: no limit */
    int64_t capture_bytes;
    struct string_list include_kernels;
    struct string_list exclude_kernels;
    struct string_list recorded_variables;
    struct string_list rank_variables;
};

extern struct settings settings;

/* Reads the settings. Returns false if the file cannot be read. */
bool settings_read(const char *parts_directory);

/* True if launches of the kernel `name` are recorded. */
bool settings_record_kernel(const char *name);

/* True if the environment variable `name` may be recorded. */
bool settings_record_variable(const char *name);

#endif
