#include "repeats.h"

#include <stdint.h>
#include <string.h>

#define LINE_BYTES 64
#define MIN_LINES 64 /* all of the data up to 4 KiB */
#define MAX_LINES 1024
#define LINE_SHARE 128 /* of larger data one line of so many, which takes little of the time of a copy */
#define MIN_COMPARED 4
#define FACTOR 0x9e3779b97f4a7c15u
#define LANES 4 /* side by side, as a product has to wait for the one before */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * FACTOR;
    return hash ^ hash >> 29;
}

static size_t sampled_lines(size_t lines)
{
    const size_t share = lines / LINE_SHARE;
    const size_t wanted = share < MIN_LINES ? MIN_LINES : share > MAX_LINES ? MAX_LINES : share;
    return lines < wanted ? lines : wanted;
}

/* Fingerprint of the first and the last bytes, and of lines at equal distances between them. */
static uint64_t fingerprint(const unsigned char *data, size_t size, size_t count)
{
    const size_t lines = size / LINE_BYTES, tail = size % LINE_BYTES;
    uint64_t hashes[LANES] = {size, 1, 2, 3}, words[LINE_BYTES / sizeof(uint64_t)];
    for (size_t i = 0; i <= count; i++) {
        if (i < count) {
            const size_t line = count > 1 ? i * (lines - 1) / (count - 1) : 0;
            memcpy(words, data + line * LINE_BYTES, LINE_BYTES);
        } else {
            memset(words, 0, sizeof words);
            memcpy(words, data + size - tail, tail);
        }
        for (size_t at = 0; at < sizeof words / sizeof *words; at++)
            hashes[at % LANES] = mixed(hashes[at % LANES], words[at]);
    }
    return mixed(mixed(mixed(hashes[0], hashes[1]), hashes[2]), hashes[3]);
}

uint64_t data_fingerprint(const void *data, size_t size)
{
    return fingerprint(data, size, size / LINE_BYTES);
}

/* Whether the data of a repetition are compared as a whole: the first ones, then ever fewer, as this takes
   as long as copying them. */
static int is_compared(unsigned repeats)
{
    return repeats <= MIN_COMPARED || (repeats & (repeats - 1)) == 0;
}

void note_written_data(struct call *call, const void *host, size_t size)
{
    if (host == NULL || size == 0)
        return;
    const uint64_t target = (uint64_t)call->row[CALL_TARGET];
    const uint64_t offset = (uint64_t)call->row[CALL_TARGET_OFFSET];
    const uint64_t range = ((target * FACTOR ^ offset) * FACTOR ^ size) * FACTOR;
    const size_t lines = size / LINE_BYTES, count = sampled_lines(lines);
    const uint64_t sample = fingerprint(host, size, count);
    struct write_slot *slot = &call->thread->writes[range >> 32 & (WRITE_SLOTS - 1)];
    if (slot->range != range || slot->sample != sample) {
        *slot = (struct write_slot){.range = range, .sample = sample};
        return;
    }
    slot->repeats++;
    if (count == lines) {
        slot->is_same = 1;
    } else if (is_compared(slot->repeats)) {
        const uint64_t whole = fingerprint(host, size, lines);
        slot->is_same = slot->whole == whole;
        slot->whole = whole;
    }
    if (slot->is_same)
        call->row[CALL_FLAGS] |= CALL_SAME_DATA;
}
