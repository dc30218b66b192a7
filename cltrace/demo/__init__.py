"""The program that `cltrace demo` traces."""
