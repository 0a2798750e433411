"""`python -m azent` is the command line."""

from azent.cli import main

main()
