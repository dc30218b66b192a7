#include "indices.h"

#include <stdint.h>
#include <string.h>

#define MAX_SAMPLES 1024
#define SMALL_NUMBER 0x10000000u /* beyond what indexes a buffer; as a float, next to nothing */
#define SHARE_OF_SMALL 3
#define SHARE_OF_ALL 16

bool holds_indices(const void *data, size_t size)
{
    const size_t words = size / sizeof(uint32_t);
    /* An odd distance meets every member of structures whose size is a power of two. */
    const size_t distance = (words / MAX_SAMPLES) | 1;
    size_t samples = 0, small = 0;
    for (size_t at = 0; at < words; at += distance) {
        uint32_t word;
        memcpy(&word, (const unsigned char *)data + at * sizeof word, sizeof word);
        samples++;
        small += word != 0 && word + SMALL_NUMBER < 2 * SMALL_NUMBER; /* of either sign */
    }
    return small * SHARE_OF_ALL >= samples * SHARE_OF_SMALL && samples > 0;
}
