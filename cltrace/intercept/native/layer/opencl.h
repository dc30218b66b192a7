/* Declarations of the parts of OpenCL that the layer uses: types, constants, the ICD dispatch table.
   Source: the OpenCL 3.0 specification, cl_khr_icd, cl_loader_layers. */
#ifndef CLTRACE_OPENCL_H
#define CLTRACE_OPENCL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef uint64_t cl_bitfield;

typedef struct opaque_platform *cl_platform_id;
typedef struct opaque_device *cl_device_id;
typedef struct opaque_context *cl_context;
typedef struct opaque_queue *cl_command_queue;
typedef struct opaque_memory *cl_mem;
typedef struct opaque_program *cl_program;
typedef struct opaque_kernel *cl_kernel;
typedef struct opaque_event *cl_event;
typedef struct opaque_sampler *cl_sampler;

typedef struct {
    cl_uint channel_order;
    cl_uint channel_type;
} cl_image_format;

typedef struct {
    cl_uint type;
    size_t width;
    size_t height;
    size_t depth;
    size_t array_size;
    size_t row_pitch;
    size_t slice_pitch;
    cl_uint mip_levels;
    cl_uint samples;
    cl_mem memory;
} cl_image_desc;

typedef struct {
    size_t origin;
    size_t size;
} cl_buffer_region;

typedef void (*cl_context_callback)(const char *, const void *, size_t, void *);
typedef void (*cl_program_callback)(cl_program, void *);
typedef void (*cl_memory_callback)(cl_mem, void *);
typedef void (*cl_event_callback)(cl_event, cl_int, void *);
typedef void (*cl_svm_free_callback)(cl_command_queue, cl_uint, void **, void *);
typedef void (*cl_native_kernel)(void *);

enum {
    CL_SUCCESS = 0,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_COMPILE_PROGRAM_FAILURE = -15,
    CL_LINK_PROGRAM_FAILURE = -17,
    CL_INVALID_VALUE = -30,
    CL_INVALID_OPERATION = -59,
    CL_INVALID_PROPERTY = -64,
};

enum {
    CL_COMPLETE = 0,
    CL_CONTEXT_REFERENCE_COUNT = 0x1080,
    CL_EVENT_REFERENCE_COUNT = 0x11D2,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_QUEUED = 0x1280,
    CL_PROFILING_COMMAND_SUBMIT = 0x1281,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283,
};

enum {
    CL_QUEUE_CONTEXT = 0x1090,
    CL_QUEUE_DEVICE = 0x1091,
    CL_QUEUE_REFERENCE_COUNT = 0x1092,
    CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
    CL_QUEUE_PROFILING_ENABLE = 1 << 1,
};

enum {
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_PLATFORM_VENDOR = 0x0903,
};

enum {
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_PROFILING_TIMER_RESOLUTION = 0x1025,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_PLATFORM = 0x1031,
    CL_DEVICE_PARENT_DEVICE = 0x1042,
    CL_DEVICE_UUID_KHR = 0x106A,
    CL_DEVICE_TOPOLOGY_AMD = 0x4037,
    CL_DEVICE_PCI_BUS_ID_NV = 0x4008,
    CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
    CL_DEVICE_PCI_DOMAIN_ID_NV = 0x400A,
    CL_CONTEXT_DEVICES = 0x1081,
};

enum {
    CL_MEM_USE_HOST_PTR = 1 << 3,
    CL_MEM_COPY_HOST_PTR = 1 << 5,
    CL_MEM_FLAGS_OF_BUFFERS = 0x1fff, /* all that OpenCL has until now */
    CL_MEM_TYPE = 0x1100,
    CL_MEM_FLAGS = 0x1101,
    CL_MEM_SIZE = 0x1102,
    CL_MEM_CONTEXT = 0x1106,
    CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107,
    CL_MEM_OFFSET = 0x1108,
    CL_MEM_OBJECT_BUFFER = 0x10F0,
    CL_MEM_OBJECT_PIPE = 0x10F7,
    CL_IMAGE_ELEMENT_SIZE = 0x1111,
    CL_IMAGE_WIDTH = 0x1114,
    CL_IMAGE_HEIGHT = 0x1115,
    CL_IMAGE_DEPTH = 0x1116,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_MAP_WRITE = 1 << 1,
    CL_MAP_WRITE_INVALIDATE_REGION = 1 << 2,
    CL_MIGRATE_MEM_OBJECT_HOST = 1 << 0,
};

enum {
    CL_PROGRAM_CONTEXT = 0x1161,
    CL_PROGRAM_DEVICES = 0x1163,
    CL_PROGRAM_SOURCE = 0x1164,
    CL_PROGRAM_BUILD_STATUS = 0x1181,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_BUILD_ERROR = -2,
    CL_KERNEL_FUNCTION_NAME = 0x1190,
    CL_KERNEL_NUM_ARGS = 0x1191,
    CL_KERNEL_PROGRAM = 0x1194,
    CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
    CL_KERNEL_ARG_TYPE_NAME = 0x1198,
    CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119B,
    CL_KERNEL_ARG_ADDRESS_LOCAL = 0x119C,
    CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119D,
    CL_KERNEL_ARG_ADDRESS_PRIVATE = 0x119E,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11B3,
    CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4,
};

enum {
    CL_LAYER_API_VERSION = 0x4240,
    CL_LAYER_NAME = 0x4241,
    CL_LAYER_API_VERSION_100 = 100,
    CL_LAYER_PROPERTIES_LIST_END = 0,
};

typedef cl_int cl_info_function(void *, cl_uint, size_t, void *, size_t *);
typedef void cl_unused_entry(void);

/* The dispatch table of cl_khr_icd. Entries that the layer neither replaces nor calls have no type. */
struct cl_dispatch {
    cl_int (*clGetPlatformIDs)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int (*clGetPlatformInfo)(cl_platform_id, cl_uint, size_t, void *, size_t *);
    cl_unused_entry *clGetDeviceIDs;
    cl_int (*clGetDeviceInfo)(cl_device_id, cl_uint, size_t, void *, size_t *);
    cl_context (*clCreateContext)(
        const intptr_t *, cl_uint, const cl_device_id *, cl_context_callback, void *, cl_int *);
    cl_context (*clCreateContextFromType)(
        const intptr_t *, cl_bitfield, cl_context_callback, void *, cl_int *);
    cl_unused_entry *clRetainContext;
    cl_unused_entry *clReleaseContext;
    cl_int (*clGetContextInfo)(cl_context, cl_uint, size_t, void *, size_t *);
    cl_command_queue (*clCreateCommandQueue)(cl_context, cl_device_id, cl_bitfield, cl_int *);
    cl_unused_entry *clRetainCommandQueue;
    cl_unused_entry *clReleaseCommandQueue;
    cl_int (*clGetCommandQueueInfo)(cl_command_queue, cl_uint, size_t, void *, size_t *);
    cl_unused_entry *clSetCommandQueueProperty;
    cl_mem (*clCreateBuffer)(cl_context, cl_bitfield, size_t, void *, cl_int *);
    cl_mem (*clCreateImage2D)(cl_context, cl_bitfield, const cl_image_format *, size_t, size_t, size_t,
                              void *, cl_int *);
    cl_mem (*clCreateImage3D)(cl_context, cl_bitfield, const cl_image_format *, size_t, size_t, size_t,
                              size_t, size_t, void *, cl_int *);
    cl_unused_entry *clRetainMemObject;
    cl_int (*clReleaseMemObject)(cl_mem);
    cl_unused_entry *clGetSupportedImageFormats;
    cl_int (*clGetMemObjectInfo)(cl_mem, cl_uint, size_t, void *, size_t *);
    cl_int (*clGetImageInfo)(cl_mem, cl_uint, size_t, void *, size_t *);
    cl_sampler (*clCreateSampler)(cl_context, cl_uint, cl_uint, cl_uint, cl_int *);
    cl_unused_entry *clRetainSampler;
    cl_unused_entry *clReleaseSampler;
    cl_unused_entry *clGetSamplerInfo;
    cl_program (*clCreateProgramWithSource)(
        cl_context, cl_uint, const char **, const size_t *, cl_int *);
    cl_program (*clCreateProgramWithBinary)(cl_context, cl_uint, const cl_device_id *, const size_t *,
                                            const unsigned char **, cl_int *, cl_int *);
    cl_int (*clRetainProgram)(cl_program);
    cl_int (*clReleaseProgram)(cl_program);
    cl_int (*clBuildProgram)(
        cl_program, cl_uint, const cl_device_id *, const char *, cl_program_callback, void *);
    cl_unused_entry *clUnloadCompiler;
    cl_int (*clGetProgramInfo)(cl_program, cl_uint, size_t, void *, size_t *);
    cl_int (*clGetProgramBuildInfo)(cl_program, cl_device_id, cl_uint, size_t, void *, size_t *);
    cl_kernel (*clCreateKernel)(cl_program, const char *, cl_int *);
    cl_int (*clCreateKernelsInProgram)(cl_program, cl_uint, cl_kernel *, cl_uint *);
    cl_unused_entry *clRetainKernel;
    cl_unused_entry *clReleaseKernel;
    cl_int (*clSetKernelArg)(cl_kernel, cl_uint, size_t, const void *);
    cl_int (*clGetKernelInfo)(cl_kernel, cl_uint, size_t, void *, size_t *);
    cl_int (*clGetKernelWorkGroupInfo)(cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *);
    cl_int (*clWaitForEvents)(cl_uint, const cl_event *);
    cl_int (*clGetEventInfo)(cl_event, cl_uint, size_t, void *, size_t *);
    cl_int (*clRetainEvent)(cl_event);
    cl_int (*clReleaseEvent)(cl_event);
    cl_int (*clGetEventProfilingInfo)(cl_event, cl_uint, size_t, void *, size_t *);
    cl_int (*clFlush)(cl_command_queue);
    cl_int (*clFinish)(cl_command_queue);
    cl_int (*clEnqueueReadBuffer)(cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint,
                                  const cl_event *, cl_event *);
    cl_int (*clEnqueueWriteBuffer)(cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *,
                                   cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueCopyBuffer)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                  const cl_event *, cl_event *);
    cl_int (*clEnqueueReadImage)(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, size_t,
                                 size_t, void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueWriteImage)(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *,
                                  size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueCopyImage)(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                 const size_t *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueCopyImageToBuffer)(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                         size_t, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueCopyBufferToImage)(cl_command_queue, cl_mem, cl_mem, size_t, const size_t *,
                                         const size_t *, cl_uint, const cl_event *, cl_event *);
    void *(*clEnqueueMapBuffer)(cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint,
                                const cl_event *, cl_event *, cl_int *);
    void *(*clEnqueueMapImage)(cl_command_queue, cl_mem, cl_uint, cl_bitfield, const size_t *,
                               const size_t *, size_t *, size_t *, cl_uint, const cl_event *, cl_event *,
                               cl_int *);
    cl_int (*clEnqueueUnmapMemObject)(
        cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueNDRangeKernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                     const size_t *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueTask)(cl_command_queue, cl_kernel, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueNativeKernel)(cl_command_queue, cl_native_kernel, void *, size_t, cl_uint,
                                    const cl_mem *, const void **, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueMarker)(cl_command_queue, cl_event *);
    cl_int (*clEnqueueWaitForEvents)(cl_command_queue, cl_uint, const cl_event *);
    cl_int (*clEnqueueBarrier)(cl_command_queue);
    void *(*clGetExtensionFunctionAddress)(const char *);
    cl_mem (*clCreateFromGLBuffer)(cl_context, cl_bitfield, cl_uint, cl_int *);
    cl_unused_entry *clCreateFromGLTexture2D;
    cl_unused_entry *clCreateFromGLTexture3D;
    cl_unused_entry *clCreateFromGLRenderbuffer;
    cl_unused_entry *clGetGLObjectInfo;
    cl_unused_entry *clGetGLTextureInfo;
    cl_int (*clEnqueueAcquireGLObjects)(
        cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueReleaseGLObjects)(
        cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *);
    cl_unused_entry *clGetGLContextInfoKHR;
    cl_unused_entry *d3d10_sharing[6];
    cl_int (*clSetEventCallback)(cl_event, cl_int, cl_event_callback, void *);
    cl_mem (*clCreateSubBuffer)(cl_mem, cl_bitfield, cl_uint, const void *, cl_int *);
    cl_int (*clSetMemObjectDestructorCallback)(cl_mem, cl_memory_callback, void *);
    cl_event (*clCreateUserEvent)(cl_context, cl_int *);
    cl_int (*clSetUserEventStatus)(cl_event, cl_int);
    cl_int (*clEnqueueReadBufferRect)(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *,
                                      const size_t *, size_t, size_t, size_t, size_t, void *, cl_uint,
                                      const cl_event *, cl_event *);
    cl_int (*clEnqueueWriteBufferRect)(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *,
                                       const size_t *, size_t, size_t, size_t, size_t, const void *,
                                       cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueCopyBufferRect)(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,
                                      const size_t *, size_t, size_t, size_t, size_t, cl_uint,
                                      const cl_event *, cl_event *);
    cl_unused_entry *device_fission[3];
    cl_unused_entry *clCreateEventFromGLsyncKHR;
    cl_int (*clCreateSubDevices)(
        cl_device_id, const intptr_t *, cl_uint, cl_device_id *, cl_uint *);
    cl_int (*clRetainDevice)(cl_device_id);
    cl_unused_entry *clReleaseDevice;
    cl_mem (*clCreateImage)(cl_context, cl_bitfield, const cl_image_format *, const cl_image_desc *, void *,
                            cl_int *);
    cl_program (*clCreateProgramWithBuiltInKernels)(
        cl_context, cl_uint, const cl_device_id *, const char *, cl_int *);
    cl_int (*clCompileProgram)(cl_program, cl_uint, const cl_device_id *, const char *, cl_uint,
                               const cl_program *, const char **, cl_program_callback, void *);
    cl_program (*clLinkProgram)(cl_context, cl_uint, const cl_device_id *, const char *, cl_uint,
                                const cl_program *, cl_program_callback, void *, cl_int *);
    cl_unused_entry *clUnloadPlatformCompiler;
    cl_int (*clGetKernelArgInfo)(cl_kernel, cl_uint, cl_uint, size_t, void *, size_t *);
    cl_int (*clEnqueueFillBuffer)(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint,
                                  const cl_event *, cl_event *);
    cl_int (*clEnqueueFillImage)(cl_command_queue, cl_mem, const void *, const size_t *, const size_t *,
                                 cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueMigrateMemObjects)(cl_command_queue, cl_uint, const cl_mem *, cl_bitfield, cl_uint,
                                         const cl_event *, cl_event *);
    cl_int (*clEnqueueMarkerWithWaitList)(cl_command_queue, cl_uint, const cl_event *, cl_event *);
    cl_int (*clEnqueueBarrierWithWaitList)(cl_command_queue, cl_uint, const cl_event *, cl_event *);
    void *(*clGetExtensionFunctionAddressForPlatform)(cl_platform_id, const char *);
    cl_unused_entry *clCreateFromGLTexture;
    cl_unused_entry *d3d11_sharing[6];
    cl_unused_entry *dx9_sharing[4];
    cl_unused_entry *egl_image[3];
    cl_unused_entry *clCreateEventFromEGLSyncKHR;
    cl_command_queue (*clCreateCommandQueueWithProperties)(
        cl_context, cl_device_id, const cl_bitfield *, cl_int *);
    cl_mem (*clCreatePipe)(cl_context, cl_bitfield, cl_uint, cl_uint, const intptr_t *, cl_int *);
    cl_unused_entry *clGetPipeInfo;
    void *(*clSVMAlloc)(cl_context, cl_bitfield, size_t, cl_uint);
    void (*clSVMFree)(cl_context, void *);
    cl_int (*clEnqueueSVMFree)(cl_command_queue, cl_uint, void **, cl_svm_free_callback, void *, cl_uint,
                               const cl_event *, cl_event *);
    cl_int (*clEnqueueSVMMemcpy)(cl_command_queue, cl_uint, void *, const void *, size_t, cl_uint,
                                 const cl_event *, cl_event *);
    cl_int (*clEnqueueSVMMemFill)(cl_command_queue, void *, const void *, size_t, size_t, cl_uint,
                                  const cl_event *, cl_event *);
    cl_int (*clEnqueueSVMMap)(cl_command_queue, cl_uint, cl_bitfield, void *, size_t, cl_uint,
                              const cl_event *, cl_event *);
    cl_int (*clEnqueueSVMUnmap)(cl_command_queue, void *, cl_uint, const cl_event *, cl_event *);
    cl_sampler (*clCreateSamplerWithProperties)(cl_context, const cl_bitfield *, cl_int *);
    cl_int (*clSetKernelArgSVMPointer)(cl_kernel, cl_uint, const void *);
    cl_unused_entry *clSetKernelExecInfo;
    cl_unused_entry *clGetKernelSubGroupInfoKHR;
    cl_kernel (*clCloneKernel)(cl_kernel, cl_int *);
    cl_program (*clCreateProgramWithIL)(cl_context, const void *, size_t, cl_int *);
    cl_int (*clEnqueueSVMMigrateMem)(cl_command_queue, cl_uint, const void **, const size_t *, cl_bitfield,
                                     cl_uint, const cl_event *, cl_event *);
    cl_unused_entry *clGetDeviceAndHostTimer;
    cl_unused_entry *clGetHostTimer;
    cl_unused_entry *clGetKernelSubGroupInfo;
    cl_unused_entry *clSetDefaultDeviceCommandQueue;
    cl_unused_entry *clSetProgramReleaseCallback;
    cl_unused_entry *clSetProgramSpecializationConstant;
    cl_mem (*clCreateBufferWithProperties)(
        cl_context, const cl_bitfield *, cl_bitfield, size_t, void *, cl_int *);
    cl_mem (*clCreateImageWithProperties)(cl_context, const cl_bitfield *, cl_bitfield,
                                          const cl_image_format *, const cl_image_desc *, void *, cl_int *);
    cl_unused_entry *clSetContextDestructorCallback;
};

/* The type of an entry point. */
#define CL_FUNCTION(name) __typeof__(((struct cl_dispatch *)0)->name)

#define CL_ENTRY_INDEX(name) (offsetof(struct cl_dispatch, name) / sizeof(cl_unused_entry *))
_Static_assert(CL_ENTRY_INDEX(clEnqueueNDRangeKernel) == 59, "order of the dispatch table");
_Static_assert(CL_ENTRY_INDEX(clSetEventCallback) == 81, "order of the dispatch table");
_Static_assert(CL_ENTRY_INDEX(clEnqueueFillBuffer) == 102, "order of the dispatch table");
_Static_assert(CL_ENTRY_INDEX(clCreateCommandQueueWithProperties) == 123, "order of the dispatch table");
_Static_assert(CL_ENTRY_INDEX(clSetContextDestructorCallback) == 148, "order of the dispatch table");

#endif
