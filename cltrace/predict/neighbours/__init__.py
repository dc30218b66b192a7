"""Costs of concurrency: launches that run beside others (Büsser, Memory access collisions, 2018)."""
