/* Names that `#include` directives give, as they are written or by macros. */
#ifndef CLTRACE_INCLUDE_NAMES_H
#define CLTRACE_INCLUDE_NAMES_H

#include <stddef.h>

#include "text.h"

#define MAX_NAME_MACROS 256

/* Macros without parameters that a directive may use instead of a name. */
struct name_macros {
    struct {
        char *name;
        char *value;
    } of[MAX_NAME_MACROS];
    size_t count;
};

/* Adds the macro of a `-D` option, "NAME=value". Others are ignored, and so is all beyond the room. */
void name_macros_define(struct name_macros *macros, const char *definition);

void name_macros_free(struct name_macros *macros);

typedef void name_function(void *context, const char *name, size_t length);

/* Calls `each` with the names that a text includes. Its own macros that are names join `macros`. */
void names_of_text(const struct text *text, struct name_macros *macros, name_function *each,
                   void *context);

#endif
