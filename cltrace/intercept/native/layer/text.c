#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_append(struct text *text, const void *bytes, size_t length)
{
    if (text->is_broken || length == 0)
        return;
    if (text->capacity - text->length < length) {
        size_t capacity = text->capacity ? text->capacity : 256;
        while (capacity - text->length < length)
            capacity *= 2;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) {
            text->is_broken = true;
            return;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void text_append_string(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_append_integer(struct text *text, int64_t value)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    text_append(text, digits, (size_t)length);
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

/* Returns the length of the UTF-8 sequence at `bytes`, or 0 if there is no valid one. */
static size_t utf8_sequence_length(const unsigned char *bytes, size_t available)
{
    const unsigned char first = bytes[0];
    size_t length;
    uint32_t code;
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2;
        code = first & 0x1FU;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3;
        code = first & 0x0FU;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4;
        code = first & 0x07U;
    } else {
        return 0;
    }
    if (available < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3FU);
    }
    const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    return is_overlong || is_surrogate || code > 0x10FFFF ? 0 : length;
}

static void append_escaped(struct text *text, unsigned char byte)
{
    char escape[8];
    switch (byte) {
    case '"':
        text_append(text, "\\\"", 2);
        break;
    case '\\':
        text_append(text, "\\\\", 2);
        break;
    case '\n':
        text_append(text, "\\n", 2);
        break;
    case '\t':
        text_append(text, "\\t", 2);
        break;
    default:
        snprintf(escape, sizeof escape, "\\u%04x", byte);
        text_append(text, escape, 6);
    }
}

void text_append_json(struct text *text, const char *bytes, size_t length)
{
    const unsigned char *input = (const unsigned char *)bytes;
    text_append(text, "\"", 1);
    size_t plain = 0; /* start of the bytes that are copied as they are */
    size_t i = 0;
    while (i < length) {
        const size_t sequence = utf8_sequence_length(input + i, length - i);
        const bool is_plain =
            sequence > 1 || (sequence == 1 && input[i] >= 0x20 && input[i] != '"' && input[i] != '\\');
        if (is_plain) {
            i += sequence;
            continue;
        }
        text_append(text, bytes + plain, i - plain);
        if (sequence == 0)
            text_append(text, "\\ufffd", 6);
        else
            append_escaped(text, input[i]);
        i++;
        plain = i;
    }
    text_append(text, bytes + plain, length - plain);
    text_append(text, "\"", 1);
}
