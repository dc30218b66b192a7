"""Trace files: schema and views, the writer that makes a trace from spools, and guarded readers."""
