"""Attacks on the command: `python -m tests.attack` runs them all and prints what was expected and what came."""
