"""Kernels that record their own events on a device, as OpenCL C written anew from compiled code."""
