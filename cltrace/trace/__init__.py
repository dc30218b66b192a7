"""What happened, stored: the spool that traced processes write, and the trace file made from it."""
