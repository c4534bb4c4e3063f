"""Rewrites legacy Ray Train scripts for Hugging Face models to current Ray."""

try:
    from raymigrate._version import __version__
except ModuleNotFoundError:  # a checkout that was never built: its version is a question for git
    __version__ = "0+unknown"

__all__ = ["__version__"]
