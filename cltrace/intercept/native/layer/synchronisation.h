/* Entry points that wait, flush, mark, and set the status of events. */
#ifndef CLTRACE_SYNCHRONISATION_H
#define CLTRACE_SYNCHRONISATION_H

#include "opencl.h"

cl_int layer_clFinish(cl_command_queue);
cl_int layer_clFlush(cl_command_queue);
cl_int layer_clWaitForEvents(cl_uint, const cl_event *);
cl_int layer_clSetEventCallback(cl_event, cl_int, cl_event_callback, void *);
cl_event layer_clCreateUserEvent(cl_context, cl_int *);
cl_int layer_clSetUserEventStatus(cl_event, cl_int);
cl_int layer_clEnqueueMarker(cl_command_queue, cl_event *);
cl_int layer_clEnqueueMarkerWithWaitList(cl_command_queue, cl_uint, const cl_event *, cl_event *);
cl_int layer_clEnqueueBarrier(cl_command_queue);
cl_int layer_clEnqueueBarrierWithWaitList(cl_command_queue, cl_uint, const cl_event *, cl_event *);
cl_int layer_clEnqueueWaitForEvents(cl_command_queue, cl_uint, const cl_event *);

#endif
