/* A loader of OpenCL that takes layers as Khronos' loader does since 2026. It stands on another loader,
   REAL_LOADER, which sees no layers.

   - It initialises layers by INITIALISER only, `clInitLayerWithProperties` unless defined otherwise, and
     wants version API_VERSION of them.
   - At its end it calls `clDeinitLayer`. A call that reaches the driver afterwards ends the process.

   The generated "entries.h" has ENTRY(name) for each entry point of the ICD's table that has a name there,
   but `clGetPlatformIDs`. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl.h"

#ifndef INITIALISER
#define INITIALISER "clInitLayerWithProperties"
#endif
#ifndef API_VERSION
#define API_VERSION 100
#endif
#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define TABLE_ENTRIES (sizeof(struct cl_dispatch) / sizeof(void *))
#define MAX_LAYERS 8
#define DRIVER_IS_CLOSED 70

typedef cl_int info_function(cl_uint, size_t, void *, size_t *);
typedef cl_int init_function(
    cl_uint, const struct cl_dispatch *, cl_uint *, const struct cl_dispatch **, const cl_ulong *);
typedef cl_int deinit_function(void);

/* An entry point goes where `called_` points: to the nearest layer, or `driver_`. The table for layers has
   `guard_`, which goes where `driver_` points. */
#if defined(__x86_64__)
#define JUMP(name, pointer) __asm__(".text\n" #name ":\n  jmp *" #pointer "(%rip)\n")
#else
#error "the loader knows x86-64 only"
#endif

#define ENTRY(name)                                                  \
    void *called_##name HIDDEN;                                      \
    void *driver_##name HIDDEN;                                      \
    void guard_##name(void) HIDDEN;                                  \
    JUMP(guard_##name, driver_##name);                               \
    __asm__(".globl " #name "\n.type " #name ", @function");         \
    JUMP(name, called_##name);
#include "entries.h"
#undef ENTRY

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *tables[MAX_LAYERS + 1][TABLE_ENTRIES]; /* the driver's, and one per layer */
static deinit_function *deinitialisers[MAX_LAYERS];
static int layer_count;

EXPORT cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
EXPORT void deinitialise_loader(void);

static void refuse_layer(const char *path)
{
    fprintf(stderr, "the loader refuses %s\n", path);
}

static void add_layer(const char *path)
{
    cl_uint version = 0;
    cl_uint count = 0;
    const struct cl_dispatch *taken = NULL;
    void *library = dlopen(path, RTLD_NOW);
    info_function *info = library == NULL ? NULL : (info_function *)dlsym(library, "clGetLayerInfo");
    init_function *init = library == NULL ? NULL : (init_function *)dlsym(library, INITIALISER);
    const struct cl_dispatch *below = (const struct cl_dispatch *)tables[layer_count];
    if (info == NULL || init == NULL || layer_count == MAX_LAYERS ||
        info(CL_LAYER_API_VERSION, sizeof version, &version, NULL) != CL_SUCCESS ||
        version != API_VERSION || init(TABLE_ENTRIES, below, &count, &taken, NULL) != CL_SUCCESS) {
        refuse_layer(path);
        return;
    }
    deinitialisers[layer_count] = (deinit_function *)dlsym(library, "clDeinitLayer");
    layer_count++;
    memcpy(tables[layer_count], below, sizeof *tables);
    for (cl_uint i = 0; i < count && i < TABLE_ENTRIES; i++)
        if (((void *const *)taken)[i] != NULL)
            tables[layer_count][i] = ((void *const *)taken)[i];
}

static void *open_real_loader(void)
{
    void *real = dlopen(REAL_LOADER, RTLD_NOW | RTLD_LOCAL);
    void *get_platforms = real == NULL ? NULL : dlsym(real, "clGetPlatformIDs");
    cl_uint count;
    if (get_platforms == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(8);
    }
    ((CL_FUNCTION(clGetPlatformIDs))get_platforms)(0, NULL, &count);
    tables[0][CL_ENTRY_INDEX(clGetPlatformIDs)] = get_platforms;
    return real;
}

static void init_loader(void)
{
    const char *variable = getenv("OPENCL_LAYERS");
    char *layers = strdup(variable == NULL ? "" : variable);
    unsetenv("OPENCL_LAYERS");
    void *real = open_real_loader();
    setenv("OPENCL_LAYERS", layers, 1);
#define ENTRY(name)                     \
    driver_##name = dlsym(real, #name); \
    tables[0][CL_ENTRY_INDEX(name)] = driver_##name == NULL ? NULL : (void *)guard_##name;
#include "entries.h"
#undef ENTRY
    char *rest = layers;
    for (char *path = strtok_r(layers, ":", &rest); path != NULL; path = strtok_r(NULL, ":", &rest))
        add_layer(path);
    free(layers);
#define ENTRY(name) called_##name = tables[layer_count][CL_ENTRY_INDEX(name)];
#include "entries.h"
#undef ENTRY
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    pthread_once(&once, init_loader);
    void *next = tables[layer_count][CL_ENTRY_INDEX(clGetPlatformIDs)];
    return ((CL_FUNCTION(clGetPlatformIDs))next)(room, platforms, count);
}

static void end_process(void)
{
    static const char message[] = "the driver was called after its end\n";
    if (write(2, message, sizeof message - 1) > 0)
        _exit(DRIVER_IS_CLOSED);
}

static cl_int refuse(void)
{
    return CL_INVALID_OPERATION;
}

void deinitialise_loader(void)
{
#define ENTRY(name) called_##name = (void *)refuse;
#include "entries.h"
#undef ENTRY
    for (; layer_count > 0; layer_count--)
        if (deinitialisers[layer_count - 1] != NULL)
            deinitialisers[layer_count - 1]();
#define ENTRY(name) driver_##name = (void *)end_process;
#include "entries.h"
#undef ENTRY
}

__attribute__((destructor)) static void finish(void)
{
    deinitialise_loader();
}
