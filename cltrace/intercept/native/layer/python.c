#include "python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "records.h"
#include "settings.h"

#define BUCKETS 2048
#define MAX_WALK 4096 /* frames to pass over; what is further out is not part of the stack */
#define CODE_ITSELF (-1)
#define OF_LINE(line) (-2 - (line))

/* Functions of the interpreter, which is not linked with the layer. Objects are opaque. */
static struct {
    int (*Py_IsInitialized)(void);
    int (*Py_IsFinalizing)(void);
    const char *(*Py_GetVersion)(void);
    void *(*PyGILState_GetThisThreadState)(void);
    void *(*PyThreadState_GetUnchecked)(void);
    void *(*PyInterpreterState_Head)(void);
    void *(*PyInterpreterState_Next)(void *);
    int (*PyGILState_Ensure)(void);
    void (*PyGILState_Release)(int);
    void *(*PyThreadState_GetFrame)(void *);
    void *(*PyFrame_GetCode)(void *);
    void *(*PyFrame_GetBack)(void *);
    int (*PyFrame_GetLasti)(void *);
    int (*PyFrame_GetLineNumber)(void *);
    void *(*PyObject_GetAttrString)(void *, const char *);
    void *(*PyImport_GetModuleDict)(void);
    void *(*PyDict_GetItemString)(void *, const char *);
    void *(*PyDict_GetItem)(void *, void *);
    void *(*PyLong_FromUnsignedLong)(unsigned long);
    const char *(*PyUnicode_AsUTF8)(void *);
    void (*PyErr_Fetch)(void **, void **, void **);
    void (*PyErr_Restore)(void *, void *, void *);
    void (*Py_IncRef)(void *);
    void (*Py_DecRef)(void *);
} python;
static bool can_read_frames;

/* A place in code that has a site: an instruction, or `OF_LINE` of a line. With `CODE_ITSELF`, `value`
   tells whether the code belongs to a library. The code is kept alive, so that its address is not
   reused. Protected by the interpreter's lock. */
struct known_place {
    struct known_place *next;
    const void *code;
    int instruction;
    int64_t outer_site;
    int64_t value;
};
static struct known_place *known_places[BUCKETS];

bool python_is_present(void)
{
    return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL;
}

static bool find_function(void *place, const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(place, &address, sizeof address);
    return address != NULL;
}

#define FIND(name) find_function((void *)&python.name, #name)

void python_prepare(void)
{
    can_read_frames =
        FIND(Py_IsInitialized) && FIND(Py_GetVersion) &&
        (FIND(Py_IsFinalizing) || find_function((void *)&python.Py_IsFinalizing, "_Py_IsFinalizing")) &&
        FIND(PyGILState_GetThisThreadState) && FIND(PyGILState_Ensure) &&
        (FIND(PyThreadState_GetUnchecked) ||
         find_function((void *)&python.PyThreadState_GetUnchecked, "_PyThreadState_UncheckedGet")) &&
        FIND(PyInterpreterState_Head) && FIND(PyInterpreterState_Next) && FIND(PyGILState_Release) && FIND(PyThreadState_GetFrame) && FIND(PyFrame_GetCode) &&
        FIND(PyFrame_GetBack) && FIND(PyFrame_GetLasti) && FIND(PyFrame_GetLineNumber) &&
        FIND(PyObject_GetAttrString) && FIND(PyImport_GetModuleDict) && FIND(PyDict_GetItemString) &&
        FIND(PyDict_GetItem) && FIND(PyLong_FromUnsignedLong) &&
        FIND(PyUnicode_AsUTF8) && FIND(PyErr_Fetch) && FIND(PyErr_Restore) && FIND(Py_IncRef) &&
        FIND(Py_DecRef);
    /* Without the interpreter's lock nothing would protect the known places. */
    if (can_read_frames && strstr(python.Py_GetVersion(), "free-threading") != NULL)
        can_read_frames = false;
}

const char *python_version(void)
{
    static char version[32];
    if (python.Py_GetVersion == NULL)
        return "";
    const char *full = python.Py_GetVersion();
    const size_t length = strcspn(full, " ");
    if (length < sizeof version)
        memcpy(version, full, length);
    return version;
}

static void drop_error(void)
{
    void *error[3];
    python.PyErr_Fetch(&error[0], &error[1], &error[2]);
    for (int i = 0; i < 3; i++)
        if (error[i] != NULL)
            python.Py_DecRef(error[i]);
}

/* Returns an attribute, which the caller releases; NULL if there is none. */
static void *attribute(void *object, const char *name)
{
    void *value = python.PyObject_GetAttrString(object, name);
    if (value == NULL)
        drop_error();
    return value;
}

/* Returns an attribute that is a text; NULL if there is none. `owner` must be released. */
static const char *text_attribute(void *object, const char *name, void **owner)
{
    *owner = attribute(object, name);
    const char *text = *owner == NULL ? NULL : python.PyUnicode_AsUTF8(*owner);
    if (*owner != NULL && text == NULL)
        drop_error();
    return text;
}

/* Returns true if `file` is in the directory of an imported package. */
static bool is_in_package(const char *file, const char *package)
{
    void *owner = NULL;
    bool is_inside = false;
    void *module = python.PyDict_GetItemString(python.PyImport_GetModuleDict(), package);
    const char *init = module == NULL ? NULL : text_attribute(module, "__file__", &owner);
    const char *slash = init == NULL ? NULL : strrchr(init, '/');
    if (slash != NULL)
        is_inside = strncmp(file, init, (size_t)(slash - init) + 1) == 0;
    if (owner != NULL)
        python.Py_DecRef(owner);
    return is_inside;
}

static bool is_library_file(const char *file)
{
    static const char *const generated[] = {"<generated: 'pyopencl", "<generated code>", "<cltrace"};
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (strncmp(file, generated[i], strlen(generated[i])) == 0)
            return true;
    return is_in_package(file, "pyopencl") || is_in_package(file, "pytools") ||
           is_in_package(file, "cltrace.intercept");
}

/* Returns true for a file of an installed package or of the standard library. */
static bool is_installed_file(const char *file)
{
    static const char *const parts[] = {"/lib/python", "/lib64/python"};
    if (strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL ||
        strncmp(file, "<frozen ", strlen("<frozen ")) == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = strstr(file, parts[i]);
        const char next = part == NULL ? ' ' : part[strlen(parts[i])];
        if (next >= '0' && next <= '9')
            return true;
    }
    return false;
}

static size_t bucket_of(const void *code, int instruction, int64_t outer_site)
{
    const uint64_t key = (uint64_t)(uintptr_t)code + (uint64_t)instruction + (uint64_t)outer_site * 31;
    return (size_t)(key * 0x9E3779B97F4A7C15U >> 40) % BUCKETS;
}

static const struct known_place *find_place(const void *code, int instruction, int64_t outer_site)
{
    const struct known_place *place = known_places[bucket_of(code, instruction, outer_site)];
    while (place != NULL && (place->code != code || place->instruction != instruction ||
                             place->outer_site != outer_site))
        place = place->next;
    return place;
}

static void add_place(void *code, int instruction, int64_t outer_site, int64_t value)
{
    struct known_place **bucket = &known_places[bucket_of(code, instruction, outer_site)];
    struct known_place *added = malloc(sizeof *added);
    if (added == NULL)
        return;
    python.Py_IncRef(code);
    *added = (struct known_place){*bucket, code, instruction, outer_site, value};
    *bucket = added;
}

/* Owners of code: the program, an installed package, or pyopencl and cltrace. */
enum owner { OWNER_PROGRAM, OWNER_PACKAGE, OWNER_LIBRARY };

static enum owner owner_of(void *frame)
{
    void *code = python.PyFrame_GetCode(frame);
    const struct known_place *place = find_place(code, CODE_ITSELF, 0);
    enum owner owner = place == NULL ? OWNER_PROGRAM : (enum owner)place->value;
    if (place == NULL) {
        void *file_owner = NULL;
        const char *file = text_attribute(code, "co_filename", &file_owner);
        if (file != NULL && is_library_file(file))
            owner = OWNER_LIBRARY;
        else if (file != NULL && is_installed_file(file))
            owner = OWNER_PACKAGE;
        if (file_owner != NULL)
            python.Py_DecRef(file_owner);
        add_place(code, CODE_ITSELF, 0, owner);
    }
    python.Py_DecRef(code);
    return owner;
}

static int64_t record_place(int line, void *code, int64_t outer_site)
{
    void *file_owner = NULL;
    void *name_owner = NULL;
    struct record record;
    const int64_t number = next_number(NUMBER_SITE);
    const char *file = text_attribute(code, "co_filename", &file_owner);
    const char *name = text_attribute(code, "co_qualname", &name_owner);
    record_begin(&record, "site");
    record_integer(&record, number);
    record_string(&record, file == NULL ? "" : file);
    record_integer(&record, line);
    record_string(&record, name == NULL ? "" : name);
    record_integer(&record, outer_site);
    record_end(&record);
    if (file_owner != NULL)
        python.Py_DecRef(file_owner);
    if (name_owner != NULL)
        python.Py_DecRef(name_owner);
    return number;
}

/* Returns the site of a frame's line: the calls of one line share it. */
static int64_t site_of_line(void *frame, void *code, int64_t outer_site)
{
    const int line = python.PyFrame_GetLineNumber(frame);
    const struct known_place *place = find_place(code, OF_LINE(line), outer_site);
    if (place != NULL)
        return place->value;
    const int64_t site = record_place(line, code, outer_site);
    add_place(code, OF_LINE(line), outer_site, site);
    return site;
}

static int64_t site_of_frame(void *frame, int64_t outer_site)
{
    void *code = python.PyFrame_GetCode(frame);
    const int instruction = python.PyFrame_GetLasti(frame);
    const struct known_place *place = find_place(code, instruction, outer_site);
    int64_t site = place == NULL ? 0 : place->value;
    if (place == NULL) {
        site = site_of_line(frame, code, outer_site);
        add_place(code, instruction, outer_site, site);
    }
    python.Py_DecRef(code);
    return site;
}

/* Returns the next outer frame, and releases this one. */
static void *step_out(void *frame)
{
    void *back = python.PyFrame_GetBack(frame);
    python.Py_DecRef(frame);
    return back;
}

/* Frames of a thread, the innermost first, without those of pyopencl and cltrace. `program` is the number
   of frames up to the outermost one of the program, 0 if it has none. */
struct stack {
    void *frames[MAX_WALK];
    bool is_of_program[MAX_WALK];
    int count;
    int program;
};

/* Reads the stack around `frame`, which it releases. With `is_brief`, it ends at the nearest frame of the
   program. */
static void read_stack(struct stack *stack, void *frame, bool is_brief)
{
    stack->count = stack->program = 0;
    while (frame != NULL) {
        const enum owner owner = owner_of(frame);
        if (owner == OWNER_LIBRARY) {
            frame = step_out(frame);
            continue;
        }
        stack->frames[stack->count] = frame;
        stack->is_of_program[stack->count++] = owner == OWNER_PROGRAM;
        if (owner == OWNER_PROGRAM)
            stack->program = stack->count;
        if (stack->count == MAX_WALK || (is_brief && stack->program > 0))
            break;
        frame = python.PyFrame_GetBack(frame);
    }
}

/* Returns the position of the caller to record for a stack that is too deep, of those between the innermost
   frame and the one at `last`: the program's own nearest one, which its author can change. */
static int nearest_caller(const struct stack *stack, int last)
{
    for (int at = 1; at < last; at++)
        if (stack->is_of_program[at])
            return at;
    return last;
}

/* Returns the site of a stack. Frames of packages around the program's first frame are left out; a stack
   of more than `depth` frames lacks some in its middle. */
static int64_t site_of_stack(const struct stack *stack, int depth)
{
    const int count = stack->program > 0 ? stack->program : stack->count;
    int64_t site = 0;
    if (depth == 1) {
        if (count > 1 && !stack->is_of_program[0] && stack->is_of_program[count - 1])
            site = site_of_frame(stack->frames[count - 1], 0);
        return count > 0 ? site_of_frame(stack->frames[0], site) : 0;
    }
    int outermost = 0;
    for (int at = count - 1; at > 0; at--) {
        if (++outermost == depth - 1 && at > 1)
            at = nearest_caller(stack, at);
        site = site_of_frame(stack->frames[at], site);
        if (outermost == depth - 1)
            break;
    }
    return count > 0 ? site_of_frame(stack->frames[0], site) : 0;
}

static int64_t site_of_thread(void *thread_state)
{
    struct stack stack;
    const int depth = settings.callsite_depth;
    void *frame = python.PyThreadState_GetFrame(thread_state);
    if (frame == NULL)
        return -1;
    read_stack(&stack, frame, depth == 1);
    const int64_t site = site_of_stack(&stack, depth);
    for (int at = 0; at < stack.count; at++)
        python.Py_DecRef(stack.frames[at]);
    return site;
}

/* Returns the state of the calling thread, or NULL for one that runs no Python. */
static void *current_thread(void)
{
    if (LIKELY(!can_read_frames) || !python.Py_IsInitialized() || python.Py_IsFinalizing())
        return NULL;
    return python.PyGILState_GetThisThreadState();
}

/* Copies the name of the calling thread from the list that `threading` keeps. Its functions would add a
   thread that Python did not start. The caller holds the interpreter's lock. */
static void copy_thread_name(char *name, size_t room)
{
    void *threads = NULL;
    void *owner = NULL;
    const char *found = NULL;
    void *module = python.PyDict_GetItemString(python.PyImport_GetModuleDict(), "threading");
    void *key = python.PyLong_FromUnsignedLong((unsigned long)pthread_self());
    if (module != NULL)
        threads = attribute(module, "_active");
    void *thread = threads == NULL || key == NULL ? NULL : python.PyDict_GetItem(threads, key);
    if (thread != NULL)
        found = text_attribute(thread, "_name", &owner);
    if (found != NULL)
        snprintf(name, room, "%s", found);
    void *const owned[] = {owner, threads, key};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (owned[i] != NULL)
            python.Py_DecRef(owned[i]);
}

/* Returns true if this thread has the lock of its interpreter. `PyGILState_Check` returns true in every
   thread as soon as the process has had a second interpreter. */
static bool has_lock(const void *thread_state)
{
    return python.PyThreadState_GetUnchecked() == thread_state;
}

/* Returns true if this thread may wait for the lock. It may have that of another interpreter: until Python
   3.11 the current state is that of any thread. */
static bool may_take_lock(void)
{
    return python.PyThreadState_GetUnchecked() == NULL ||
           python.PyInterpreterState_Next(python.PyInterpreterState_Head()) == NULL;
}

void python_thread_name(char *name, size_t room)
{
    /* A driver may be calling back with its locks held: this is no place to wait for the interpreter's. */
    const void *thread_state = current_thread();
    if (thread_state != NULL && has_lock(thread_state))
        copy_thread_name(name, room);
}

int64_t python_site(void)
{
    void *thread_state = current_thread();
    if (thread_state == NULL)
        return -1;
    if (has_lock(thread_state))
        return site_of_thread(thread_state);
    if (!may_take_lock())
        return -1;
    const int state = python.PyGILState_Ensure();
    const int64_t site = site_of_thread(thread_state);
    python.PyGILState_Release(state);
    return site;
}

void python_forked(void)
{
    /* Sites that the parent recorded are recorded again. The places stay allocated. */
    memset(known_places, 0, sizeof known_places);
}
