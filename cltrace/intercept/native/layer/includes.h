/* Files that a program's source includes. */
#ifndef CLTRACE_INCLUDES_H
#define CLTRACE_INCLUDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* A header that the program gave by name. */
struct given_header {
    const char *name;
    struct text text;
};

/* True if a source may include anything. */
bool includes_anything(const struct text *source);

/* Records the texts that `source` includes, directly and indirectly, as `Include` records of a program.

   `options` are the build's. Headers that are given take precedence over files. Files are looked for in
   the working directory and in those of `-I`. Those that cannot be read are left out, and so is all beyond
   1,000 files or 16 MiB. */
void record_includes(int64_t program_id, const struct text *source, const char *options,
                     const struct given_header *headers, size_t header_count);

#endif
