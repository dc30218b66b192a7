/* A layer below the one under test that has two functions of an extension. */
#include "common.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT cl_int clGetLayerInfo(cl_uint, size_t, void *, size_t *);
EXPORT cl_int clInitLayer(
    cl_uint, const struct cl_dispatch *, cl_uint *, const struct cl_dispatch **);
EXPORT cl_int clInitLayerWithProperties(cl_uint, const struct cl_dispatch *, cl_uint *,
                                        const struct cl_dispatch **, const cl_ulong *);

static struct cl_dispatch extended;
static char enqueue, query;

static void *find_function(cl_platform_id platform, const char *name)
{
    (void)platform;
    if (strcmp(name, "clEnqueueTestEXT") == 0)
        return &enqueue;
    return strcmp(name, "clGetTestEXT") == 0 ? &query : NULL;
}

cl_int clGetLayerInfo(cl_uint name, size_t room, void *result, size_t *size)
{
    static const cl_uint version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (result != NULL && room >= sizeof version)
        memcpy(result, &version, sizeof version);
    if (size != NULL)
        *size = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint count, const struct cl_dispatch *dispatch, cl_uint *count_return,
                   const struct cl_dispatch **layer)
{
    const size_t entries = sizeof extended / sizeof(cl_unused_entry *);
    extended = *dispatch;
    extended.clGetExtensionFunctionAddressForPlatform = find_function;
    *count_return = count < entries ? count : (cl_uint)entries;
    *layer = &extended;
    return CL_SUCCESS;
}

cl_int clInitLayerWithProperties(cl_uint count, const struct cl_dispatch *dispatch, cl_uint *count_return,
                                 const struct cl_dispatch **layer, const cl_ulong *properties)
{
    (void)properties;
    return clInitLayer(count, dispatch, count_return, layer);
}
