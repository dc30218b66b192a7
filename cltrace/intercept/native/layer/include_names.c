#include "include_names.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXPANSIONS 8

/* A part of a text. */
struct span {
    const char *at;
    const char *end;
};

static void define(struct name_macros *macros, struct span name, struct span value)
{
    if (macros->count == MAX_NAME_MACROS)
        return;
    char *const kept_name = strndup(name.at, (size_t)(name.end - name.at));
    char *const kept_value = strndup(value.at, (size_t)(value.end - value.at));
    if (kept_name == NULL || kept_value == NULL) {
        free(kept_name);
        free(kept_value);
        return;
    }
    macros->of[macros->count].name = kept_name;
    macros->of[macros->count++].value = kept_value;
}

void name_macros_define(struct name_macros *macros, const char *definition)
{
    const char *equals = strchr(definition, '=');
    if (equals == NULL || memchr(definition, '(', (size_t)(equals - definition)) != NULL)
        return;
    define(macros, (struct span){definition, equals},
           (struct span){equals + 1, equals + 1 + strlen(equals + 1)});
}

void name_macros_free(struct name_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++) {
        free(macros->of[i].name);
        free(macros->of[i].value);
    }
    macros->count = 0;
}

static bool is_of_word(char character)
{
    return character == '_' || isalnum((unsigned char)character);
}

static bool is_of_path(char character)
{
    return !isspace((unsigned char)character) && strchr("()\"<>,#", character) == NULL;
}

static struct span skip_blanks(struct span span)
{
    while (span.at < span.end && (*span.at == ' ' || *span.at == '\t'))
        span.at++;
    return span;
}

/* Skips `#` and the word of a directive. Returns false if the line is no such directive. */
static bool skip_directive(struct span *line, const char *word)
{
    const size_t length = strlen(word);
    struct span rest = skip_blanks(*line);
    if (rest.at == rest.end || *rest.at++ != '#')
        return false;
    rest = skip_blanks(rest);
    if ((size_t)(rest.end - rest.at) <= length || memcmp(rest.at, word, length) != 0 ||
        is_of_word(rest.at[length]))
        return false;
    rest.at += length;
    *line = skip_blanks(rest);
    return true;
}

/* The first `"name"` or `<name>` of a span, without its marks. Returns false if there is none. */
static bool find_written(struct span span, struct span *name)
{
    for (; span.at < span.end; span.at++) {
        if (*span.at != '"' && *span.at != '<')
            continue;
        const char closing = *span.at == '"' ? '"' : '>';
        const char *const begin = span.at + 1;
        const char *const end = memchr(begin, closing, (size_t)(span.end - begin));
        if (end != NULL && end > begin) {
            *name = (struct span){begin, end};
            return true;
        }
    }
    return false;
}

static const char *value_of(const struct name_macros *macros, struct span word)
{
    const size_t length = (size_t)(word.end - word.at);
    for (size_t i = macros->count; i-- > 0;)
        if (strncmp(macros->of[i].name, word.at, length) == 0 && macros->of[i].name[length] == '\0')
            return macros->of[i].value;
    return NULL;
}

/* Writes a text with its macros replaced, once, as far as there is room. Returns its length. */
static size_t replace_macros(const struct name_macros *macros, struct span from, char *to, size_t room)
{
    size_t length = 0;
    while (from.at < from.end) {
        const char *end = from.at + 1;
        const char *value = NULL;
        if (is_of_word(*from.at)) {
            while (end < from.end && is_of_word(*end))
                end++;
            value = value_of(macros, (struct span){from.at, end});
        }
        const size_t size = value == NULL ? (size_t)(end - from.at) : strlen(value);
        if (length + size > room)
            break;
        memcpy(to + length, value == NULL ? from.at : value, size);
        length += size;
        from.at = end;
    }
    return length;
}

/* Calls `each` with what looks like a path, for macros with parameters put marks around their argument. */
static void find_paths(struct span span, name_function *each, void *context)
{
    while (span.at < span.end) {
        const char *const begin = span.at;
        bool is_path = false;
        while (span.at < span.end && is_of_path(*span.at)) {
            is_path = is_path || *span.at == '/' || *span.at == '.';
            span.at++;
        }
        if (is_path)
            each(context, begin, (size_t)(span.at - begin));
        if (span.at == begin)
            span.at++;
    }
}

static void name_of_operand(const struct name_macros *macros, struct span operand,
                            name_function *each, void *context)
{
    char rooms[2][2 * PATH_MAX];
    struct span name;
    for (int i = 0; i < MAX_EXPANSIONS && !find_written(operand, &name); i++) {
        char *const to = rooms[i % 2];
        operand = (struct span){to, to + replace_macros(macros, operand, to, sizeof rooms[0])};
    }
    if (find_written(operand, &name))
        each(context, name.at, (size_t)(name.end - name.at));
    else
        find_paths(operand, each, context);
}

/* Keeps the macro of a `#define` if its value is a name in marks. */
static void define_name(struct name_macros *macros, struct span line)
{
    struct span name = {line.at, line.at};
    while (name.end < line.end && is_of_word(*name.end))
        name.end++;
    const struct span value = skip_blanks((struct span){name.end, line.end});
    struct span written;
    if (value.at > name.end && value.at < value.end && (*value.at == '"' || *value.at == '<') &&
        find_written(value, &written))
        define(macros, name, (struct span){value.at, written.end + 1});
}

void names_of_text(const struct text *text, struct name_macros *macros, name_function *each,
                   void *context)
{
    const char *const end = text->bytes + text->length;
    for (const char *at = text->bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct span line = {at, newline == NULL ? end : newline};
        if (skip_directive(&line, "include"))
            name_of_operand(macros, line, each, context);
        else if (skip_directive(&line, "define"))
            define_name(macros, line);
        if (newline == NULL)
            break;
        at = newline + 1;
    }
}
