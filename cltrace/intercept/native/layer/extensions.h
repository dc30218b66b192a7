/* Functions of extensions, which programs get by name and call past the layer. */
#ifndef CLTRACE_EXTENSIONS_H
#define CLTRACE_EXTENSIONS_H

#include "opencl.h"

void *layer_clGetExtensionFunctionAddress(const char *name);
void *layer_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name);

/* Notes again in a forked child what it asks for. */
void extensions_forked(void);

#endif
