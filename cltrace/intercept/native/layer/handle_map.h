/* Objects of the layer by OpenCL handle. Look-ups take no lock; objects are never freed.

   A driver reuses the handles of released objects. The object of a reused handle is reset in place, so a
   pointer to it stays valid. */
#ifndef CLTRACE_HANDLE_MAP_H
#define CLTRACE_HANDLE_MAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* First member of each object. */
struct object {
    uintptr_t handle;
    atomic_uint epoch; /* the process epoch in which it was last recorded, plus 1 */
};

struct handle_slots {
    size_t mask;
    _Atomic(struct object *) items[];
};

struct handle_map {
    _Atomic(struct handle_slots *) slots;
    size_t count;
};

static inline size_t handle_hash(uintptr_t handle)
{
    return (size_t)((handle >> 4) * 0x9E3779B97F4A7C15U >> 20);
}

/* Returns the object of a handle, or NULL. */
static inline struct object *map_find(struct handle_map *map, uintptr_t handle)
{
    struct handle_slots *slots = atomic_load_explicit(&map->slots, memory_order_acquire);
    if (slots == NULL)
        return NULL;
    for (size_t i = handle_hash(handle);; i++) {
        struct object *object =
            atomic_load_explicit(&slots->items[i & slots->mask], memory_order_acquire);
        if (object == NULL || object->handle == handle)
            return object;
    }
}

/* Returns the object of a handle, made of zeros if it is new; NULL without memory.
   The caller holds the mutex of the map, which is `objects_mutex` for most. */
struct object *map_insert(struct handle_map *map, uintptr_t handle, size_t size);

/* Calls a function for each object. The caller holds the mutex of the map. */
void map_visit(struct handle_map *map, void (*visit)(struct object *));

#endif
