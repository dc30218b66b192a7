#include "process_facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer.h"
#include "python.h"
#include "records.h"
#include "settings.h"

extern char **environ;

static char pyopencl_version[64];

void process_name_pyopencl(const char *version)
{
    snprintf(pyopencl_version, sizeof pyopencl_version, "%s", version);
}

static struct text read_file(const char *path)
{
    struct text text = {0};
    char block[4096];
    ssize_t length;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return text;
    while ((length = read(descriptor, block, sizeof block)) > 0)
        text_append(&text, block, (size_t)length);
    close(descriptor);
    return text;
}

static void record_command_line(struct record *record)
{
    struct text line = read_file("/proc/self/cmdline");
    record_open_list(record);
    size_t begin = 0;
    for (size_t i = 0; i < line.length; i++) {
        if (line.bytes[i] != '\0')
            continue;
        record_bytes(record, line.bytes + begin, i - begin);
        begin = i + 1;
        if (!settings.records_arguments)
            break; /* the first word names the program */
    }
    record_close_list(record);
    text_free(&line);
}

static int64_t rank(void)
{
    for (int i = 0; i < settings.rank_variables.count; i++) {
        const char *value = getenv(settings.rank_variables.items[i]);
        if (value == NULL || *value == '\0' || strlen(value) > 18)
            continue;
        if (strspn(value, "0123456789") == strlen(value))
            return strtoll(value, NULL, 10);
    }
    return -1;
}

static int compare_names(const void *first, const void *second)
{
    return strcmp(*(char *const *)first, *(char *const *)second);
}

static void record_environment(struct record *record)
{
    size_t count = 0;
    size_t total = 0;
    record_open_list(record);
    while (environ != NULL && environ[total] != NULL)
        total++;
    char **variables = settings.records_environment ? malloc((total + 1) * sizeof *variables) : NULL;
    for (size_t i = 0; variables != NULL && i < total; i++) {
        char name[256];
        const char *end = strchr(environ[i], '=');
        const size_t length = end == NULL ? 0 : (size_t)(end - environ[i]);
        if (length == 0 || length >= sizeof name)
            continue;
        memcpy(name, environ[i], length);
        name[length] = '\0';
        if (settings_record_variable(name))
            variables[count++] = environ[i];
    }
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *end = strchr(variables[i], '=');
        record_open_list(record);
        record_bytes(record, variables[i], (size_t)(end - variables[i]));
        record_string(record, end + 1);
        record_close_list(record);
    }
    record_close_list(record);
    free(variables);
}

static void record_redaction(const char *what)
{
    struct record record;
    record_begin(&record, "redaction");
    record_string(&record, what);
    record_end(&record);
}

void record_process(void)
{
    char host[256] = "";
    char directory[PATH_MAX] = "";
    char executable[PATH_MAX] = "";
    struct record record;
    gethostname(host, sizeof host - 1);
    if (getcwd(directory, sizeof directory) == NULL)
        directory[0] = '\0';
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    record_begin(&record, "process");
    record_integer(&record, getpid());
    record_integer(&record, getppid());
    record_string(&record, host);
    record_optional(&record, rank());
    record_command_line(&record);
    record_string(&record, directory);
    record_string(&record, executable);
    record_string(&record, python_version());
    record_string(&record, pyopencl_version);
    record_integer(&record, now_host_ns());
    record_environment(&record);
    record_end(&record);
    record_diagnostic("note", "recorded-by-layer", "calls of OpenCL are recorded by the OpenCL layer");
    if (!settings.records_source)
        record_redaction("source");
    if (!settings.records_arguments)
        record_redaction("arguments");
    if (!settings.records_environment)
        record_redaction("environment");
}
