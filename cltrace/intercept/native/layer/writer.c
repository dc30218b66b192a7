#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "layer.h"
#include "loaders.h"
#include "mapped.h"
#include "memory.h"
#include "records.h"
#include "schedule.h"
#include "spool_file.h"
#include "stamps.h"
#include "stop_page.h"
#include "threads.h"

#define PERIOD_NS (20 * NS_PER_MS)
#define ANCHOR_PERIOD_NS NS_PER_S
#define ANCHOR_READINGS 5
#define MAX_OPEN_ARGUMENT_FILES 64
#define OPENED_ARGUMENT_WORDS 6 /* files that are opened at the start, as in `intercept/tracer.py` */

/* Rows that wait for the end of a pass. */
struct rows {
    int64_t *words;
    size_t used;
    size_t capacity;
};

struct table_file {
    struct spool_file file;
    struct rows rows;
    unsigned width;
    int64_t written; /* rows */
};

static struct table_file tables[TABLE_COUNT] = {
    [TABLE_LAUNCHES] = {.file.name = "launches.rows", .width = 6},
    [TABLE_CALLS] = {.file.name = "calls.rows", .width = 16},
    [TABLE_CIRCUMSTANCES] = {.file.name = "circumstances.rows", .width = 18},
    [TABLE_EDGES] = {.file.name = "edges.rows", .width = 2},
    [TABLE_BUFFERS] = {.file.name = "buffers.rows", .width = 15},
    [TABLE_RELEASES] = {.file.name = "releases.rows", .width = 3},
    [TABLE_REGIONS] = {.file.name = "regions.rows", .width = 4},
    [TABLE_ANCHORS] = {.file.name = "anchors.rows", .width = 4},
    [TABLE_STAMPS] = {.file.name = "stamps.rows", .width = 6},
};
static struct spool_file records_file = {.name = "records.jsonl"};

/* Tables of argument lists, sorted by nothing: there are few. */
static struct table_file *argument_tables;
static size_t argument_table_count;
static int open_argument_files;

static struct background thread = {.name = "cltrace-writer", .small_stack_bytes = 48U << 10};
static pthread_mutex_t pass_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pending_event *pass_events;
static size_t pass_event_count;
static size_t pass_event_capacity;
static int64_t next_anchor_ns;

static void out_of_memory(void)
{
    stop_recording("no memory to write rows");
}

/* Returns false, and stops the recording, if there is no memory for `count` more words. */
static bool rows_reserve(struct rows *rows, size_t count)
{
    if (rows->capacity - rows->used >= count)
        return true;
    const size_t capacity = rows->capacity * 2 + count + 1024;
    int64_t *grown =
        mapped_grow(rows->words, rows->capacity * sizeof *grown, capacity * sizeof *grown);
    if (grown == NULL) {
        out_of_memory();
        return false;
    }
    rows->words = grown;
    rows->capacity = capacity;
    return true;
}

/* Returns false if there is no memory for the row. */
static bool rows_append(struct rows *rows, const struct ring *ring, uint64_t at, unsigned count)
{
    if (!rows_reserve(rows, count))
        return false;
    for (unsigned i = 0; i < count; i++)
        rows->words[rows->used++] = (int64_t)ring_word(ring, at + i);
    return true;
}

/* Returns the table of argument lists of `width` columns, or NULL without memory. */
static struct table_file *argument_table(unsigned width)
{
    for (size_t i = 0; i < argument_table_count; i++)
        if (argument_tables[i].width == width)
            return &argument_tables[i];
    struct table_file *grown =
        realloc(argument_tables, (argument_table_count + 1) * sizeof *argument_tables);
    if (grown == NULL) {
        out_of_memory();
        return NULL;
    }
    argument_tables = grown;
    struct table_file *table = &grown[argument_table_count++];
    *table = (struct table_file){.width = width};
    snprintf(table->file.name, sizeof table->file.name, "arguments_%u.rows", width - 2);
    return table;
}

/* Keeps the event of a row that will be number `row` of its table. */
static void keep_event(int64_t command, uint64_t event)
{
    if (event == 0)
        return;
    if (pass_event_count == pass_event_capacity) {
        const size_t capacity = pass_event_capacity * 2 + 1024;
        struct pending_event *grown =
            mapped_grow(pass_events, pass_event_capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL) {
            out_of_memory();
            return;
        }
        pass_events = grown;
        pass_event_capacity = capacity;
    }
    pass_events[pass_event_count++] =
        (struct pending_event){command, (cl_event)(uintptr_t)event};
}

static int64_t row_number(const struct table_file *table)
{
    return table->written + (int64_t)(table->rows.used / table->width);
}

static void take_entry(const struct ring *ring, uint64_t at, unsigned number, unsigned count)
{
    const uint64_t last = ring_word(ring, at + count - 1);
    struct table_file *table =
        number == TABLE_ARGUMENTS ? argument_table(count) : &tables[number];
    if (table == NULL)
        return;
    if (number == TABLE_LAUNCHES)
        keep_event(2 * row_number(table), last);
    else if (number == TABLE_CALLS)
        keep_event(2 * row_number(table) + 1, last);
    if (!rows_append(&table->rows, ring, at, count))
        stop_page_add_missing(number == TABLE_LAUNCHES || (number == TABLE_CALLS && last != 0));
}

static void drain_ring(struct ring *ring)
{
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    while (tail != head) {
        const uint64_t header = ring_word(ring, tail);
        const unsigned count = (unsigned)(header >> 16);
        take_entry(ring, tail + 1, (unsigned)(header & 0xFFFF), count);
        tail += count + 1;
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

static void drain_rings(void)
{
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next) {
        const int state = atomic_load_explicit(&each->state, memory_order_acquire);
        if (state == THREAD_FREE)
            continue;
        drain_ring(&each->ring);
        if (state == THREAD_ENDED)
            atomic_store_explicit(&each->state, THREAD_FREE, memory_order_release);
    }
}

/* Appends simultaneous readings of the host's clocks: the best of some. */
static void append_anchor(void)
{
    int64_t best[4] = {0, 0, 0, INT64_MAX};
    for (int i = 0; i < ANCHOR_READINGS; i++) {
        const int64_t before_ns = now_host_ns();
        const int64_t raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
        const int64_t realtime_ns = clock_ns(CLOCK_REALTIME);
        const int64_t after_ns = now_host_ns();
        if (after_ns - before_ns < best[3]) {
            best[0] = (before_ns + after_ns) / 2;
            best[1] = raw_ns;
            best[2] = realtime_ns;
            best[3] = after_ns - before_ns;
        }
    }
    uint64_t words[4];
    memcpy(words, best, sizeof words);
    struct rows *rows = &tables[TABLE_ANCHORS].rows;
    if (!rows_reserve(rows, 4))
        return;
    memcpy(rows->words + rows->used, words, sizeof words);
    rows->used += 4;
}

static void file_failed(void)
{
    char reason[128];
    snprintf(reason, sizeof reason, "the spool cannot be written: %s", strerror(errno));
    stop_recording(reason);
}

/* Returns the number of commands among the rows of a table: of calls, those with an event. */
static long long count_commands(const struct table_file *table)
{
    const size_t rows = table->rows.used / table->width;
    long long count = 0;
    if (table == &tables[TABLE_LAUNCHES])
        return (long long)rows;
    for (size_t row = 0; table == &tables[TABLE_CALLS] && row < rows; row++)
        count += table->rows.words[(row + 1) * table->width - 1] != 0;
    return count;
}

static void write_table(struct table_file *table)
{
    if (table->rows.used == 0)
        return;
    const bool is_over = recording_is_over();
    if (is_over ||
        !spool_append(&table->file, table->rows.words, table->rows.used * sizeof(int64_t))) {
        if (!is_over)
            file_failed(); /* rows of later tables may refer to the ones that are missing */
        stop_page_add_missing(count_commands(table));
    }
    table->written += (int64_t)(table->rows.used / table->width);
    table->rows.used = 0;
}

static void write_argument_tables(void)
{
    for (size_t i = 0; i < argument_table_count; i++) {
        struct table_file *table = &argument_tables[i];
        const bool was_open = table->file.is_open;
        write_table(table);
        if (table->file.is_open && !was_open)
            open_argument_files++;
    }
    if (open_argument_files <= MAX_OPEN_ARGUMENT_FILES)
        return;
    for (size_t i = 0; i < argument_table_count; i++)
        spool_close(&argument_tables[i].file);
    open_argument_files = 0;
}

static void write_records(void)
{
    static struct text lines; /* kept: freeing is an allocator's work, which `mapped.h` avoids here */
    records_exchange(&lines);
    if (lines.is_broken)
        stop_recording("no memory for records");
    else if (!spool_append(&records_file, lines.bytes, lines.length))
        file_failed();
}

/* Rows are taken before records: a record is made before the first row that refers to it. */
static void write_pass(void)
{
    drain_rings();
    const int64_t now_ns = now_host_ns();
    if (now_ns >= next_anchor_ns) {
        next_anchor_ns = now_ns + ANCHOR_PERIOD_NS;
        append_anchor();
    }
    write_records();
    for (int number = 0; number < TABLE_COUNT; number++)
        if (number != TABLE_LAUNCHES && number != TABLE_CALLS && number != TABLE_STAMPS)
            write_table(&tables[number]);
    write_argument_tables();
    write_table(&tables[TABLE_LAUNCHES]);
    write_table(&tables[TABLE_CALLS]);
    stamps_add(pass_events, pass_event_count);
    pass_event_count = 0;
    schedule_limit(tables[TABLE_LAUNCHES].written + tables[TABLE_CALLS].written);
}

void writer_flush(void)
{
    pthread_mutex_lock(&pass_mutex);
    write_pass();
    pthread_mutex_unlock(&pass_mutex);
}

static bool run_round(void)
{
    schedule_follow(now_host_ns());
    loaders_adopt();
    writer_flush();
    return false;
}

bool writer_start(void)
{
    /* The first records say what process this is. */
    if (!spool_open(&records_file))
        return false;
    /* The program may lose the right to open files. One that cannot be opened now is tried again. */
    for (int number = 0; number < TABLE_COUNT; number++)
        spool_open(&tables[number].file);
    for (unsigned words = 0; words <= OPENED_ARGUMENT_WORDS; words++) {
        struct table_file *table = argument_table(words + 2);
        if (table != NULL)
            spool_open(&table->file);
    }
    return background_start(&thread, run_round, PERIOD_NS);
}

void writer_stop(void)
{
    background_stop(&thread);
}

void writer_wake(void)
{
    background_wake(&thread);
}

void writer_append_stamps(const int64_t *rows, int64_t count)
{
    struct table_file *table = &tables[TABLE_STAMPS];
    if (recording_is_over())
        return;
    if (!spool_append(&table->file, rows, (size_t)count * table->width * sizeof *rows))
        file_failed();
}

void writer_close_files(void)
{
    spool_close(&records_file);
    for (int number = 0; number < TABLE_COUNT; number++)
        spool_close(&tables[number].file);
    for (size_t i = 0; i < argument_table_count; i++)
        spool_close(&argument_tables[i].file);
}

static long long sum_of(size_t counter_offset)
{
    long long sum = 0;
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next) {
        const char *counter = (const char *)each + counter_offset;
        sum += atomic_load((const atomic_llong *)(const void *)counter);
    }
    return sum;
}

void writer_record_end(const char *how)
{
    struct record record;
    const long long calls = sum_of(offsetof(struct thread, calls));
    const long long sampled_calls = sum_of(offsetof(struct thread, sampled_calls));
    const long long sampled_ns = sum_of(offsetof(struct thread, sampled_ns));
    long long first_calls = 0;
    for (struct thread *each = atomic_load(&first_thread); each != NULL; each = each->next) {
        const long long own = atomic_load(&each->calls);
        first_calls += own < FIRST_CALLS ? own : FIRST_CALLS;
    }
    const long long later_ns =
        sampled_calls ? sampled_ns * (calls - first_calls) / sampled_calls : 0;
    const struct memory_peak peak = memory_peak();
    record_begin(&record, "process_end");
    record_string(&record, how);
    record_integer(&record, now_host_ns());
    record_integer(&record, calls);
    record_integer(&record, sum_of(offsetof(struct thread, first_ns)) + later_ns);
    record_integer(&record, background_cpu_ns(&thread) + stamps_cpu_ns());
    record_integer(&record, sum_of(offsetof(struct thread, waits)));
    record_integer(&record, sum_of(offsetof(struct thread, wait_ns)));
    record_integer(&record, stamps_unread_peak());
    record_integer(&record, sum_of(offsetof(struct thread, skipped)));
    record_integer(&record, peak.bytes);
    record_integer(&record, peak.host_ns);
    record_end(&record);
    pthread_mutex_lock(&pass_mutex);
    write_records();
    pthread_mutex_unlock(&pass_mutex);
}

void writer_lock(void)
{
    pthread_mutex_lock(&pass_mutex);
}

void writer_unlock(void)
{
    pthread_mutex_unlock(&pass_mutex);
}

void writer_forked(void)
{
    pthread_mutex_init(&pass_mutex, NULL);
    background_forked(&thread);
    /* The files are the parent's: only the copies of their descriptors are closed. */
    writer_close_files();
    for (int number = 0; number < TABLE_COUNT; number++) {
        tables[number].rows.used = 0;
        tables[number].written = 0;
    }
    for (size_t i = 0; i < argument_table_count; i++) {
        argument_tables[i].rows.used = 0;
        argument_tables[i].written = 0;
    }
    open_argument_files = 0;
    pass_event_count = 0;
    next_anchor_ns = 0;
}
