/* Counts of references, as the program expects them: those of the layer are not among them. */
#ifndef CLTRACE_REFERENCES_H
#define CLTRACE_REFERENCES_H

#include "opencl.h"

/* Releases the events of complete commands, in which drivers count references to queues and contexts.
   Returns the number of references to `event`, which may be NULL, that the layer still owns. */
cl_uint references_settle(cl_event event);

cl_int layer_clGetContextInfo(cl_context, cl_uint, size_t, void *, size_t *);
cl_int layer_clGetEventInfo(cl_event, cl_uint, size_t, void *, size_t *);

#endif
