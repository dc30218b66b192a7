"""Fitting a device clock: from bounds on single stamps to pieces of a map."""
