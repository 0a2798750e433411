"""`python -m azent` is the command line."""

import os
import sys
from contextlib import suppress

with suppress(FileNotFoundError):  # the current folder was deleted
    if sys.path[:1] == [os.getcwd()]:
        del sys.path[0]  # anyone may have put modules there

from azent.cli import main

main()
