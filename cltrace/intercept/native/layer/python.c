#include "python.h"
#include <dlfcn.h>
#include <stddef.h>
bool python_is_present(void) { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL; }
const char *python_version(void) { return ""; }
int64_t python_site(void) { return -1; }
void python_forked(void) {}
