"""Random kernels, from a seed: the thesis's domain iterations, and programs with control flow."""
