#include "includes.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include_names.h"
#include "records.h"

#define MAX_FILES 1000
#define MAX_BYTES (16U << 20)
#define MAX_DIRECTORIES 64

/* A name to look for: as it is written, and the directory of the file that includes it. */
struct wanted {
    char *beside;
    char *name;
};

/* A search for included files. */
struct search {
    int64_t program_id;
    const struct given_header *headers;
    size_t header_count;
    char *directories[MAX_DIRECTORIES];
    size_t directory_count;
    char *included[MAX_FILES];
    size_t included_count;
    size_t total_bytes;
    struct wanted wanted[MAX_FILES];
    size_t wanted_count;
    struct name_macros macros;
    const char *beside; /* the directory of the file whose text is searched */
};

static void want(struct search *search, const char *beside, const char *name, size_t length)
{
    if (search->wanted_count == MAX_FILES || length == 0)
        return;
    struct wanted *added = &search->wanted[search->wanted_count];
    *added = (struct wanted){strdup(beside), strndup(name, length)};
    if (added->beside != NULL && added->name != NULL) {
        search->wanted_count++;
    } else {
        free(added->beside);
        free(added->name);
    }
}

static void want_name(void *context, const char *name, size_t length)
{
    struct search *search = context;
    want(search, search->beside, name, length);
}

/* Wants the names that a text includes. `beside` is the directory of its file, empty for the program. */
static void want_of_text(struct search *search, const char *beside, const struct text *text)
{
    search->beside = beside;
    names_of_text(text, &search->macros, want_name, search);
}

/* Removes `.` and `..` from a relative path, in place, as far as they cancel out. */
static void normalise(char *path)
{
    char *parts[PATH_MAX / 2];
    size_t count = 0;
    char result[PATH_MAX] = "";
    size_t length = 0;
    const bool is_absolute = *path == '/';
    char *rest = NULL;
    for (char *part = strtok_r(path, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0 && count > 0 && strcmp(parts[count - 1], "..") != 0)
            count--;
        else
            parts[count++] = part;
    }
    for (size_t i = 0; i < count && length < sizeof result; i++)
        length += (size_t)snprintf(result + length, sizeof result - length, "%s%s",
                                   i > 0 || is_absolute ? "/" : "", parts[i]);
    strcpy(path, result); /* it is no longer than the path was */
}

static bool read_file_at(const char *path, struct text *text)
{
    struct stat status;
    char block[1U << 14];
    ssize_t length;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > MAX_BYTES)
        return false;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    while ((length = read(descriptor, block, sizeof block)) > 0 && text->length <= MAX_BYTES)
        text_append(text, block, (size_t)length);
    close(descriptor);
    return !text->is_broken;
}

/* Finds the text of a name: a header that was given, or the first file. The caller frees it. */
static bool find_text(const struct search *search, const char *name, struct text *text)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < search->header_count; i++)
        if (strcmp(search->headers[i].name, name) == 0) {
            text_append(text, search->headers[i].text.bytes, search->headers[i].text.length);
            return true;
        }
    for (size_t i = 0; i < search->directory_count; i++) {
        const char *directory = *name == '/' ? "" : search->directories[i];
        const int length =
            snprintf(path, sizeof path, "%s%s%s", directory, *directory == '\0' ? "" : "/", name);
        if (length > 0 && (size_t)length < sizeof path && read_file_at(path, text))
            return true;
        text_free(text);
    }
    return false;
}

static bool is_included(const struct search *search, const char *name)
{
    for (size_t i = 0; i < search->included_count; i++)
        if (strcmp(search->included[i], name) == 0)
            return true;
    return false;
}

static void record_include(int64_t program_id, const char *name, const struct text *text)
{
    struct record record;
    const int64_t text_id = text_number(text->bytes, text->length);
    record_begin(&record, "include");
    record_string(&record, name);
    record_integer(&record, program_id);
    record_integer(&record, text_id);
    record_end(&record);
}

/* Includes a file by name, unless it is included already. Returns false if there is none. */
static bool include_name(struct search *search, const char *name)
{
    struct text text = {0};
    char beside[PATH_MAX];
    if (is_included(search, name))
        return true;
    if (!find_text(search, name, &text))
        return false;
    const char *slash = strrchr(name, '/');
    snprintf(beside, sizeof beside, "%.*s", slash == NULL ? 0 : (int)(slash - name), name);
    search->included[search->included_count] = strdup(name);
    if (search->included[search->included_count] != NULL)
        search->included_count++;
    search->total_bytes += text.length;
    record_include(search->program_id, name, &text);
    want_of_text(search, beside, &text);
    text_free(&text);
    return true;
}

/* Includes a file beside the one that includes it, or else by the name as it is written. */
static void include_wanted(struct search *search, const struct wanted *wanted)
{
    char beside[PATH_MAX];
    const char *separator = *wanted->beside == '\0' ? "" : "/";
    const int length =
        snprintf(beside, sizeof beside, "%s%s%s", wanted->beside, separator, wanted->name);
    if (length < 0 || (size_t)length >= sizeof beside)
        return;
    normalise(beside);
    if (!include_name(search, beside))
        include_name(search, wanted->name);
}

static void add_directory(struct search *search, const char *begin, size_t length)
{
    if (search->directory_count < MAX_DIRECTORIES &&
        (search->directories[search->directory_count] = strndup(begin, length)) != NULL)
        search->directory_count++;
}

/* Takes the next word of options, without its quotes. Returns false at the end. */
static bool next_word(const char **options, char *word, size_t room)
{
    const char *at = *options;
    size_t length = 0;
    char quote = '\0';
    while (isspace((unsigned char)*at))
        at++;
    if (*at == '\0')
        return false;
    for (; *at != '\0' && (quote != '\0' || !isspace((unsigned char)*at)); at++) {
        if (quote != '\0' ? *at == quote : *at == '"' || *at == '\'') {
            quote = quote == '\0' ? *at : '\0';
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1] != '\0')
            at++;
        if (length + 1 < room)
            word[length++] = *at;
    }
    word[length] = '\0';
    *options = at;
    return true;
}

/* Adds the working directory, the directories that options name with `-I`, and the macros of `-D`. */
static void read_options(struct search *search, const char *options)
{
    char word[PATH_MAX];
    add_directory(search, "", 0);
    while (next_word(&options, word, sizeof word)) {
        const bool is_macro = strncmp(word, "-D", 2) == 0;
        if (!is_macro && strncmp(word, "-I", 2) != 0)
            continue;
        const char *value = word + 2;
        if (*value == '\0') {
            if (!next_word(&options, word, sizeof word))
                break;
            value = word;
        }
        if (is_macro)
            name_macros_define(&search->macros, value);
        else
            add_directory(search, value, strlen(value));
    }
}

bool includes_anything(const struct text *source)
{
    return source->length > 0 && memmem(source->bytes, source->length, "include", 7) != NULL;
}

void record_includes(int64_t program_id, const struct text *source, const char *options,
                     const struct given_header *headers, size_t header_count)
{
    if (!includes_anything(source))
        return;
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return;
    search->program_id = program_id;
    search->headers = headers;
    search->header_count = header_count;
    read_options(search, options);
    want_of_text(search, "", source);
    for (size_t i = 0; i < header_count; i++)
        want(search, "", headers[i].name, strlen(headers[i].name));
    while (search->wanted_count > 0) {
        const struct wanted wanted = search->wanted[--search->wanted_count];
        if (search->included_count < MAX_FILES && search->total_bytes < MAX_BYTES)
            include_wanted(search, &wanted);
        free(wanted.beside);
        free(wanted.name);
    }
    for (size_t i = 0; i < search->included_count; i++)
        free(search->included[i]);
    for (size_t i = 0; i < search->directory_count; i++)
        free(search->directories[i]);
    name_macros_free(&search->macros);
    free(search);
}
