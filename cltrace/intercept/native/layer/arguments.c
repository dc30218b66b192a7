#include <stdlib.h>
#include <string.h>

#include "contents.h"
#include "kernels.h"
#include "layer.h"
#include "memory.h"
#include "queues.h"
#include "records.h"
#include "settings.h"
#include "text.h"

#define INLINE_BYTES 16
#define FEW_WORDS 64

/* `cltrace.events.kinds.ArgumentKind` */
enum argument_kind {
    ARGUMENT_UNSET, /* "unknown" */
    ARGUMENT_BUFFER,
    ARGUMENT_IMAGE,
    ARGUMENT_SVM,
    ARGUMENT_LOCAL,
    ARGUMENT_SCALAR,
    ARGUMENT_SAMPLER,
    ARGUMENT_QUEUE,
    ARGUMENT_NULL,
};

static const char *const kind_names[] = {
    "unknown", "buffer", "image", "svm", "local", "scalar", "sampler", "queue", "null",
};

struct argument {
    enum argument_kind kind;
    uint32_t size;
    uint32_t capacity; /* of `bytes`, if it is not `inline_bytes` */
    cl_uint address_qualifier; /* 0: the driver does not tell */
    char type_name[24];
    unsigned char *bytes;
    unsigned char inline_bytes[INLINE_BYTES];
};

/* Types of OpenCL C and the names that numpy has for them. */
static const struct {
    const char *type;
    const char *dtype;
} dtypes[] = {
    {"char", "|i1"},  {"uchar", "|u1"},  {"unsigned char", "|u1"}, {"short", "<i2"},
    {"ushort", "<u2"}, {"unsigned short", "<u2"}, {"int", "<i4"}, {"uint", "<u4"},
    {"unsigned int", "<u4"}, {"long", "<i8"}, {"ulong", "<u8"}, {"unsigned long", "<u8"},
    {"float", "<f4"}, {"double", "<f8"}, {"half", "<f2"},
};

static const char *dtype_of(const struct argument *argument)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(argument->type_name, dtypes[i].type) == 0)
            return dtypes[i].dtype;
    return "";
}

static void read_declaration(struct argument *argument, cl_kernel kernel, cl_uint index)
{
    char name[256] = "";
    argument->address_qualifier = 0;
    argument->type_name[0] = '\0';
    if (target.clGetKernelArgInfo == NULL ||
        target.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                  sizeof argument->address_qualifier, &argument->address_qualifier,
                                  NULL) != CL_SUCCESS) {
        argument->address_qualifier = 0;
        return;
    }
    if (target.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof name, name, NULL) ==
            CL_SUCCESS &&
        strlen(name) < sizeof argument->type_name)
        strcpy(argument->type_name, name);
}

bool arguments_reset(struct kernel *kernel, cl_kernel handle, cl_uint count)
{
    if (count > kernel->argument_count) {
        struct argument *grown = realloc(kernel->arguments, count * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + kernel->argument_count, 0,
               (count - kernel->argument_count) * sizeof *grown);
        kernel->arguments = grown;
    }
    for (cl_uint i = count; i < kernel->argument_count; i++)
        if (kernel->arguments[i].capacity > 0)
            free(kernel->arguments[i].bytes);
    kernel->argument_count = count;
    for (cl_uint i = 0; i < count; i++) {
        struct argument *argument = &kernel->arguments[i];
        argument->kind = ARGUMENT_UNSET;
        argument->size = 0;
        if (argument->capacity == 0)
            argument->bytes = argument->inline_bytes;
        read_declaration(argument, handle, i);
    }
    return true;
}

static bool store_bytes(struct argument *argument, const void *value, size_t size)
{
    if (size > INLINE_BYTES && size > argument->capacity) {
        unsigned char *grown = malloc(size);
        if (grown == NULL)
            return false;
        if (argument->capacity > 0)
            free(argument->bytes);
        argument->bytes = grown;
        argument->capacity = (uint32_t)size;
    } else if (argument->capacity == 0) {
        argument->bytes = argument->inline_bytes;
    }
    memcpy(argument->bytes, value, size);
    return true;
}

/* Returns the kind of an argument that has the size of a handle, from its declaration where there is
   one, else from what the handle denotes. */
static enum argument_kind kind_of_handle(const struct argument *argument, uintptr_t handle)
{
    const char *type = argument->type_name;
    const bool is_private = argument->address_qualifier == CL_KERNEL_ARG_ADDRESS_PRIVATE;
    if (strcmp(type, "sampler_t") == 0)
        return ARGUMENT_SAMPLER;
    if (strcmp(type, "queue_t") == 0)
        return ARGUMENT_QUEUE;
    if (is_private && *type != '\0' && strncmp(type, "image", 5) != 0 && strstr(type, "pipe") == NULL)
        return ARGUMENT_SCALAR;
    switch (memory_live_kind(handle)) {
    case MEMORY_IMAGE:
        return ARGUMENT_IMAGE;
    case MEMORY_BUFFER:
    case MEMORY_SUB_BUFFER:
    case MEMORY_PIPE:
        return ARGUMENT_BUFFER;
    default:
        break;
    }
    if (argument->address_qualifier != 0 && !is_private)
        return handle == 0 ? ARGUMENT_NULL : ARGUMENT_BUFFER;
    if (sampler_is_known(handle))
        return ARGUMENT_SAMPLER;
    return queue_is_known(handle) ? ARGUMENT_QUEUE : ARGUMENT_SCALAR;
}

static enum argument_kind kind_of(const struct argument *argument, size_t size, const void *value)
{
    uintptr_t handle;
    if (value == NULL) {
        const bool is_pointer = argument->address_qualifier == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                                argument->address_qualifier == CL_KERNEL_ARG_ADDRESS_CONSTANT;
        return is_pointer ? ARGUMENT_NULL : ARGUMENT_LOCAL;
    }
    if (size != sizeof handle)
        return ARGUMENT_SCALAR;
    memcpy(&handle, value, sizeof handle);
    return kind_of_handle(argument, handle);
}

static void change(struct kernel *kernel, struct argument *argument, enum argument_kind kind, size_t size)
{
    if (argument->kind != kind || (argument->size != size && kind == ARGUMENT_SCALAR))
        atomic_store_explicit(&kernel->has_new_form, true, memory_order_relaxed);
    argument->kind = kind;
    argument->size = (uint32_t)size;
    atomic_store_explicit(&kernel->has_changed, true, memory_order_relaxed);
}

void argument_set(struct kernel *kernel, cl_uint index, size_t size, const void *value)
{
    if (index >= kernel->argument_count || size > UINT32_MAX)
        return;
    struct argument *argument = &kernel->arguments[index];
    const enum argument_kind kind = kind_of(argument, size, value);
    const bool is_same = argument->kind == kind && argument->size == size &&
                         (value == NULL || memcmp(argument->bytes, value, size) == 0);
    if (is_same)
        return;
    if (value == NULL || store_bytes(argument, value, size))
        change(kernel, argument, kind, size);
}

void argument_set_svm(struct kernel *kernel, cl_uint index, const void *address)
{
    if (index >= kernel->argument_count)
        return;
    struct argument *argument = &kernel->arguments[index];
    const enum argument_kind kind = address == NULL ? ARGUMENT_NULL : ARGUMENT_SVM;
    if (argument->kind == kind && memcmp(argument->bytes, &address, sizeof address) == 0)
        return;
    if (store_bytes(argument, &address, sizeof address))
        change(kernel, argument, kind, sizeof address);
}

void arguments_copy(struct kernel *clone, const struct kernel *original)
{
    for (cl_uint i = 0; i < clone->argument_count && i < original->argument_count; i++) {
        const struct argument *from = &original->arguments[i];
        struct argument *to = &clone->arguments[i];
        const size_t stored = from->kind == ARGUMENT_LOCAL || from->kind == ARGUMENT_NULL ? 0 : from->size;
        if (from->kind != ARGUMENT_UNSET && store_bytes(to, from->bytes, stored))
            change(clone, to, from->kind, from->size);
    }
}

static unsigned words_of(const struct argument *argument)
{
    switch (argument->kind) {
    case ARGUMENT_BUFFER:
    case ARGUMENT_IMAGE:
    case ARGUMENT_SVM:
    case ARGUMENT_LOCAL:
        return 1;
    case ARGUMENT_SCALAR:
        return (argument->size + 7) / 8;
    default:
        return 0;
    }
}

static void append_slot(struct text *text, const struct argument *argument)
{
    const bool is_scalar = argument->kind == ARGUMENT_SCALAR;
    text_append_string(text, text->length > 0 ? ",[\"" : "[\"");
    text_append_string(text, kind_names[argument->kind]);
    text_append_string(text, "\",");
    text_append_integer(text, words_of(argument));
    text_append_string(text, ",\"");
    text_append_string(text, is_scalar ? dtype_of(argument) : "");
    text_append_string(text, "\",");
    text_append_integer(text, is_scalar ? argument->size : 0);
    text_append_string(text, ",\"\"]");
}

static void update_form(struct kernel *kernel)
{
    struct text slots = {0};
    for (cl_uint i = 0; i < kernel->argument_count; i++)
        append_slot(&slots, &kernel->arguments[i]);
    if (!slots.is_broken)
        atomic_store(&kernel->form_id, form_number(slots.bytes == NULL ? "" : slots.bytes, slots.length));
    atomic_store_explicit(&kernel->has_new_form, false, memory_order_release);
    text_free(&slots);
}

/* Puts the argument's words at `words`. */
static void put_words(const struct argument *argument, int64_t *words)
{
    const unsigned count = words_of(argument);
    if (count == 0)
        return;
    if (argument->kind == ARGUMENT_LOCAL) {
        words[0] = argument->size;
        return;
    }
    words[count - 1] = 0; /* pads the last word */
    memcpy(words, argument->bytes, argument->size);
}

/* Puts the list in `words` and records it. Returns its number. */
static int64_t push_list(struct thread *thread, const struct kernel *kernel, int64_t *words)
{
    unsigned count = 2;
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        put_words(&kernel->arguments[i], words + count);
        count += words_of(&kernel->arguments[i]);
    }
    words[0] = thread_number(&thread->next_arguments, NUMBER_ARGUMENTS);
    words[1] = atomic_load(&kernel->form_id);
    thread_push(thread, TABLE_ARGUMENTS, words, count);
    return words[0];
}

static int64_t write_list(struct thread *thread, struct kernel *kernel)
{
    int64_t few_words[FEW_WORDS]; /* the stacks of the program's threads may be small */
    unsigned count = 2;
    if (atomic_load_explicit(&kernel->has_new_form, memory_order_acquire))
        update_form(kernel);
    for (cl_uint i = 0; i < kernel->argument_count; i++)
        count += words_of(&kernel->arguments[i]);
    if (LIKELY(count <= FEW_WORDS))
        return push_list(thread, kernel, few_words);
    int64_t *words = count < ring_max_entry(&thread->ring) ? malloc(count * sizeof *words) : NULL;
    const int64_t number = words == NULL ? 0 : push_list(thread, kernel, words);
    free(words);
    return number;
}

int64_t arguments_number(struct thread *thread, struct kernel *kernel)
{
    if (LIKELY(!atomic_load_explicit(&kernel->has_changed, memory_order_acquire)))
        return atomic_load_explicit(&kernel->arguments_id, memory_order_relaxed);
    if (!settings.records_arguments)
        return 0;
    /* OpenCL leaves it to the program that no other thread sets arguments now. Two threads that launch
       at once may both write the list. */
    const int64_t number = write_list(thread, kernel);
    atomic_store_explicit(&kernel->arguments_id, number, memory_order_relaxed);
    atomic_store_explicit(&kernel->has_changed, false, memory_order_release);
    return number;
}

static void visit_buffers(const struct kernel *kernel, void (*visit)(cl_mem))
{
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        cl_mem buffer;
        if (kernel->arguments[i].kind != ARGUMENT_BUFFER)
            continue;
        memcpy(&buffer, kernel->arguments[i].bytes, sizeof buffer);
        visit(buffer);
    }
}

void arguments_record_contents(const struct kernel *kernel)
{
    if (UNLIKELY(atomic_load_explicit(&fresh_contents, memory_order_relaxed) > 0))
        visit_buffers(kernel, contents_used);
}

void arguments_lose_contents(const struct kernel *kernel)
{
    visit_buffers(kernel, contents_lost);
}
