"""Damaged and made-up input for the engine: `python -m tests.fuzz --seconds 600`."""
