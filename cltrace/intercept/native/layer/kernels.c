#include "kernels.h"

#include <stdlib.h>

#include "calls.h"
#include "contents.h"
#include "layer.h"
#include "platforms.h"
#include "programs.h"
#include "records.h"
#include "settings.h"

static struct handle_map kernels;
static struct handle_map samplers;

/* Returns an integer property of a kernel on a device, -1 if the driver does not report it. */
static int64_t work_group_property(cl_kernel kernel, cl_device_id device, cl_uint name)
{
    uint64_t value = 0;
    size_t size = 0;
    if (target.clGetKernelWorkGroupInfo(kernel, device, name, 0, NULL, &size) != CL_SUCCESS ||
        size > sizeof value ||
        target.clGetKernelWorkGroupInfo(kernel, device, name, size, &value, NULL) != CL_SUCCESS)
        return -1;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void record_work_groups(cl_kernel kernel, cl_context context, int64_t number)
{
    cl_uint count;
    cl_device_id *devices = context_devices(context, &count);
    for (cl_uint i = 0; devices != NULL && i < count; i++) {
        struct record record;
        const cl_device_id device = devices[i];
        record_begin(&record, "work_group_info");
        record_optional(&record, work_group_property(kernel, device, CL_KERNEL_WORK_GROUP_SIZE));
        record_optional(
            &record, work_group_property(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE));
        record_optional(&record, work_group_property(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE));
        record_optional(&record, work_group_property(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE));
        record_integer(&record, number);
        record_integer(&record, device_number(device));
        record_end(&record);
    }
    free(devices);
}

static void record_function(cl_kernel handle, int64_t number, const char *name, cl_uint argument_count,
                            cl_program program)
{
    struct record record;
    record_begin(&record, "kernel");
    record_integer(&record, number);
    record_string(&record, name);
    record_integer(&record, argument_count);
    record_integer(&record, program_number(program));
    record_end(&record);
    record_work_groups(handle, program_context(program), number);
}

/* Gives the kernel object its function's number. The caller holds `objects_mutex`. */
static void describe_kernel(struct kernel *kernel, cl_kernel handle)
{
    cl_program program = NULL;
    cl_uint argument_count = 0;
    size_t size = 0;
    int is_new = 0;
    target.clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    target.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof argument_count, &argument_count, NULL);
    target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size);
    char *name = calloc(1, size + 1);
    if (name == NULL)
        return;
    target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL);
    const int64_t number = program_kernel_number(program, name, &is_new);
    if (is_new)
        record_function(handle, number, name, argument_count, program);
    atomic_store(&kernel->number, number);
    atomic_store(&kernel->is_recorded, settings_record_kernel(name));
    atomic_store(&kernel->has_changed, true);
    atomic_store(&kernel->has_new_form, true);
    /* The arguments of a kernel object that the process inherited stay. */
    if (atomic_load(&kernel->object.epoch) == 0)
        arguments_reset(kernel, handle, argument_count);
    atomic_store(&kernel->object.epoch, current_epoch() + 1);
    free(name);
}

struct kernel *kernel_register(cl_kernel handle)
{
    KEEP_ERRNO();
    pthread_mutex_lock(&objects_mutex);
    struct kernel *kernel =
        (struct kernel *)(void *)map_insert(&kernels, (uintptr_t)handle, sizeof *kernel);
    if (kernel != NULL) {
        atomic_store(&kernel->object.epoch, 0);
        describe_kernel(kernel, handle);
    }
    pthread_mutex_unlock(&objects_mutex);
    return kernel;
}

static struct kernel *kernel_find_slowly(cl_kernel handle)
{
    KEEP_ERRNO();
    struct kernel *kernel = (struct kernel *)(void *)map_find(&kernels, (uintptr_t)handle);
    if (handle == NULL)
        return NULL;
    if (kernel == NULL) {
        size_t size;
        if (target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS)
            return NULL;
        pthread_mutex_lock(&objects_mutex);
        kernel = (struct kernel *)(void *)map_find(&kernels, (uintptr_t)handle);
        if (kernel == NULL) /* no other thread was first */
            kernel = kernel_register(handle);
        pthread_mutex_unlock(&objects_mutex);
        return kernel;
    }
    if (atomic_load(&kernel->object.epoch) != current_epoch() + 1) {
        pthread_mutex_lock(&objects_mutex);
        if (atomic_load(&kernel->object.epoch) != current_epoch() + 1)
            describe_kernel(kernel, handle);
        pthread_mutex_unlock(&objects_mutex);
    }
    return kernel;
}

void kernel_lose_contents(cl_kernel handle)
{
    if (LIKELY(atomic_load_explicit(&followed_contents, memory_order_relaxed) == 0))
        return;
    const struct kernel *kernel = (struct kernel *)(void *)map_find(&kernels, (uintptr_t)handle);
    if (kernel == NULL)
        contents_lost_all();
    else
        arguments_lose_contents(kernel);
}

struct kernel *kernel_find(struct thread *thread, cl_kernel handle)
{
    if (LIKELY(thread->last_kernel_handle == (uintptr_t)handle && thread->last_kernel != NULL))
        return thread->last_kernel;
    struct kernel *kernel = kernel_find_slowly(handle);
    thread->last_kernel = kernel;
    thread->last_kernel_handle = (uintptr_t)handle;
    return kernel;
}

bool sampler_is_known(uintptr_t handle)
{
    return map_find(&samplers, handle) != NULL;
}

static void sampler_created(cl_sampler sampler)
{
    if (sampler == NULL)
        return;
    pthread_mutex_lock(&objects_mutex);
    map_insert(&samplers, (uintptr_t)sampler, sizeof(struct object));
    pthread_mutex_unlock(&objects_mutex);
}

cl_sampler layer_clCreateSampler(
    cl_context context, cl_uint normalised, cl_uint addressing, cl_uint filter, cl_int *status_return)
{
    const cl_sampler sampler =
        target.clCreateSampler(context, normalised, addressing, filter, status_return);
    sampler_created(sampler);
    return sampler;
}

cl_sampler layer_clCreateSamplerWithProperties(
    cl_context context, const cl_bitfield *properties, cl_int *status_return)
{
    const cl_sampler sampler =
        target.clCreateSamplerWithProperties(context, properties, status_return);
    sampler_created(sampler);
    return sampler;
}

cl_kernel layer_clCreateKernel(cl_program program, const char *name, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateKernel, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_kernel kernel = target.clCreateKernel(program, name, &status);
    if (is_recorded)
        call_return(&call);
    if (kernel != NULL && thread_current() != NULL)
        kernel_register(kernel);
    if (is_recorded) {
        call.row[CALL_SUBJECT] = kernel == NULL ? 0 : program_number(program);
        call_record(&call, status);
    }
    if (status_return != NULL)
        *status_return = status;
    return kernel;
}

cl_int layer_clCreateKernelsInProgram(
    cl_program program, cl_uint room, cl_kernel *list, cl_uint *count_return)
{
    struct call call;
    cl_uint own_count = 0;
    cl_uint *const count = count_return == NULL ? &own_count : count_return;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateKernelsInProgram, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_int status = target.clCreateKernelsInProgram(program, room, list, count);
    if (is_recorded)
        call_return(&call);
    for (cl_uint i = 0; status == CL_SUCCESS && list != NULL && i < *count && i < room; i++)
        if (thread_current() != NULL)
            kernel_register(list[i]);
    if (is_recorded) {
        call.row[CALL_SUBJECT] = status == CL_SUCCESS ? program_number(program) : 0;
        call_record(&call, status);
    }
    return status;
}

cl_kernel layer_clCloneKernel(cl_kernel original, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clCloneKernel, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_kernel clone = target.clCloneKernel(original, &status);
    if (is_recorded)
        call_return(&call);
    struct thread *thread = clone == NULL ? NULL : thread_current();
    if (thread != NULL) {
        const struct kernel *source = kernel_find(thread, original);
        struct kernel *registered = kernel_register(clone);
        if (source != NULL && registered != NULL)
            arguments_copy(registered, source);
    }
    if (is_recorded)
        call_record(&call, status);
    if (status_return != NULL)
        *status_return = status;
    return clone;
}

/* Only failures have rows: the lists of arguments tell the rest. */
static cl_int argument_failed(
    enum api api, int64_t enter_ns, cl_int status, void *const *frame, const void *address)
{
    struct call call;
    if (!call_begin_at(&call, api, NULL, frame, address))
        return status;
    call.row[CALL_ENTER] = enter_ns;
    return call_end(&call, status);
}

cl_int layer_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void *value)
{
    const cl_int status = target.clSetKernelArg(handle, index, size, value);
    struct thread *thread = thread_current();
    if (UNLIKELY(status != CL_SUCCESS))
        return argument_failed(API_clSetKernelArg, now_host_ns(), status, __builtin_frame_address(0),
                               __builtin_return_address(0));
    if (LIKELY(thread != NULL)) {
        struct kernel *kernel = kernel_find(thread, handle);
        if (kernel != NULL)
            argument_set(kernel, index, size, value);
    }
    return status;
}

cl_int layer_clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index, const void *address)
{
    const cl_int status = target.clSetKernelArgSVMPointer(handle, index, address);
    struct thread *thread = thread_current();
    if (UNLIKELY(status != CL_SUCCESS))
        return argument_failed(API_clSetKernelArgSVMPointer, now_host_ns(), status,
                               __builtin_frame_address(0), __builtin_return_address(0));
    if (LIKELY(thread != NULL)) {
        struct kernel *kernel = kernel_find(thread, handle);
        if (kernel != NULL)
            argument_set_svm(kernel, index, address);
    }
    return status;
}
