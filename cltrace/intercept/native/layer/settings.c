#include "settings.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings settings = {
    .records_python = false,
    .records_source = true,
    .records_arguments = true,
    .records_environment = true,
    .forces_profiling = true,
    .follows_children = true,
    .callsite_depth = 64,
    .duration_ns = -1,
    .max_commands = -1,
};

static void list_append(struct string_list *list, const char *item)
{
    char **grown = realloc(list->items, sizeof *grown * (size_t)(list->count + 1));
    if (grown == NULL)
        return;
    list->items = grown;
    grown[list->count] = strdup(item);
    if (grown[list->count] != NULL)
        list->count++;
}

/* Returns a number of frames that fits an `int`, and no more than readers read. */
static int read_callsite_depth(const char *value)
{
    const long long depth = strtoll(value, NULL, 10);
    if (depth < 0)
        return 0;
    return depth < MAX_CALLSITE_DEPTH ? (int)depth : MAX_CALLSITE_DEPTH;
}

static void apply_setting(const char *key, const char *value)
{
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        {"record_python", &settings.records_python},
        {"record_source", &settings.records_source},
        {"record_arguments", &settings.records_arguments},
        {"record_environment", &settings.records_environment},
        {"force_profiling", &settings.forces_profiling},
        {"follow_children", &settings.follows_children},
        {"start_paused", &settings.starts_paused},
        {"capture_contents", &settings.captures_contents},
    };
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {
        {"began_host_ns", &settings.began_host_ns},
        {"delay_ns", &settings.delay_ns},
        {"duration_ns", &settings.duration_ns},
        {"max_commands", &settings.max_commands},
        {"capture_bytes", &settings.capture_bytes},
    };
    const struct {
        const char *key;
        struct string_list *list;
    } lists[] = {
        {"include_kernel", &settings.include_kernels},
        {"exclude_kernel", &settings.exclude_kernels},
        {"record_variable", &settings.recorded_variables},
        {"rank_variable", &settings.rank_variables},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(key, flags[i].key) == 0)
            *flags[i].flag = strcmp(value, "yes") == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].number = strtoll(value, NULL, 10);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(key, lists[i].key) == 0)
            list_append(lists[i].list, value);
    if (strcmp(key, "callsite_depth") == 0)
        settings.callsite_depth = read_callsite_depth(value);
}

bool settings_read(const char *parts_directory)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/layer.settings", parts_directory);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, file)) >= 0) {
        if (size > 0 && line[size - 1] == '\n')
            line[size - 1] = '\0';
        char *value = strchr(line, ' ');
        if (value == NULL)
            continue;
        *value++ = '\0';
        apply_setting(line, value);
    }
    free(line);
    fclose(file);
    return true;
}

static bool matches_any(const struct string_list *patterns, const char *name)
{
    for (int i = 0; i < patterns->count; i++)
        if (fnmatch(patterns->items[i], name, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

bool settings_record_kernel(const char *name)
{
    if (matches_any(&settings.exclude_kernels, name))
        return false;
    return settings.include_kernels.count == 0 || matches_any(&settings.include_kernels, name);
}

bool settings_record_variable(const char *name)
{
    return matches_any(&settings.recorded_variables, name);
}
