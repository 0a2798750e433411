"""`python -m azent` is the command line."""

import os
import sys

if sys.path[:1] == [os.getcwd()]:
    del sys.path[0]  # anyone may have put modules into the current folder

from azent.cli import main

main()
