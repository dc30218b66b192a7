"""Counts of many launches: by several processes, and kept on disk between calls."""
