#include "sites.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python.h"
#include "records.h"
#include "settings.h"

#define MAX_LOADERS 8
#define MAX_LEVELS 3 /* a loader and two layers before this one */
#define MAX_STUB_WORDS 256
#define BUCKETS 1024

/* A return address, and what it stands for: a site, or an entry point of a loader. The frame of such an
   entry point has a fixed size, so the return address behind it lies at a fixed distance from the frame
   of the replaced entry point: `value` is then that distance in words, negative. */
struct known_address {
    struct known_address *next;
    uintptr_t address;
    int64_t value;
};

static pthread_mutex_t sites_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known_address *known_addresses[BUCKETS];
static const void *loader_bases[MAX_LOADERS];
static atomic_int loader_count;

void sites_add_loader(const void *address)
{
    Dl_info info;
    const int count = atomic_load(&loader_count);
    /* The caller sees to it that no two loaders are added at once. */
    if (count < MAX_LOADERS && dladdr(address, &info) != 0) {
        loader_bases[count] = info.dli_fbase;
        atomic_store(&loader_count, count + 1);
    }
}

bool sites_has_loader(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0)
        return false;
    const int count = atomic_load(&loader_count);
    for (int i = 0; i < count; i++)
        if (loader_bases[i] == info.dli_fbase)
            return true;
    return false;
}

/* Unwinding, by the library that the C library itself loads for it. */
typedef int unwind_step(void *context, void *argument);
typedef int unwind_function(unwind_step *step, void *argument);
typedef uintptr_t unwind_address_function(void *context);

struct unwinding {
    unwind_address_function *address_of;
    uintptr_t loader_address;
    bool is_behind;
    uintptr_t caller_address;
};

static int unwind_one(void *context, void *argument)
{
    struct unwinding *unwinding = argument;
    const uintptr_t address = unwinding->address_of(context);
    if (unwinding->is_behind) {
        unwinding->caller_address = address;
        return 4; /* any number but 0 ends the unwinding */
    }
    unwinding->is_behind = address == unwinding->loader_address;
    return 0;
}

/* Returns the address to which the entry point of a loader at `address` returns, or 0. */
static uintptr_t caller_of(uintptr_t address)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return 0;
    unwind_function *unwind = (unwind_function *)dlsym(library, "_Unwind_Backtrace");
    struct unwinding unwinding = {.loader_address = address};
    unwinding.address_of = (unwind_address_function *)dlsym(library, "_Unwind_GetIP");
    if (unwind != NULL && unwinding.address_of != NULL)
        unwind(unwind_one, &unwinding);
    return unwinding.caller_address;
}

/* Returns the distance from `frame` to the word that holds the return address behind the entry point of
   a loader at `address`, in words; 0 if it is not found. */
__attribute__((no_sanitize("address"))) static int64_t find_distance(
    void *const *frame, uintptr_t address)
{
    const uintptr_t caller = caller_of(address);
    for (int64_t distance = 2; caller != 0 && distance < MAX_STUB_WORDS; distance++)
        if ((uintptr_t)frame[distance] == caller)
            return distance;
    return 0;
}

static int64_t record_site(uintptr_t address)
{
    char offset[32];
    struct text place = {0}; /* the stacks of the program's threads may be small */
    Dl_info info = {0};
    struct link_map *module = NULL;
    struct record record;
    const int64_t number = next_number(NUMBER_SITE);
    if (dladdr1((const void *)address, &info, (void **)&module, RTLD_DL_LINKMAP) == 0)
        module = NULL;
    const char *path = info.dli_fname == NULL ? "" : info.dli_fname;
    if (module != NULL && *module->l_name == '\0') /* the program itself */
        path = "/proc/self/exe";
    char *resolved = realpath(path, NULL);
    snprintf(offset, sizeof offset, "+0x%lx",
             (unsigned long)(address - (module == NULL ? 0 : module->l_addr)));
    text_append_string(&place, resolved == NULL ? path : resolved);
    text_append_string(&place, offset);
    free(resolved);
    record_begin(&record, "site");
    record_integer(&record, number);
    record_bytes(&record, place.bytes == NULL ? "" : place.bytes, place.length);
    text_free(&place);
    record_integer(&record, 0);
    record_string(&record, info.dli_sname == NULL ? "" : info.dli_sname);
    record_integer(&record, 0);
    record_end(&record);
    return number;
}

/* Returns what is known of an address, or NULL. The caller holds `sites_mutex`. */
static const struct known_address *find_address(uintptr_t address)
{
    const struct known_address *entry = known_addresses[(address >> 1) % BUCKETS];
    while (entry != NULL && entry->address != address)
        entry = entry->next;
    return entry;
}

static void add_address(uintptr_t address, int64_t value)
{
    struct known_address **bucket = &known_addresses[(address >> 1) % BUCKETS];
    struct known_address *added = malloc(sizeof *added);
    if (added == NULL)
        return;
    *added = (struct known_address){*bucket, address, value};
    *bucket = added;
}

/* Returns what an address stands for. The lock is not held while the dynamic linker is asked: it may run
   initialisers of the program, which call OpenCL. */
static int64_t resolve_address(void *const *frame, uintptr_t address)
{
    KEEP_ERRNO();
    pthread_mutex_lock(&sites_mutex);
    const struct known_address *entry = find_address(address);
    pthread_mutex_unlock(&sites_mutex);
    if (entry != NULL)
        return entry->value;
    const int64_t distance =
        sites_has_loader((const void *)address) ? find_distance(frame, address) : 0;
    int64_t value = distance > 0 ? -distance : record_site(address);
    pthread_mutex_lock(&sites_mutex);
    entry = find_address(address);
    if (entry != NULL)
        value = entry->value; /* another thread was first */
    else
        add_address(address, value);
    pthread_mutex_unlock(&sites_mutex);
    return value;
}

static int64_t look_up(struct thread *thread, void *const *frame, uintptr_t address)
{
    struct site_slot *slot = &thread->sites[(address >> 1) % SITE_SLOTS];
    if (UNLIKELY(slot->address != address))
        *slot = (struct site_slot){address, resolve_address(frame, address)};
    return slot->site_id;
}

__attribute__((no_sanitize("address"))) int64_t site_find(
    struct thread *thread, void *const *frame, const void *address)
{
    if (settings.callsite_depth <= 0)
        return 0;
    const int64_t python = python_site();
    if (python >= 0)
        return python;
    uintptr_t place = (uintptr_t)address;
    for (int level = 0; level < MAX_LEVELS; level++) {
        const int64_t value = look_up(thread, frame, place);
        if (value >= 0)
            return value;
        place = (uintptr_t)frame[-value];
    }
    return 0;
}

void sites_forked(void)
{
    pthread_mutex_init(&sites_mutex, NULL);
    memset(known_addresses, 0, sizeof known_addresses);
    python_forked();
}
