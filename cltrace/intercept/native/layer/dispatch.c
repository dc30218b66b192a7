/* Entry points by which a loader takes the layer in: `cl_loader_layers`. */
#include <string.h>

#include "extensions.h"
#include "kernels.h"
#include "layer.h"
#include "lifecycle.h"
#include "loaders.h"
#include "memory.h"
#include "platforms.h"
#include "programs.h"
#include "queues.h"
#include "references.h"
#include "sites.h"
#include "synchronisation.h"
#include "transfers.h"

#define MAX_LOADERS 8
#define MAX_LATER_ENTRIES 256
#define KNOWN_ENTRIES (sizeof(struct cl_dispatch) / sizeof(cl_unused_entry *))

/* A loader's table with the layer's entry points in it. Newer loaders have more entries. */
struct loader_table {
    struct cl_dispatch dispatch;
    cl_unused_entry *later[MAX_LATER_ENTRIES];
};

static pthread_mutex_t init_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct loader_table tables[MAX_LOADERS];
static int loader_count;
static bool records_process;

LAYER_EXPORT cl_int clGetLayerInfo(cl_uint, size_t, void *, size_t *);
LAYER_EXPORT cl_int clInitLayer(
    cl_uint, const struct cl_dispatch *, cl_uint *, const struct cl_dispatch **);
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint, const struct cl_dispatch *, cl_uint *,
                                              const struct cl_dispatch **, const cl_ulong *);
LAYER_EXPORT cl_int clDeinitLayer(void);

/* Replaces an entry point that the loader has. The first loader, to which the layer goes on, may be older. */
#define REPLACE(name)                                           \
    do {                                                        \
        if (dispatch->name != NULL && target.name != NULL)      \
            dispatch->name = layer_##name;                      \
    } while (0)

static void replace_objects(struct cl_dispatch *dispatch)
{
    REPLACE(clCreateContext);
    REPLACE(clCreateContextFromType);
    REPLACE(clGetContextInfo);
    REPLACE(clGetEventInfo);
    REPLACE(clCreateSubDevices);
    REPLACE(clCreateCommandQueue);
    REPLACE(clCreateCommandQueueWithProperties);
    REPLACE(clGetCommandQueueInfo);
    REPLACE(clCreateBuffer);
    REPLACE(clCreateBufferWithProperties);
    REPLACE(clCreateSubBuffer);
    REPLACE(clCreateImage);
    REPLACE(clCreateImageWithProperties);
    REPLACE(clCreateImage2D);
    REPLACE(clCreateImage3D);
    REPLACE(clCreatePipe);
    REPLACE(clReleaseMemObject);
    REPLACE(clSVMAlloc);
    REPLACE(clSVMFree);
    REPLACE(clCreateSampler);
    REPLACE(clCreateSamplerWithProperties);
    REPLACE(clCreateUserEvent);
}

static void replace_programs(struct cl_dispatch *dispatch)
{
    REPLACE(clCreateProgramWithSource);
    REPLACE(clCreateProgramWithBinary);
    REPLACE(clCreateProgramWithIL);
    REPLACE(clCreateProgramWithBuiltInKernels);
    REPLACE(clBuildProgram);
    REPLACE(clCompileProgram);
    REPLACE(clLinkProgram);
    REPLACE(clCreateKernel);
    REPLACE(clCreateKernelsInProgram);
    REPLACE(clCloneKernel);
    REPLACE(clSetKernelArg);
    REPLACE(clSetKernelArgSVMPointer);
}

static void replace_transfers(struct cl_dispatch *dispatch)
{
    REPLACE(clEnqueueReadBuffer);
    REPLACE(clEnqueueWriteBuffer);
    REPLACE(clEnqueueCopyBuffer);
    REPLACE(clEnqueueReadBufferRect);
    REPLACE(clEnqueueWriteBufferRect);
    REPLACE(clEnqueueCopyBufferRect);
    REPLACE(clEnqueueFillBuffer);
    REPLACE(clEnqueueReadImage);
    REPLACE(clEnqueueWriteImage);
    REPLACE(clEnqueueCopyImage);
    REPLACE(clEnqueueCopyImageToBuffer);
    REPLACE(clEnqueueCopyBufferToImage);
    REPLACE(clEnqueueFillImage);
    REPLACE(clEnqueueMapBuffer);
    REPLACE(clEnqueueMapImage);
    REPLACE(clEnqueueUnmapMemObject);
    REPLACE(clEnqueueMigrateMemObjects);
    REPLACE(clEnqueueAcquireGLObjects);
    REPLACE(clEnqueueReleaseGLObjects);
    REPLACE(clEnqueueSVMFree);
    REPLACE(clEnqueueSVMMemcpy);
    REPLACE(clEnqueueSVMMemFill);
    REPLACE(clEnqueueSVMMap);
    REPLACE(clEnqueueSVMUnmap);
    REPLACE(clEnqueueSVMMigrateMem);
}

static void replace_rest(struct cl_dispatch *dispatch)
{
    REPLACE(clEnqueueNDRangeKernel);
    REPLACE(clEnqueueTask);
    REPLACE(clEnqueueNativeKernel);
    REPLACE(clFinish);
    REPLACE(clFlush);
    REPLACE(clWaitForEvents);
    REPLACE(clSetEventCallback);
    REPLACE(clSetUserEventStatus);
    REPLACE(clEnqueueMarker);
    REPLACE(clEnqueueMarkerWithWaitList);
    REPLACE(clEnqueueBarrier);
    REPLACE(clEnqueueBarrierWithWaitList);
    REPLACE(clEnqueueWaitForEvents);
    REPLACE(clGetExtensionFunctionAddress);
    REPLACE(clGetExtensionFunctionAddressForPlatform);
}

/* Answers a query in the manner of OpenCL. */
static cl_int answer(const void *value, size_t size, size_t room, void *result, size_t *size_return)
{
    if (result != NULL) {
        if (room < size)
            return CL_INVALID_VALUE;
        memcpy(result, value, size);
    }
    if (size_return != NULL)
        *size_return = size;
    return CL_SUCCESS;
}

cl_int clGetLayerInfo(cl_uint name, size_t room, void *result, size_t *size_return)
{
    static const cl_uint version = CL_LAYER_API_VERSION_100;
    static const char layer_name[] = "cltrace";
    switch (name) {
    case CL_LAYER_API_VERSION:
        return answer(&version, sizeof version, room, result, size_return);
    case CL_LAYER_NAME:
        return answer(layer_name, sizeof layer_name, room, result, size_return);
    default:
        return CL_INVALID_VALUE;
    }
}

/* Returns a copy of a loader's table, of which the caller replaces entries; `address` lies in the loader. */
static struct loader_table *copy_table(
    const void *address, const struct cl_dispatch *target_dispatch, size_t entries)
{
    struct loader_table *table = &tables[loader_count++];
    memcpy((void *)table, (const void *)target_dispatch, entries * sizeof(cl_unused_entry *));
    sites_add_loader(address);
    loaders_keep(address);
    return table;
}

/* A process may contain several loaders, each of which initialises the layer. An object of a driver may
   be passed to any of them, so the replaced entry points all go on to the first loader's. */
static cl_int init(const void *address, cl_uint count, const struct cl_dispatch *target_dispatch,
                   cl_uint *count_return, const struct cl_dispatch **layer_dispatch)
{
    if (target_dispatch == NULL || count_return == NULL || layer_dispatch == NULL)
        return CL_INVALID_VALUE;
    pthread_mutex_lock(&init_mutex);
    if (loader_count == MAX_LOADERS) {
        pthread_mutex_unlock(&init_mutex);
        return CL_INVALID_OPERATION;
    }
    const size_t entries = count < KNOWN_ENTRIES + MAX_LATER_ENTRIES
                               ? count
                               : KNOWN_ENTRIES + MAX_LATER_ENTRIES;
    struct loader_table *table = copy_table(address, target_dispatch, entries);
    if (loader_count == 1) {
        target = table->dispatch;
        records_process = process_prepare() && process_join_recording();
    }
    if (records_process) {
        replace_objects(&table->dispatch);
        replace_programs(&table->dispatch);
        replace_transfers(&table->dispatch);
        replace_rest(&table->dispatch);
    }
    *count_return = (cl_uint)entries;
    *layer_dispatch = &table->dispatch;
    pthread_mutex_unlock(&init_mutex);
    return CL_SUCCESS;
}

/* Version 1.0.0 of `cl_loader_layers`: ocl-icd, and Khronos' loader until 2025. */
cl_int clInitLayer(cl_uint count, const struct cl_dispatch *target_dispatch, cl_uint *count_return,
                   const struct cl_dispatch **layer_dispatch)
{
    return init(
        __builtin_return_address(0), count, target_dispatch, count_return, layer_dispatch);
}

/* Version 1.0.1: Khronos' loader from 2026 on asks for this one, unless OCL_ICD_FORCE_LEGACY_TERMINATION is
   set. It has no properties yet. */
cl_int clInitLayerWithProperties(cl_uint count, const struct cl_dispatch *target_dispatch,
                                 cl_uint *count_return, const struct cl_dispatch **layer_dispatch,
                                 const cl_ulong *properties)
{
    if (properties != NULL && *properties != CL_LAYER_PROPERTIES_LIST_END)
        return CL_INVALID_PROPERTY;
    return init(
        __builtin_return_address(0), count, target_dispatch, count_return, layer_dispatch);
}

/* Loaders that ask for this close their drivers afterwards. The end of the process ends the recording. */
cl_int clDeinitLayer(void)
{
    process_settle();
    return CL_SUCCESS;
}
