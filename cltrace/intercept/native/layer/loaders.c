#include "loaders.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "layer.h"
#include "records.h"
#include "sites.h"

#define MAX_LOADERS 8

static atomic_ullong known_loads;
static pthread_mutex_t adoption_mutex = PTHREAD_MUTEX_INITIALIZER;
static ElfW(Addr) tried[MAX_LOADERS];
static int tried_count;

static int read_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1; /* the number is the same in each module */
}

static bool is_tried(ElfW(Addr) base)
{
    for (int i = 0; i < tried_count; i++)
        if (tried[i] == base)
            return true;
    return false;
}

/* Copies the path of a module that has the name of a loader and was not tried, and ends the search. */
static int take_candidate(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    (void)size;
    if (slash == NULL || strncmp(slash + 1, "libOpenCL", 9) != 0 || is_tried(info->dlpi_addr) ||
        tried_count == MAX_LOADERS || strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    tried[tried_count++] = info->dlpi_addr;
    strcpy(path, info->dlpi_name);
    return 1;
}

/* A library may call such a loader with objects of another one, which has platforms. */
static void note_unrecorded(const char *path)
{
    char message[PATH_MAX + 128];
    snprintf(message, sizeof message,
             "%s takes no layers, refuses this one, or finds no platform (OCL_ICD_VENDORS): calls through it are "
             "not in the trace",
             path);
    record_diagnostic("note", "loader-unrecorded", message);
}

static void initialise(const char *path)
{
    cl_uint count = 0;
    void *module = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (module == NULL)
        return;
    CL_FUNCTION(clGetPlatformIDs) get_platforms;
    void *address = dlsym(module, "clGetPlatformIDs");
    memcpy(&get_platforms, &address, sizeof get_platforms);
    if (address != NULL && !sites_has_loader(address)) {
        get_platforms(0, NULL, &count);
        if (!sites_has_loader(address))
            note_unrecorded(path);
    }
    dlclose(module);
}

void loaders_adopt(void)
{
    static char path[PATH_MAX]; /* protected by `adoption_mutex` */
    unsigned long long loads = 0;
    if (target.clGetPlatformIDs == NULL)
        return; /* the program has not called OpenCL yet: initialising a loader is its choice */
    dl_iterate_phdr(read_loads, &loads);
    if (atomic_exchange(&known_loads, loads) == loads || pthread_mutex_trylock(&adoption_mutex) != 0)
        return;
    while (dl_iterate_phdr(take_candidate, path) == 1)
        initialise(path);
    pthread_mutex_unlock(&adoption_mutex);
}

void loaders_keep(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) != 0)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void loaders_forked(void)
{
    pthread_mutex_init(&adoption_mutex, NULL);
}
