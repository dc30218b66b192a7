"""Counts of a launch: operations, memory transactions and divergence of a sample of its groups."""
