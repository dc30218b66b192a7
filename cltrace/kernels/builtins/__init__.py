"""The functions that OpenCL C provides: what each computes, and in which class of cost it is."""
