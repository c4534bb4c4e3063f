"""Allows `python -m raymigrate`."""

from raymigrate.cli import main

main()
