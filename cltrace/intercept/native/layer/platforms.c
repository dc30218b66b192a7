#include "platforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "handle_map.h"
#include "layer.h"
#include "loaders.h"
#include "records.h"

/* A platform, device or context, its number and its record. */
struct numbered {
    struct object object;
    atomic_llong number;
    struct text line;
};

static struct handle_map platforms;
static struct handle_map devices;
static struct handle_map contexts;

static void record_inherited(struct object *object)
{
    if (atomic_load(&object->epoch) == current_epoch() + 1)
        return;
    record_again(&((struct numbered *)(void *)object)->line);
    atomic_store(&object->epoch, current_epoch() + 1);
}

void platforms_ensure_recorded(void)
{
    static atomic_uint recorded_epoch;
    if (atomic_load(&recorded_epoch) == current_epoch())
        return;
    pthread_mutex_lock(&objects_mutex);
    map_visit(&platforms, record_inherited);
    map_visit(&devices, record_inherited);
    map_visit(&contexts, record_inherited);
    atomic_store(&recorded_epoch, current_epoch());
    pthread_mutex_unlock(&objects_mutex);
}

/* Returns the number of an object that is recorded in this process, or 0. */
static int64_t recorded_number(struct handle_map *map, const void *handle)
{
    platforms_ensure_recorded();
    struct numbered *entry = (struct numbered *)(void *)map_find(map, (uintptr_t)handle);
    return entry == NULL ? 0 : atomic_load(&entry->number);
}

/* Gives an object a new number. Returns NULL without memory. The caller holds `objects_mutex`. */
static struct numbered *assign_number(struct handle_map *map, const void *handle, enum number_kind kind)
{
    struct numbered *added =
        (struct numbered *)(void *)map_insert(map, (uintptr_t)handle, sizeof(struct numbered));
    if (added == NULL)
        return NULL;
    atomic_store(&added->number, next_number(kind));
    atomic_store(&added->object.epoch, current_epoch() + 1);
    return added;
}

static void record_trimmed(struct record *record, const char *string)
{
    const char *blanks = " \t\n\r\v\f";
    string += strspn(string, blanks);
    size_t length = strlen(string);
    while (length > 0 && strchr(blanks, string[length - 1]) != NULL)
        length--;
    record_bytes(record, string, length);
}

static void record_platform_text(struct record *record, cl_platform_id platform, cl_uint name)
{
    size_t size = 0;
    char *string = NULL;
    if (target.clGetPlatformInfo(platform, name, 0, NULL, &size) == CL_SUCCESS)
        string = calloc(1, size + 1);
    if (string != NULL && target.clGetPlatformInfo(platform, name, size, string, NULL) == CL_SUCCESS)
        record_trimmed(record, string);
    else
        record_string(record, "");
    free(string);
}

/* Returns a text that describes a device; the caller frees it. NULL if there is none. */
static char *device_text(cl_device_id device, cl_uint name)
{
    size_t size = 0;
    if (target.clGetDeviceInfo(device, name, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    char *string = calloc(1, size + 1);
    if (string == NULL || target.clGetDeviceInfo(device, name, size, string, NULL) != CL_SUCCESS) {
        free(string);
        return NULL;
    }
    return string;
}

static void record_device_text(struct record *record, cl_device_id device, cl_uint name)
{
    char *string = device_text(device, name);
    record_trimmed(record, string == NULL ? "" : string);
    free(string);
}

/* Returns an integer property, or -1 if the driver does not report it. */
static int64_t device_integer(cl_device_id device, cl_uint name)
{
    uint64_t value = 0;
    size_t size = 0;
    if (target.clGetDeviceInfo(device, name, 0, NULL, &size) != CL_SUCCESS || size > sizeof value ||
        target.clGetDeviceInfo(device, name, size, &value, NULL) != CL_SUCCESS)
        return -1;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int64_t platform_number(cl_platform_id platform)
{
    struct record record;
    const int64_t recorded = recorded_number(&platforms, platform);
    if (recorded != 0)
        return recorded;
    struct numbered *added = assign_number(&platforms, platform, NUMBER_PLATFORM);
    if (added == NULL)
        return 0;
    record_begin(&record, "platform");
    record_integer(&record, atomic_load(&added->number));
    record_platform_text(&record, platform, CL_PLATFORM_NAME);
    record_platform_text(&record, platform, CL_PLATFORM_VENDOR);
    record_platform_text(&record, platform, CL_PLATFORM_VERSION);
    record_end_kept(&record, &added->line);
    return atomic_load(&added->number);
}

static void record_kind(struct record *record, cl_device_id device)
{
    static const char *const names[] = {"CPU", "GPU", "ACCELERATOR", "CUSTOM"};
    const int64_t type = device_integer(device, CL_DEVICE_TYPE);
    char kinds[64] = "";
    for (int i = 0; i < 4 && type >= 0; i++) {
        if (!(type & (int64_t)1 << (i + 1)))
            continue;
        if (*kinds != '\0')
            strcat(kinds, " | ");
        strcat(kinds, names[i]);
    }
    record_string(record, *kinds == '\0' ? "unknown" : kinds);
}

/* The PCI address. NVIDIA's slot is the device's number, and its function is 0. */
static void record_bus(struct record *record, cl_device_id device)
{
    char address[64];
    unsigned char topology[24];
    const int64_t bus = device_integer(device, CL_DEVICE_PCI_BUS_ID_NV);
    const int64_t slot = device_integer(device, CL_DEVICE_PCI_SLOT_ID_NV);
    const int64_t domain = device_integer(device, CL_DEVICE_PCI_DOMAIN_ID_NV);
    if (bus >= 0 && slot >= 0) {
        snprintf(address, sizeof address, "%04x:%02x:%02x.0", domain < 0 ? 0 : (unsigned)domain,
                 (unsigned)bus, (unsigned)slot);
        record_string(record, address);
    } else if (target.clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof topology, topology, NULL) ==
               CL_SUCCESS) {
        /* The last three bytes are bus, device and function. */
        snprintf(address, sizeof address, "0000:%02x:%02x.%x", topology[21], topology[22], topology[23]);
        record_string(record, address);
    } else {
        record_null(record);
    }
}

static void record_uuid(struct record *record, cl_device_id device, const char *extensions)
{
    unsigned char uuid[16];
    char digits[2 * sizeof uuid + 1];
    if (extensions == NULL || strstr(extensions, "cl_khr_device_uuid") == NULL ||
        target.clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof uuid, uuid, NULL) != CL_SUCCESS) {
        record_null(record);
        return;
    }
    for (size_t i = 0; i < sizeof uuid; i++)
        snprintf(digits + 2 * i, 3, "%02x", uuid[i]);
    record_string(record, digits);
}

static void record_device(struct numbered *added, cl_device_id device, int64_t platform, int64_t parent)
{
    struct record record;
    char *extensions = device_text(device, CL_DEVICE_EXTENSIONS);
    record_begin(&record, "device");
    record_integer(&record, atomic_load(&added->number));
    record_device_text(&record, device, CL_DEVICE_NAME);
    record_device_text(&record, device, CL_DEVICE_VENDOR);
    record_device_text(&record, device, CL_DEVICE_VERSION);
    record_device_text(&record, device, CL_DRIVER_VERSION);
    record_kind(&record, device);
    record_optional(&record, device_integer(device, CL_DEVICE_MAX_COMPUTE_UNITS));
    record_optional(&record, device_integer(device, CL_DEVICE_MAX_CLOCK_FREQUENCY));
    record_optional(&record, device_integer(device, CL_DEVICE_GLOBAL_MEM_SIZE));
    record_optional(&record, device_integer(device, CL_DEVICE_LOCAL_MEM_SIZE));
    record_optional(&record, device_integer(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    record_optional(&record, device_integer(device, CL_DEVICE_PROFILING_TIMER_RESOLUTION));
    record_bus(&record, device);
    record_uuid(&record, device, extensions);
    record_trimmed(&record, extensions == NULL ? "" : extensions);
    record_integer(&record, platform);
    record_integer(&record, parent);
    record_end_kept(&record, &added->line);
    free(extensions);
}

static int64_t register_device(cl_device_id device)
{
    cl_platform_id platform = NULL;
    cl_device_id parent = NULL;
    const int64_t recorded = recorded_number(&devices, device);
    if (recorded != 0)
        return recorded; /* another thread was first */
    target.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (target.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) !=
        CL_SUCCESS)
        parent = NULL;
    if (parent != NULL && target.clRetainDevice != NULL)
        target.clRetainDevice(device); /* so that the handle of a sub-device is not reused */
    const int64_t parent_number = parent == NULL ? 0 : register_device(parent);
    const int64_t platform_id = platform_number(platform);
    struct numbered *added = assign_number(&devices, device, NUMBER_DEVICE);
    if (added == NULL)
        return 0;
    record_device(added, device, platform_id, parent_number);
    return atomic_load(&added->number);
}

int64_t device_number(cl_device_id device)
{
    int64_t number = recorded_number(&devices, device);
    if (device == NULL || number != 0)
        return number;
    pthread_mutex_lock(&objects_mutex);
    number = register_device(device);
    pthread_mutex_unlock(&objects_mutex);
    return number;
}

cl_device_id *context_devices(cl_context context, cl_uint *count)
{
    size_t size = 0;
    *count = 0;
    if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    cl_device_id *list = malloc(size + sizeof *list);
    if (list == NULL ||
        target.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, list, NULL) != CL_SUCCESS) {
        free(list);
        return NULL;
    }
    *count = (cl_uint)(size / sizeof *list);
    return list;
}

int64_t context_register(cl_context context)
{
    struct record record;
    cl_uint count;
    int64_t number = 0;
    cl_device_id *list = context_devices(context, &count);
    pthread_mutex_lock(&objects_mutex);
    platforms_ensure_recorded();
    struct numbered *added = assign_number(&contexts, context, NUMBER_CONTEXT);
    if (added != NULL) {
        number = atomic_load(&added->number);
        record_begin(&record, "context");
        record_integer(&record, number);
        record_open_list(&record);
        for (cl_uint i = 0; i < count; i++)
            record_integer(&record, device_number(list[i]));
        record_close_list(&record);
        record_end_kept(&record, &added->line);
    }
    pthread_mutex_unlock(&objects_mutex);
    free(list);
    return number;
}

int64_t context_number(cl_context context)
{
    const int64_t number = recorded_number(&contexts, context);
    if (context == NULL || number != 0)
        return number;
    return context_register(context);
}

static void context_created(struct call *call, bool is_recorded, cl_context context, cl_int status)
{
    KEEP_ERRNO();
    if (is_recorded)
        call_return(call);
    if (context != NULL && thread_current() != NULL) {
        context_register(context);
        process_watch_exit();
        loaders_adopt();
    }
    if (is_recorded)
        call_record(call, status);
}

cl_context layer_clCreateContext(const intptr_t *properties, cl_uint count, const cl_device_id *list,
                                 cl_context_callback notify, void *user_data, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateContext, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_context context =
        target.clCreateContext(properties, count, list, notify, user_data, &status);
    context_created(&call, is_recorded, context, status);
    if (status_return != NULL)
        *status_return = status;
    return context;
}

cl_context layer_clCreateContextFromType(const intptr_t *properties, cl_bitfield type,
                                         cl_context_callback notify, void *user_data,
                                         cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clCreateContextFromType, NULL);
    if (is_recorded)
        call_enter(&call);
    const cl_context context =
        target.clCreateContextFromType(properties, type, notify, user_data, &status);
    context_created(&call, is_recorded, context, status);
    if (status_return != NULL)
        *status_return = status;
    return context;
}

cl_int layer_clCreateSubDevices(cl_device_id device, const intptr_t *properties, cl_uint count,
                                cl_device_id *list, cl_uint *count_return)
{
    struct call call;
    if (!CALL_BEGIN(&call, API_clCreateSubDevices, NULL))
        return target.clCreateSubDevices(device, properties, count, list, count_return);
    call_enter(&call);
    return call_end(&call, target.clCreateSubDevices(device, properties, count, list, count_return));
}
