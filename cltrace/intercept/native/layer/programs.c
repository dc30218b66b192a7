#include "programs.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "handle_map.h"
#include "includes.h"
#include "layer.h"
#include "platforms.h"
#include "records.h"
#include "settings.h"

/* A kernel function that has a number. */
struct kernel_function {
    struct kernel_function *next;
    int64_t number;
    char name[];
};

struct program {
    struct object object;
    atomic_llong number;
    struct kernel_function *functions;
    struct text source; /* until the first build, if it includes anything */
};

static struct handle_map programs;

/* pyopencl caches binaries: the source of such a program is known to Python only. */
static _Thread_local struct text offered_source;

void program_offer_source(const char *bytes, size_t length)
{
    text_free(&offered_source);
    if (bytes != NULL)
        text_append(&offered_source, bytes, length);
}

static struct program *find_program(cl_program handle)
{
    return (struct program *)(void *)map_find(&programs, (uintptr_t)handle);
}

cl_context program_context(cl_program handle)
{
    cl_context context = NULL;
    target.clGetProgramInfo(handle, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL);
    return context;
}

/* Facts about a new program. */
struct program_facts {
    const char *origin;
    int64_t created_host_ns;
    int64_t binary_bytes;
    struct text source;
    cl_uint parent_count;
    const cl_program *parents;
};

static void forget_functions(struct program *program)
{
    while (program->functions != NULL) {
        struct kernel_function *function = program->functions;
        program->functions = function->next;
        free(function);
    }
}

/* Returns the length of a source without the text that pyopencl appends to defeat the driver's cache. */
static size_t length_without_marker(const struct text *source)
{
    static const char begin[] = "\n\n__constant int pyopencl_defeat_cache_";
    static const char end[] = " = 0;";
    const size_t length = sizeof begin - 1 + 32 + sizeof end - 1;
    if (source->length < length)
        return source->length;
    const char *const marker = source->bytes + source->length - length;
    const bool is_marker = memcmp(marker, begin, sizeof begin - 1) == 0 &&
                           memcmp(marker + length - (sizeof end - 1), end, sizeof end - 1) == 0;
    return source->length - (is_marker ? length : 0);
}

/* Registers a new program, even if its handle is registered for an earlier one. */
static int64_t register_program(cl_program handle, const struct program_facts *facts)
{
    struct record record;
    const int64_t context_id = context_number(program_context(handle));
    const int64_t source_id =
        settings.records_source ? text_number(facts->source.bytes, length_without_marker(&facts->source)) : 0;
    pthread_mutex_lock(&objects_mutex);
    struct program *program =
        (struct program *)(void *)map_insert(&programs, (uintptr_t)handle, sizeof *program);
    if (program == NULL) {
        pthread_mutex_unlock(&objects_mutex);
        return 0;
    }
    const int64_t number = next_number(NUMBER_PROGRAM);
    forget_functions(program);
    text_free(&program->source);
    if (settings.records_source && includes_anything(&facts->source))
        text_append(&program->source, facts->source.bytes, facts->source.length);
    atomic_store(&program->number, number);
    atomic_store(&program->object.epoch, current_epoch() + 1);
    record_begin(&record, "program");
    record_integer(&record, number);
    record_string(&record, facts->origin);
    record_integer(&record, facts->created_host_ns);
    record_integer(&record, facts->binary_bytes);
    record_integer(&record, context_id);
    record_integer(&record, source_id);
    record_open_list(&record);
    for (cl_uint i = 0; i < facts->parent_count; i++)
        record_integer(&record, program_number(facts->parents[i]));
    record_close_list(&record);
    record_end(&record);
    pthread_mutex_unlock(&objects_mutex);
    return number;
}

/* Returns the source of a program as the driver knows it. The caller frees it. */
static struct text driver_source(cl_program handle)
{
    struct text source = {0};
    size_t size = 0;
    if (target.clGetProgramInfo(handle, CL_PROGRAM_SOURCE, 0, NULL, &size) != CL_SUCCESS || size < 2)
        return source;
    source.bytes = calloc(1, size + 1);
    if (source.bytes == NULL ||
        target.clGetProgramInfo(handle, CL_PROGRAM_SOURCE, size, source.bytes, NULL) != CL_SUCCESS)
        return source;
    source.length = strnlen(source.bytes, size);
    return source;
}

int64_t program_number(cl_program handle)
{
    KEEP_ERRNO();
    struct program *program = find_program(handle);
    if (program != NULL && atomic_load(&program->object.epoch) == current_epoch() + 1)
        return atomic_load(&program->number);
    struct program_facts facts = {.source = driver_source(handle)};
    facts.origin = facts.source.length > 0 ? "source" : "unknown";
    const int64_t number = register_program(handle, &facts);
    text_free(&facts.source);
    return number;
}

int64_t program_kernel_number(cl_program handle, const char *name, int *is_new)
{
    *is_new = 0;
    program_number(handle);
    struct program *program = find_program(handle);
    if (program == NULL)
        return 0;
    for (const struct kernel_function *each = program->functions; each != NULL; each = each->next)
        if (strcmp(each->name, name) == 0)
            return each->number;
    struct kernel_function *added = malloc(sizeof *added + strlen(name) + 1);
    if (added == NULL)
        return 0;
    *is_new = 1;
    added->next = program->functions;
    added->number = next_number(NUMBER_KERNEL);
    strcpy(added->name, name);
    program->functions = added;
    return added->number;
}

/* Creation */

#define BEGIN_CREATION(api)                                  \
    struct call call;                                        \
    cl_int status = CL_SUCCESS;                              \
    const bool is_recorded = CALL_BEGIN(&call, (api), NULL); \
    const int64_t created_ns = now_host_ns();                \
    call_enter_if(&call, is_recorded)

/* What all calls that create a program do when the driver has returned. */
static cl_program program_created(struct call *call, bool is_recorded, cl_program program, cl_int status,
                                  cl_int *status_return, const struct program_facts *facts)
{
    KEEP_ERRNO();
    if (is_recorded)
        call_return(call);
    if (status_return != NULL)
        *status_return = status;
    if (program != NULL && thread_current() != NULL) {
        const int64_t number = register_program(program, facts);
        if (is_recorded)
            call->row[CALL_SUBJECT] = number;
    }
    if (is_recorded)
        call_record(call, status);
    return program;
}

cl_program layer_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                           const size_t *lengths, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateProgramWithSource);
    const cl_program program =
        target.clCreateProgramWithSource(context, count, strings, lengths, &status);
    struct program_facts facts = {.origin = "source", .created_host_ns = created_ns};
    for (cl_uint i = 0; program != NULL && i < count; i++)
        text_append(&facts.source, strings[i],
                    lengths != NULL && lengths[i] > 0 ? lengths[i] : strlen(strings[i]));
    program_created(&call, is_recorded, program, status, status_return, &facts);
    text_free(&facts.source);
    return program;
}

cl_program layer_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                           const size_t *lengths, const unsigned char **binaries,
                                           cl_int *binary_status, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateProgramWithBinary);
    const cl_program program = target.clCreateProgramWithBinary(
        context, count, devices, lengths, binaries, binary_status, &status);
    struct program_facts facts = {.origin = "binary", .created_host_ns = created_ns};
    for (cl_uint i = 0; program != NULL && i < count; i++)
        facts.binary_bytes += (int64_t)lengths[i];
    facts.source = offered_source;
    offered_source = (struct text){0};
    program_created(&call, is_recorded, program, status, status_return, &facts);
    text_free(&facts.source);
    return program;
}

cl_program layer_clCreateProgramWithIL(
    cl_context context, const void *il, size_t length, cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateProgramWithIL);
    const cl_program program = target.clCreateProgramWithIL(context, il, length, &status);
    const struct program_facts facts = {
        .origin = "il", .created_host_ns = created_ns, .binary_bytes = (int64_t)length};
    return program_created(&call, is_recorded, program, status, status_return, &facts);
}

cl_program layer_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count,
                                                   const cl_device_id *devices, const char *names,
                                                   cl_int *status_return)
{
    BEGIN_CREATION(API_clCreateProgramWithBuiltInKernels);
    const cl_program program =
        target.clCreateProgramWithBuiltInKernels(context, count, devices, names, &status);
    const struct program_facts facts = {.origin = "built-in", .created_host_ns = created_ns};
    return program_created(&call, is_recorded, program, status, status_return, &facts);
}

/* Builds */

/* A build, a compilation or a link. One with a callback ends when the driver calls that: before the call
   returns, after it, or, if the call fails at once, never. */
struct build {
    atomic_int owners; /* the call, and the callback if there is one */
    atomic_bool has_ended;
    enum api api;
    char *options;
    int64_t enter_ns;
    cl_uint device_count;
    cl_device_id *devices; /* NULL: all devices of the program */
    cl_program_callback callback;
    void *user_data;
};

static void build_drop(struct build *build)
{
    if (build == NULL || atomic_fetch_sub(&build->owners, 1) > 1)
        return;
    free(build->options);
    free(build->devices);
    free(build);
}

static struct build *build_begin(enum api api, const char *options, cl_uint count,
                                 const cl_device_id *devices, cl_program_callback callback,
                                 void *user_data)
{
    struct build *build = calloc(1, sizeof *build);
    if (build == NULL)
        return NULL;
    atomic_store(&build->owners, callback == NULL ? 1 : 2);
    build->api = api;
    build->options = strdup(options == NULL || !settings.records_source ? "" : options);
    build->callback = callback;
    build->user_data = user_data;
    if (count > 0 && devices != NULL && (build->devices = malloc(count * sizeof *devices)) != NULL) {
        memcpy(build->devices, devices, count * sizeof *devices);
        build->device_count = count;
    }
    build->enter_ns = now_host_ns();
    return build;
}

/* Returns the number of the text of a build's log, without the blanks at its ends. */
static int64_t log_number(cl_program program, cl_device_id device)
{
    size_t size = 0;
    int64_t number = 0;
    if (!settings.records_source ||
        target.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
            CL_SUCCESS ||
        size == 0)
        return 0;
    char *log = calloc(1, size + 1);
    if (log != NULL &&
        target.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) ==
            CL_SUCCESS) {
        size_t begin = 0;
        size_t end = strnlen(log, size);
        while (begin < end && strchr(" \n", log[begin]) != NULL)
            begin++;
        while (end > begin && strchr(" \n", log[end - 1]) != NULL)
            end--;
        number = text_number(log + begin, end - begin);
    }
    free(log);
    return number;
}

static cl_device_id *program_devices(cl_program program, cl_uint *count)
{
    size_t size = 0;
    *count = 0;
    if (target.clGetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    cl_device_id *list = malloc(size + sizeof *list);
    if (list == NULL ||
        target.clGetProgramInfo(program, CL_PROGRAM_DEVICES, size, list, NULL) != CL_SUCCESS) {
        free(list);
        return NULL;
    }
    *count = (cl_uint)(size / sizeof *list);
    return list;
}

static void record_build(
    const struct build *build, cl_program program, cl_device_id device, cl_int status, int64_t return_ns)
{
    struct record record;
    const int64_t program_id = program_number(program);
    const int64_t device_id = device_number(device);
    const int64_t log_id = log_number(program, device);
    record_begin(&record, "build");
    record_integer(&record, build->api);
    record_string(&record, build->options == NULL ? "" : build->options);
    record_integer(&record, status);
    record_integer(&record, build->enter_ns);
    record_integer(&record, return_ns);
    record_integer(&record, program_id);
    record_integer(&record, device_id);
    record_integer(&record, log_id);
    record_end(&record);
}

/* Takes the source that was kept for the first build of a program. The caller frees it. */
static struct text take_source(cl_program handle)
{
    pthread_mutex_lock(&objects_mutex);
    struct program *program = find_program(handle);
    const struct text source = program == NULL ? (struct text){0} : program->source;
    if (program != NULL)
        program->source = (struct text){0};
    pthread_mutex_unlock(&objects_mutex);
    return source;
}

/* Records what the source of a program includes, at its first build. */
static void record_sources(cl_program program, const char *options, const struct given_header *headers,
                           size_t header_count)
{
    const int64_t program_id = program_number(program);
    struct text source = take_source(program);
    record_includes(program_id, &source, options == NULL ? "" : options, headers, header_count);
    text_free(&source);
}

/* Records a build that has ended, once, for each of its devices, and what its source includes: that of a
   compilation is recorded with its headers. */
static void build_end(struct build *build, cl_program program, cl_int status, int64_t return_ns)
{
    if (atomic_exchange(&build->has_ended, true))
        return;
    cl_uint count = build->device_count;
    cl_device_id *all = build->devices == NULL ? program_devices(program, &count) : NULL;
    const cl_device_id *devices = build->devices == NULL ? all : build->devices;
    for (cl_uint i = 0; devices != NULL && i < count; i++)
        record_build(build, program, devices[i], status, return_ns);
    free(all);
    if (build->api != API_clCompileProgram)
        record_sources(program, build->options, NULL, 0);
}

/* Returns the status of a build that ended in the background. */
static cl_int background_status(const struct build *build, cl_program program)
{
    cl_uint count = build->device_count;
    cl_int status = CL_SUCCESS;
    cl_device_id *all = build->devices == NULL ? program_devices(program, &count) : NULL;
    const cl_device_id *devices = build->devices == NULL ? all : build->devices;
    for (cl_uint i = 0; devices != NULL && i < count; i++) {
        cl_int state = 0;
        target.clGetProgramBuildInfo(
            program, devices[i], CL_PROGRAM_BUILD_STATUS, sizeof state, &state, NULL);
        if (state == CL_BUILD_ERROR)
            status = build->api == API_clCompileProgram ? CL_COMPILE_PROGRAM_FAILURE
                     : build->api == API_clLinkProgram  ? CL_LINK_PROGRAM_FAILURE
                                                        : CL_BUILD_PROGRAM_FAILURE;
    }
    free(all);
    return status;
}

/* Called by the driver at the end of a build in the background, in place of the program's callback. */
static void build_notified(cl_program program, void *user_data)
{
    KEEP_ERRNO();
    struct build *build = user_data;
    const int64_t return_ns = now_host_ns();
    if (program != NULL && thread_current() != NULL)
        build_end(build, program, background_status(build, program), return_ns);
    const cl_program_callback callback = build->callback;
    void *const program_data = build->user_data;
    build_drop(build);
    callback(program, program_data);
}

/* Ends what was begun for a build after the driver has returned. A build that goes on in the background
   is left to `build_notified`. */
static void build_returned(struct call *call, bool is_recorded, struct build *build, cl_program program,
                           cl_int status)
{
    KEEP_ERRNO();
    if (is_recorded)
        call_return(call);
    const bool is_in_background = build != NULL && build->callback != NULL && status == CL_SUCCESS;
    if (build != NULL && is_recorded && program != NULL && !is_in_background)
        build_end(build, program, status, call->row[CALL_RETURN]);
    build_drop(build);
    if (!is_recorded)
        return;
    if (program != NULL)
        call->row[CALL_SUBJECT] = program_number(program);
    call_record(call, status);
}

cl_int layer_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                            const char *options, cl_program_callback callback, void *user_data)
{
    struct call call;
    const bool is_recorded = CALL_BEGIN(&call, API_clBuildProgram, NULL);
    struct build *build =
        is_recorded ? build_begin(API_clBuildProgram, options, count, devices, callback, user_data) : NULL;
    const bool is_replaced = build != NULL && callback != NULL;
    if (is_recorded)
        call_enter(&call);
    const cl_int status = target.clBuildProgram(program, count, devices, options,
                                                is_replaced ? build_notified : callback,
                                                is_replaced ? (void *)build : user_data);
    build_returned(&call, is_recorded, build, program, status);
    process_watch_exit();
    return status;
}

/* Returns true if a driver accepted the lists of headers. A compilation that fails has headers, too. */
static bool headers_are_valid(cl_int status)
{
    return status == CL_SUCCESS || status == CL_COMPILE_PROGRAM_FAILURE;
}

/* Records what a source that is compiled includes, the headers that the program gave included. */
static void record_compiled_sources(cl_program program, const char *options, cl_uint count,
                                    const cl_program *headers, const char **names)
{
    KEEP_ERRNO();
    struct given_header *given = calloc(count + 1, sizeof *given);
    for (cl_uint i = 0; given != NULL && i < count; i++) {
        given[i].name = names[i];
        given[i].text = driver_source(headers[i]);
        given[i].text.length = length_without_marker(&given[i].text);
    }
    if (given != NULL)
        record_sources(program, options, given, count);
    for (cl_uint i = 0; given != NULL && i < count; i++)
        text_free(&given[i].text);
    free(given);
}

cl_int layer_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                              const char *options, cl_uint header_count, const cl_program *headers,
                              const char **names, cl_program_callback callback, void *user_data)
{
    struct call call;
    const bool is_recorded = CALL_BEGIN(&call, API_clCompileProgram, NULL);
    struct build *build =
        is_recorded ? build_begin(API_clCompileProgram, options, count, devices, callback, user_data)
                    : NULL;
    const bool is_replaced = build != NULL && callback != NULL;
    if (is_recorded)
        call_enter(&call);
    const cl_int status = target.clCompileProgram(
        program, count, devices, options, header_count, headers, names,
        is_replaced ? build_notified : callback, is_replaced ? (void *)build : user_data);
    build_returned(&call, is_recorded, build, program, status);
    if (is_recorded && headers_are_valid(status) && settings.records_source)
        record_compiled_sources(program, options, header_count, headers, names);
    return status;
}

cl_program layer_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                               const char *options, cl_uint input_count, const cl_program *inputs,
                               cl_program_callback callback, void *user_data, cl_int *status_return)
{
    struct call call;
    cl_int status = CL_SUCCESS;
    const bool is_recorded = CALL_BEGIN(&call, API_clLinkProgram, NULL);
    struct build *build =
        is_recorded ? build_begin(API_clLinkProgram, options, count, devices, callback, user_data) : NULL;
    const bool is_replaced = build != NULL && callback != NULL;
    struct program_facts facts = {.origin = "linked", .created_host_ns = now_host_ns()};
    facts.parent_count = inputs == NULL ? 0 : input_count;
    facts.parents = inputs;
    if (is_recorded)
        call_enter(&call);
    const cl_program program = target.clLinkProgram(
        context, count, devices, options, input_count, inputs, is_replaced ? build_notified : callback,
        is_replaced ? (void *)build : user_data, &status);
    if (program != NULL && thread_current() != NULL)
        register_program(program, &facts);
    build_returned(&call, is_recorded, build, program, status);
    if (status_return != NULL)
        *status_return = status;
    return program;
}
