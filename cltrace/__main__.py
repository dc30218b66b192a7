"""`python -m cltrace`."""

from cltrace.cli import main

main()
