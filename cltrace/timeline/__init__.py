"""What a trace's times mean: one clock for host and device, and what follows from it. Pure functions."""
