"""OpenCL objects of the traced program: their numbers, creators and lifetimes."""
