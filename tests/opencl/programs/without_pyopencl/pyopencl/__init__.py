raise ImportError("there is no pyopencl here")
