"""OpenCL layer in C, which records the calls of any program through the loader's `OPENCL_LAYERS`.

`layer/` has its sources, `build` compiles them, `settings` writes what the layer reads, `loaders` tells
why a program was not recorded, `environment` has the variables by which a program loads the layer.
"""
