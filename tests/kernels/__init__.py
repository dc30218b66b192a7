"""OpenCL C kernels with numpy references: what a lock-step executor must compute."""
