"""Drain of the sink: rows go to the spool, and stamps of complete commands are read."""
