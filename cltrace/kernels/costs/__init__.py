"""Costs of operations: cost classes, the names of measured series, and what an instruction costs."""
