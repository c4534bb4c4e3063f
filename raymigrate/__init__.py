"""Rewrites legacy Ray Train scripts for Hugging Face models to current Ray."""

__version__ = "0.1.0"
