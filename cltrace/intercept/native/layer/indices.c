#include "indices.h"

#include <stdint.h>
#include <string.h>

#define LINE_WORDS 16 /* of 64 B: neighbours show all members of small structures, and are read at once */
#define MAX_LINES 64
#define SMALL_NUMBER 0x10000000u /* beyond what indexes a buffer; as a float, next to nothing */
#define SHARE_OF_SMALL 3
#define SHARE_OF_ALL 16

static bool is_small(uint32_t word)
{
    return word != 0 && word + SMALL_NUMBER < 2 * SMALL_NUMBER; /* of either sign */
}

bool holds_indices(const void *data, size_t size)
{
    uint32_t line[LINE_WORDS];
    const size_t lines = size / sizeof line;
    /* An odd distance meets all lines of structures whose size is a power of two. */
    const size_t distance = (lines / MAX_LINES) | 1;
    size_t samples = 0, small = 0;
    for (size_t at = 0; at < lines; at += distance) {
        memcpy(line, (const unsigned char *)data + at * sizeof line, sizeof line);
        samples += LINE_WORDS;
        for (size_t i = 0; i < LINE_WORDS; i++)
            small += is_small(line[i]);
    }
    return small * SHARE_OF_ALL >= samples * SHARE_OF_SMALL && samples > 0;
}
