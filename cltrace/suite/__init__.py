"""Kernels as data: source, sizes and inputs. Each has one role: calibration, evaluation or score."""
