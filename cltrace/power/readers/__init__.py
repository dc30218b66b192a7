"""The readers that come with cltrace, one file each; `cltrace.power.registry` finds them and others."""
