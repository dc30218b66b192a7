#include "memory.h"

#include "calls.h"
#include "contents.h"
#include "handle_map.h"
#include "layer.h"
#include "platforms.h"
#include "records.h"
#include "threads.h"

/* Columns of `BUFFERS`. */
enum buffer_column {
    BUFFER_ID,
    BUFFER_HANDLE,
    BUFFER_CONTEXT,
    BUFFER_KIND,
    BUFFER_FLAGS,
    BUFFER_SIZE,
    BUFFER_PARENT,
    BUFFER_ORIGIN,
    BUFFER_WIDTH,
    BUFFER_HEIGHT,
    BUFFER_DEPTH,
    BUFFER_SITE,
    BUFFER_THREAD,
    BUFFER_KNOWN,
    BUFFER_CREATED_HERE,
    BUFFER_COLUMNS,
};

struct memory {
    struct object object;
    atomic_llong id;
    atomic_llong size_bytes;
    atomic_llong element_bytes;
    atomic_int kind;
    atomic_bool is_live;
    atomic_bool owns_bytes; /* counted among the live bytes */
};

static struct handle_map memories;
static atomic_llong live_bytes;
static atomic_llong peak_bytes;
static atomic_llong peak_host_ns;

static struct memory *find_memory(uintptr_t handle)
{
    return (struct memory *)(void *)map_find(&memories, handle);
}

struct memory_peak memory_peak(void)
{
    return (struct memory_peak){atomic_load(&peak_bytes), atomic_load(&peak_host_ns)};
}

enum memory_kind memory_live_kind(uintptr_t handle)
{
    struct memory *memory = find_memory(handle);
    if (memory == NULL || !atomic_load_explicit(&memory->is_live, memory_order_relaxed))
        return 0;
    const int kind = atomic_load_explicit(&memory->kind, memory_order_relaxed);
    return kind == MEMORY_SVM ? 0 : (enum memory_kind)kind;
}

int64_t memory_element_bytes(cl_mem image)
{
    struct memory *memory = find_memory((uintptr_t)image);
    return memory == NULL ? 0 : atomic_load_explicit(&memory->element_bytes, memory_order_relaxed);
}

int64_t memory_size_bytes(cl_mem handle)
{
    struct memory *memory = find_memory((uintptr_t)handle);
    return memory == NULL ? 0 : atomic_load_explicit(&memory->size_bytes, memory_order_relaxed);
}

static void count_live(long long size_bytes, int64_t host_ns)
{
    const long long live = atomic_fetch_add(&live_bytes, size_bytes) + size_bytes;
    long long peak = atomic_load(&peak_bytes);
    while (live > peak)
        if (atomic_compare_exchange_weak(&peak_bytes, &peak, live)) {
            atomic_store(&peak_host_ns, host_ns);
            break;
        }
}

static void record_release(struct memory *memory, int64_t host_ns)
{
    if (!atomic_exchange(&memory->is_live, false))
        return;
    if (atomic_load(&memory->owns_bytes))
        atomic_fetch_sub(&live_bytes, atomic_load(&memory->size_bytes));
    if (recording_is_over() || atomic_load(&memory->object.epoch) != current_epoch() + 1)
        return;
    struct thread *thread = thread_current();
    const int64_t row[] = {atomic_load(&memory->id), host_ns, host_ns};
    if (thread != NULL)
        thread_push(thread, TABLE_RELEASES, row, 3);
}

/* Called by the driver when a memory object is destroyed, before its handle can be reused. */
static void memory_destroyed(cl_mem handle, void *user_data)
{
    struct memory *memory = find_memory((uintptr_t)handle);
    if (memory == NULL || atomic_load(&memory->id) != (long long)(intptr_t)user_data)
        return;
    contents_ended((uintptr_t)handle);
    record_release(memory, now_host_ns());
}

/* Sets the kind, parent and geometry of a memory object that is not shared virtual memory. */
static void describe_kind(cl_mem handle, int64_t *row)
{
    cl_uint type = 0;
    cl_mem parent = NULL;
    size_t extents[3] = {0, 0, 0};
    size_t origin = 0;
    target.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof type, &type, NULL);
    target.clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    struct memory *known_parent = parent == NULL ? NULL : find_memory((uintptr_t)parent);
    row[BUFFER_PARENT] = known_parent == NULL ? 0 : atomic_load(&known_parent->id);
    if (type == CL_MEM_OBJECT_BUFFER) {
        target.clGetMemObjectInfo(handle, CL_MEM_OFFSET, sizeof origin, &origin, NULL);
        row[BUFFER_ORIGIN] = (int64_t)origin;
        row[BUFFER_KIND] = parent == NULL ? MEMORY_BUFFER : MEMORY_SUB_BUFFER;
    } else if (type == CL_MEM_OBJECT_PIPE) {
        row[BUFFER_KIND] = MEMORY_PIPE;
    } else {
        target.clGetImageInfo(handle, CL_IMAGE_WIDTH, sizeof *extents, &extents[0], NULL);
        target.clGetImageInfo(handle, CL_IMAGE_HEIGHT, sizeof *extents, &extents[1], NULL);
        target.clGetImageInfo(handle, CL_IMAGE_DEPTH, sizeof *extents, &extents[2], NULL);
        row[BUFFER_KIND] = MEMORY_IMAGE;
        for (int axis = 0; axis < 3; axis++)
            row[BUFFER_WIDTH + axis] = (int64_t)extents[axis];
    }
}

static int64_t describe_memory(cl_mem handle, int64_t *row)
{
    cl_bitfield flags = 0;
    size_t size = 0;
    size_t element = 0;
    cl_context context = NULL;
    target.clGetMemObjectInfo(handle, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    target.clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof size, &size, NULL);
    target.clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    row[BUFFER_CONTEXT] = context_number(context);
    row[BUFFER_FLAGS] = (int64_t)flags;
    row[BUFFER_SIZE] = (int64_t)size;
    describe_kind(handle, row);
    if (row[BUFFER_KIND] == MEMORY_IMAGE)
        target.clGetImageInfo(handle, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    return (int64_t)element;
}

/* Registers an object under its handle, and records it. Returns its number, 0 without memory. */
static int64_t register_memory(struct thread *thread, int64_t *row, int64_t element_bytes)
{
    pthread_mutex_lock(&objects_mutex);
    struct memory *memory = (struct memory *)(void *)map_insert(
        &memories, (uintptr_t)row[BUFFER_HANDLE], sizeof *memory);
    if (memory == NULL) {
        pthread_mutex_unlock(&objects_mutex);
        return 0;
    }
    record_release(memory, row[BUFFER_KNOWN]); /* if the driver did not tell of its end */
    row[BUFFER_ID] = next_number(NUMBER_BUFFER);
    row[BUFFER_THREAD] = thread->id;
    atomic_store(&memory->id, row[BUFFER_ID]);
    atomic_store(&memory->size_bytes, row[BUFFER_SIZE]);
    atomic_store(&memory->element_bytes, element_bytes);
    atomic_store(&memory->kind, (int)row[BUFFER_KIND]);
    /* The memory of a sub-buffer belongs to its parent. */
    atomic_store(&memory->owns_bytes, row[BUFFER_PARENT] == 0);
    atomic_store(&memory->object.epoch, current_epoch() + 1);
    atomic_store(&memory->is_live, true);
    pthread_mutex_unlock(&objects_mutex);
    if (row[BUFFER_PARENT] == 0)
        count_live(row[BUFFER_SIZE], row[BUFFER_KNOWN]);
    thread_push(thread, TABLE_BUFFERS, row, BUFFER_COLUMNS);
    return row[BUFFER_ID];
}

/* Tells once that the driver does not tell of the ends of memory objects. */
static void note_unseen_releases(void)
{
    static atomic_bool is_noted;
    if (!atomic_exchange(&is_noted, true))
        record_diagnostic("warning", "releases-unseen",
                          "releases of memory objects and the peak of memory are not recorded: the "
                          "driver refuses destructor callbacks");
}

/* Registers a memory object and watches its end. */
static int64_t register_object(
    struct thread *thread, cl_mem handle, int64_t site_id, int64_t known_ns, bool is_creation)
{
    KEEP_ERRNO();
    int64_t row[BUFFER_COLUMNS] = {0};
    row[BUFFER_HANDLE] = handle_word(handle);
    row[BUFFER_SITE] = site_id;
    row[BUFFER_KNOWN] = known_ns;
    row[BUFFER_CREATED_HERE] = is_creation;
    const int64_t element_bytes = describe_memory(handle, row);
    const int64_t id = register_memory(thread, row, element_bytes);
    if (id != 0 && target.clSetMemObjectDestructorCallback(
                       handle, memory_destroyed, (void *)(intptr_t)id) != CL_SUCCESS)
        note_unseen_releases();
    return id;
}

void memory_ensure_recorded(cl_mem handle)
{
    struct memory *memory = find_memory((uintptr_t)handle);
    if (handle == NULL)
        return;
    if (memory != NULL && atomic_load_explicit(&memory->is_live, memory_order_relaxed) &&
        atomic_load_explicit(&memory->object.epoch, memory_order_relaxed) == current_epoch() + 1)
        return;
    size_t size;
    if (memory == NULL && /* an invalid handle, in a call that will fail */
        target.clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
        return;
    if (memory != NULL && atomic_load(&memory->object.epoch) == current_epoch() + 1)
        return; /* released */
    struct thread *thread = thread_current();
    if (thread != NULL)
        register_object(thread, handle, 0, now_host_ns(), false);
}

/* What all calls that create a memory object do when the driver has returned. */
static cl_mem memory_created(
    struct call *call, bool is_recorded, cl_mem handle, cl_int status, cl_int *status_return)
{
    if (is_recorded)
        call_return(call);
    if (status_return != NULL)
        *status_return = status;
    struct thread *thread = handle == NULL ? NULL : thread_current();
    if (thread != NULL) {
        const int64_t known_ns = is_recorded ? call->row[CALL_RETURN] : now_host_ns();
        const int64_t site_id = is_recorded ? call->row[CALL_SITE] : 0;
        const int64_t id = register_object(thread, handle, site_id, known_ns, true);
        if (is_recorded) {
            call->row[CALL_SUBJECT] = id;
            call->row[CALL_SIZE] = memory_size_bytes(handle);
        }
    }
    if (is_recorded)
        call_record(call, status);
    return handle;
}

static cl_mem buffer_created(struct call *call, bool is_recorded, cl_mem handle, cl_int status,
                             cl_int *status_return, cl_bitfield flags, const void *host)
{
    memory_created(call, is_recorded, handle, status, status_return);
    const struct memory *memory = handle == NULL ? NULL : find_memory((uintptr_t)handle);
    if (memory != NULL)
        contents_created(handle, atomic_load(&memory->id), flags, host,
                         (size_t)atomic_load(&memory->size_bytes));
    return handle;
}

#define BEGIN_CREATION(api)                                  \
    struct call call;                                        \
    cl_int status = CL_SUCCESS;                              \
    const bool is_recorded = CALL_BEGIN(&call, (api), NULL); \
    call_enter_if(&call, is_recorded)

cl_mem layer_clCreateBuffer(
    cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateBuffer);
    const cl_mem handle = target.clCreateBuffer(context, flags, size, host, &status);
    return buffer_created(&call, is_recorded, handle, status, status_return, flags, host);
}

cl_mem layer_clCreateBufferWithProperties(cl_context context, const cl_bitfield *properties,
                                          cl_bitfield flags, size_t size, void *host,
                                          cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateBufferWithProperties);
    const cl_mem handle =
        target.clCreateBufferWithProperties(context, properties, flags, size, host, &status);
    return buffer_created(&call, is_recorded, handle, status, status_return, flags, host);
}

cl_mem layer_clCreateSubBuffer(
    cl_mem parent, cl_bitfield flags, cl_uint type, const void *info, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateSubBuffer);
    const cl_mem handle = target.clCreateSubBuffer(parent, flags, type, info, &status);
    contents_divided(parent);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_mem layer_clCreateImage(cl_context context, cl_bitfield flags, const cl_image_format *format,
                           const cl_image_desc *description, void *host, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateImage);
    const cl_mem handle = target.clCreateImage(context, flags, format, description, host, &status);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_mem layer_clCreateImageWithProperties(cl_context context, const cl_bitfield *properties,
                                         cl_bitfield flags, const cl_image_format *format,
                                         const cl_image_desc *description, void *host,
                                         cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateImageWithProperties);
    const cl_mem handle = target.clCreateImageWithProperties(
        context, properties, flags, format, description, host, &status);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_mem layer_clCreateImage2D(cl_context context, cl_bitfield flags, const cl_image_format *format,
                             size_t width, size_t height, size_t row_pitch, void *host,
                             cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateImage2D);
    const cl_mem handle =
        target.clCreateImage2D(context, flags, format, width, height, row_pitch, host, &status);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_mem layer_clCreateImage3D(cl_context context, cl_bitfield flags, const cl_image_format *format,
                             size_t width, size_t height, size_t depth, size_t row_pitch,
                             size_t slice_pitch, void *host, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateImage3D);
    const cl_mem handle = target.clCreateImage3D(
        context, flags, format, width, height, depth, row_pitch, slice_pitch, host, &status);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_mem layer_clCreatePipe(cl_context context, cl_bitfield flags, cl_uint packet_bytes, cl_uint packets,
                          const intptr_t *properties, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreatePipe);
    const cl_mem handle =
        target.clCreatePipe(context, flags, packet_bytes, packets, properties, &status);
    return memory_created(&call, is_recorded, handle, status, status_return);
}

cl_int layer_clReleaseMemObject(cl_mem handle)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clReleaseMemObject, NULL))
        return target.clReleaseMemObject(handle);
    struct memory *memory = find_memory((uintptr_t)handle);
    call.row[CALL_SUBJECT] = memory == NULL ? 0 : atomic_load(&memory->id);
    call_enter(&call);
    return call_end(&call, target.clReleaseMemObject(handle));
}

void *layer_clSVMAlloc(cl_context context, cl_bitfield flags, size_t size, cl_uint alignment)
{
    struct call call;
    const bool is_recorded = CALL_BEGIN(&call, API_clSVMAlloc, NULL);
    if (is_recorded)
        call_enter(&call);
    void *address = target.clSVMAlloc(context, flags, size, alignment);
    if (is_recorded)
        call_return(&call);
    struct thread *thread = address == NULL ? NULL : thread_current();
    if (thread != NULL) {
        int64_t row[BUFFER_COLUMNS] = {0};
        row[BUFFER_HANDLE] = handle_word(address);
        row[BUFFER_CONTEXT] = context_number(context);
        row[BUFFER_KIND] = MEMORY_SVM;
        row[BUFFER_FLAGS] = (int64_t)flags;
        row[BUFFER_SIZE] = (int64_t)size;
        row[BUFFER_SITE] = is_recorded ? call.row[CALL_SITE] : 0;
        row[BUFFER_KNOWN] = is_recorded ? call.row[CALL_RETURN] : now_host_ns();
        row[BUFFER_CREATED_HERE] = 1;
        const int64_t id = register_memory(thread, row, 0);
        if (is_recorded)
            call.row[CALL_SUBJECT] = id;
    }
    if (is_recorded) {
        call.row[CALL_SIZE] = (int64_t)size;
        call_record(&call, address == NULL ? CL_INVALID_VALUE : CL_SUCCESS);
    }
    return address;
}

void memory_svm_freed(void *address, int64_t host_ns)
{
    struct memory *memory = find_memory((uintptr_t)address);
    if (memory != NULL && atomic_load(&memory->kind) == MEMORY_SVM)
        record_release(memory, host_ns);
}

void layer_clSVMFree(cl_context context, void *address)
{
    struct call call;
    const bool is_recorded = CALL_BEGIN(&call, API_clSVMFree, NULL);
    struct memory *memory = find_memory((uintptr_t)address);
    const int64_t id = memory == NULL ? 0 : atomic_load(&memory->id);
    /* After the call another thread may already own the address. */
    if (is_recorded)
        call_enter(&call);
    memory_svm_freed(address, is_recorded ? call.row[CALL_ENTER] : now_host_ns());
    target.clSVMFree(context, address);
    if (!is_recorded)
        return;
    call.row[CALL_SUBJECT] = id;
    call_end(&call, CL_SUCCESS);
}

/* A mapping of a memory object into the program's memory. */
struct mapping {
    struct object object;
    atomic_llong size_bytes;
};

static struct handle_map mappings;

void memory_mapped(const void *address, int64_t size_bytes)
{
    pthread_mutex_lock(&objects_mutex);
    struct mapping *mapping =
        (struct mapping *)(void *)map_insert(&mappings, (uintptr_t)address, sizeof *mapping);
    if (mapping != NULL)
        atomic_store(&mapping->size_bytes, size_bytes);
    pthread_mutex_unlock(&objects_mutex);
}

int64_t memory_mapped_bytes(const void *address)
{
    struct mapping *mapping = (struct mapping *)(void *)map_find(&mappings, (uintptr_t)address);
    return mapping == NULL ? -1 : atomic_load(&mapping->size_bytes);
}
