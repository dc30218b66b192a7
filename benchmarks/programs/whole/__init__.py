"""Programs that `benchmarks/whole_programs.py` runs as a whole, as their users would."""
