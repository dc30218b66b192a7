/* Ring buffer of 64-bit words with one producer and one consumer, without locks.

   An entry is a header word, the number of its table and of its words, followed by the words. */
#ifndef CLTRACE_RING_H
#define CLTRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ring {
    /* The producer's: */
    _Alignas(64) atomic_uint_fast64_t head; /* words ever written */
    uint64_t known_tail;
    /* Constant, `size` a power of two: */
    uint64_t size; /* words */
    uint64_t *words;
    /* The consumer's: */
    _Alignas(64) atomic_uint_fast64_t tail; /* words ever read */
};

/* Returns the length of the longest entry, in words. */
static inline unsigned ring_max_entry(const struct ring *ring)
{
    return (unsigned)(ring->size / 2);
}

static inline uint64_t ring_word(const struct ring *ring, uint64_t at)
{
    return ring->words[at & (ring->size - 1)];
}

static inline uint64_t ring_header(unsigned table, unsigned count)
{
    return (uint64_t)count << 16 | table;
}

/* Drops all entries. */
static inline void ring_clear(struct ring *ring)
{
    ring->known_tail = 0;
    atomic_store(&ring->tail, 0);
    atomic_store(&ring->head, 0);
}

/* Returns true if `count` more words fit. */
static inline bool ring_has_room(struct ring *ring, unsigned count)
{
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head + count - ring->known_tail <= ring->size)
        return true;
    ring->known_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return head + count - ring->known_tail <= ring->size;
}

/* Appends an entry. There must be room for `count` + 1 words. */
static inline void ring_push(struct ring *ring, unsigned table, const int64_t *words, unsigned count)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    /* Read once: the compiler does not know that the words are none of the ring's own numbers. */
    uint64_t *const to = ring->words;
    const uint64_t mask = ring->size - 1;
    to[head++ & mask] = ring_header(table, count);
    for (unsigned i = 0; i < count; i++)
        to[head++ & mask] = (uint64_t)words[i];
    atomic_store_explicit(&ring->head, head, memory_order_release);
}

#endif
