"""The builtin functions of OpenCL C: implementation and cost class of each."""
