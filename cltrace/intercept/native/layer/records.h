/* Records of the spool: one JSON array per line, its fields in the order of `cltrace.events.records`. */
#ifndef CLTRACE_RECORDS_H
#define CLTRACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* A record under construction. */
struct record {
    struct text line;
};

void record_begin(struct record *record, const char *table);
void record_integer(struct record *record, int64_t value);
void record_boolean(struct record *record, bool value);
void record_null(struct record *record);
void record_string(struct record *record, const char *value);
void record_bytes(struct record *record, const char *bytes, size_t length);

/* An integer, or null if it is negative. */
void record_optional(struct record *record, int64_t value);

void record_open_list(struct record *record);
void record_close_list(struct record *record);

/* Ends the record and leaves it to the writer. */
void record_end(struct record *record);

/* Ends the record, and keeps a copy of its line in place of the former one in `line`. */
void record_end_kept(struct record *record, struct text *line);

/* Adds a line that was kept: a forked child records what it inherited. */
void record_again(const struct text *line);

/* Adds a `Diagnostic`. */
void record_diagnostic(const char *severity, const char *code, const char *message);

/* Returns the number of a text that records share, and records the text at its first use. 0: empty. */
int64_t text_number(const char *bytes, size_t length);

/* Returns the number of a form of argument lists, and records the form at its first use. `slots` are the
   slots in JSON. */
int64_t form_number(const char *slots, size_t length);

/* Takes the lines that wait to be written into `lines`, and its memory for those that follow. */
void records_exchange(struct text *lines);

/* Drops what a forked child inherited. */
void records_forked(void);

#endif
