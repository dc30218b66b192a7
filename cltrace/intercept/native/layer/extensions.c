#include "extensions.h"

#include <stdio.h>
#include <string.h>

#include "contents.h"
#include "layer.h"
#include "records.h"
#include "settings.h"

#define MAX_NOTED 64
#define MAX_NAME 64

static pthread_mutex_t noted_mutex = PTHREAD_MUTEX_INITIALIZER;
static char noted[MAX_NOTED][MAX_NAME];
static int noted_count;

/* Such functions start commands. Others are of no interest to a trace, and programs ask for many. */
static bool starts_commands(const char *name)
{
    return strncmp(name, "clEnqueue", 9) == 0;
}

/* Remembers a name; returns whether it is new and there is room. */
static bool is_first_request(const char *name)
{
    pthread_mutex_lock(&noted_mutex);
    bool is_new = noted_count < MAX_NOTED && strlen(name) < MAX_NAME;
    for (int i = 0; i < noted_count && is_new; i++)
        is_new = strcmp(noted[i], name) != 0;
    if (is_new)
        strcpy(noted[noted_count++], name);
    pthread_mutex_unlock(&noted_mutex);
    return is_new;
}

static void *note_request(const char *name, void *address)
{
    char message[MAX_NAME + 128];
    if (address == NULL || name == NULL || !starts_commands(name) || !is_first_request(name))
        return address;
    snprintf(message, sizeof message,
             "the program got the function %s of an extension: commands that it starts are not in the trace",
             name);
    record_diagnostic("note", "extension-unrecorded", message);
    settings.captures_contents = false; /* such commands may write any buffer */
    contents_lost_all();
    return address;
}

void *layer_clGetExtensionFunctionAddress(const char *name)
{
    return note_request(name, target.clGetExtensionFunctionAddress(name));
}

void *layer_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    return note_request(name, target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void extensions_forked(void)
{
    pthread_mutex_init(&noted_mutex, NULL);
    noted_count = 0;
}
