"""Readers of cltrace, one file each. `cltrace.power.registry` finds these and those of others."""
