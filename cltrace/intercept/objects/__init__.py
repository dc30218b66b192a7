"""OpenCL objects of the traced program: their numbers, owners and lifetimes."""
