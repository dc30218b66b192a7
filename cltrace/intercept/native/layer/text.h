/* Growable text, and values in it as JSON. */
#ifndef CLTRACE_TEXT_H
#define CLTRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growable text. After a failed allocation `is_broken` is set and further additions do nothing. */
struct text {
    char *bytes;
    size_t length;
    size_t capacity;
    bool is_broken;
};

void text_append(struct text *text, const void *bytes, size_t length);
void text_append_string(struct text *text, const char *string);
void text_append_integer(struct text *text, int64_t value);
void text_free(struct text *text);

/* Appends a JSON string. Bytes that are not UTF-8 become U+FFFD. */
void text_append_json(struct text *text, const char *bytes, size_t length);

#endif
