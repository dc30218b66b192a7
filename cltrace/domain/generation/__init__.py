"""Code of domain iterations: OpenCL C for devices, C for the host, and host programs."""
