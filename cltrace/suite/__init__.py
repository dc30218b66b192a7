"""Kernels as data: source, sizes, inputs, and one role each: calibration, evaluation or score."""
