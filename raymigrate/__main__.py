"""Allows `python -m raymigrate`."""

import sys

# Python puts the current folder first: a re.py of the user's would be run in place of the standard library's.
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

from raymigrate.cli import main

main()
