"""The version of cltrace, in the one place where it is written."""

__version__ = "0.6.0"
