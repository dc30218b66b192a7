#include "records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

static pthread_mutex_t records_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct text pending;

static void begin_field(struct record *record)
{
    if (record->line.is_broken || record->line.length == 0)
        return;
    const char last = record->line.bytes[record->line.length - 1];
    if (last != '[')
        text_append(&record->line, ",", 1);
}

void record_begin(struct record *record, const char *table)
{
    *record = (struct record){0};
    text_append(&record->line, "[", 1);
    record_string(record, table);
}

void record_integer(struct record *record, int64_t value)
{
    begin_field(record);
    text_append_integer(&record->line, value);
}

void record_optional(struct record *record, int64_t value)
{
    if (value < 0)
        record_null(record);
    else
        record_integer(record, value);
}

void record_boolean(struct record *record, bool value)
{
    begin_field(record);
    text_append_string(&record->line, value ? "true" : "false");
}

void record_null(struct record *record)
{
    begin_field(record);
    text_append_string(&record->line, "null");
}

void record_string(struct record *record, const char *value)
{
    record_bytes(record, value, strlen(value));
}

void record_bytes(struct record *record, const char *bytes, size_t length)
{
    begin_field(record);
    text_append_json(&record->line, bytes, length);
}

void record_open_list(struct record *record)
{
    begin_field(record);
    text_append(&record->line, "[", 1);
}

void record_close_list(struct record *record)
{
    text_append(&record->line, "]", 1);
}

void record_again(const struct text *line)
{
    pthread_mutex_lock(&records_mutex);
    text_append(&pending, line->bytes, line->length);
    pthread_mutex_unlock(&records_mutex);
}

static void finish_line(struct record *record)
{
    text_append(&record->line, "]\n", 2);
    if (record->line.is_broken)
        stop_recording("no memory for a record");
    else
        record_again(&record->line);
}

void record_end(struct record *record)
{
    finish_line(record);
    text_free(&record->line);
}

void record_end_kept(struct record *record, struct text *line)
{
    finish_line(record);
    text_free(line);
    *line = record->line;
}

void record_diagnostic(const char *severity, const char *code, const char *message)
{
    struct record record;
    record_begin(&record, "diagnostic");
    record_string(&record, severity);
    record_string(&record, code);
    record_string(&record, message);
    record_integer(&record, now_host_ns());
    record_end(&record);
}

void records_exchange(struct text *lines)
{
    lines->length = 0;
    pthread_mutex_lock(&records_mutex);
    const struct text taken = pending;
    pending = *lines;
    pthread_mutex_unlock(&records_mutex);
    *lines = taken;
}

/* Texts that have a number, by two hashes of their bytes: the chance of a mistake is negligible. */
struct known_text {
    struct known_text *next;
    uint64_t hashes[2];
    size_t length;
    int64_t number;
};

#define TEXT_BUCKETS 256
struct known_texts {
    enum number_kind kind;
    struct known_text *buckets[TEXT_BUCKETS];
};

static pthread_mutex_t texts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known_texts shared_texts = {.kind = NUMBER_TEXT};
static struct known_texts argument_forms = {.kind = NUMBER_FORM};

static void hash_bytes(const char *bytes, size_t length, uint64_t hashes[2])
{
    uint64_t first = 0xCBF29CE484222325U;
    uint64_t second = 0x9E3779B97F4A7C15U;
    for (size_t i = 0; i < length; i++) {
        const uint64_t byte = (unsigned char)bytes[i];
        first = (first ^ byte) * 0x100000001B3U;
        second = (second + byte + (second << 6)) * 0xFF51AFD7ED558CCDU;
        second ^= second >> 29;
    }
    hashes[0] = first;
    hashes[1] = second;
}

/* Returns the number of a text, 0 without memory. The caller holds `texts_mutex`. */
static int64_t intern(struct known_texts *texts, const char *bytes, size_t length, bool *is_new)
{
    uint64_t hashes[2];
    hash_bytes(bytes, length, hashes);
    struct known_text **bucket = &texts->buckets[hashes[0] % TEXT_BUCKETS];
    *is_new = false;
    for (const struct known_text *entry = *bucket; entry != NULL; entry = entry->next)
        if (entry->hashes[0] == hashes[0] && entry->hashes[1] == hashes[1] && entry->length == length)
            return entry->number;
    struct known_text *added = malloc(sizeof *added);
    if (added == NULL)
        return 0;
    *is_new = true;
    *added = (struct known_text){*bucket, {hashes[0], hashes[1]}, length, next_number(texts->kind)};
    *bucket = added;
    return added->number;
}

int64_t text_number(const char *bytes, size_t length)
{
    struct record record;
    bool is_new;
    if (length == 0)
        return 0;
    pthread_mutex_lock(&texts_mutex);
    const int64_t number = intern(&shared_texts, bytes, length, &is_new);
    if (is_new) {
        record_begin(&record, "string");
        record_integer(&record, number);
        record_bytes(&record, bytes, length);
        record_end(&record);
    }
    pthread_mutex_unlock(&texts_mutex);
    return number;
}

int64_t form_number(const char *slots, size_t length)
{
    struct record record;
    bool is_new;
    pthread_mutex_lock(&texts_mutex);
    const int64_t number = intern(&argument_forms, slots, length, &is_new);
    if (is_new) {
        record_begin(&record, "form");
        record_integer(&record, number);
        record_open_list(&record);
        text_append(&record.line, slots, length);
        record_close_list(&record);
        record_end(&record);
    }
    pthread_mutex_unlock(&texts_mutex);
    return number;
}

void records_forked(void)
{
    pthread_mutex_init(&records_mutex, NULL);
    pthread_mutex_init(&texts_mutex, NULL);
    pending = (struct text){0};
    memset(shared_texts.buckets, 0, sizeof shared_texts.buckets);
    memset(argument_forms.buckets, 0, sizeof argument_forms.buckets);
}
