"""OpenCL C understood: what a launch has to do, counted exactly."""
