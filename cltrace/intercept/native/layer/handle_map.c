#include "handle_map.h"

#include <stdlib.h>

#define MIN_SLOTS 64

static void place(struct handle_slots *slots, struct object *object)
{
    size_t i = handle_hash(object->handle);
    while (atomic_load_explicit(&slots->items[i & slots->mask], memory_order_relaxed) != NULL)
        i++;
    atomic_store_explicit(&slots->items[i & slots->mask], object, memory_order_release);
}

/* Returns slots with room for one more object, at most half full; NULL without memory. */
static struct handle_slots *grow(struct handle_map *map)
{
    struct handle_slots *slots = atomic_load(&map->slots);
    const size_t size = slots == NULL ? 0 : slots->mask + 1;
    if ((map->count + 1) * 2 <= size)
        return slots;
    const size_t larger = size ? size * 2 : MIN_SLOTS;
    struct handle_slots *grown = calloc(1, sizeof *grown + larger * sizeof grown->items[0]);
    if (grown == NULL)
        return NULL;
    grown->mask = larger - 1;
    for (size_t i = 0; i < size; i++) {
        struct object *object = atomic_load_explicit(&slots->items[i], memory_order_relaxed);
        if (object != NULL)
            place(grown, object);
    }
    /* Other threads may still read the smaller slots, so these are not freed. */
    atomic_store_explicit(&map->slots, grown, memory_order_release);
    return grown;
}

struct object *map_insert(struct handle_map *map, uintptr_t handle, size_t size)
{
    struct object *object = map_find(map, handle);
    if (object != NULL)
        return object;
    struct handle_slots *slots = grow(map);
    object = slots == NULL ? NULL : calloc(1, size);
    if (object == NULL)
        return NULL;
    object->handle = handle;
    place(slots, object);
    map->count++;
    return object;
}

void map_visit(struct handle_map *map, void (*visit)(struct object *))
{
    struct handle_slots *slots = atomic_load(&map->slots);
    for (size_t i = 0; slots != NULL && i <= slots->mask; i++) {
        struct object *object = atomic_load_explicit(&slots->items[i], memory_order_relaxed);
        if (object != NULL)
            visit(object);
    }
}
