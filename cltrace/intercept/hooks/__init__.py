"""Hooks: one file per kind of entry point, and the table of all patches."""
