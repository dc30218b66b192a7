"""Fit of a device's clock: from bounds on single stamps to pieces of a map."""
