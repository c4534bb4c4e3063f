"""What makes a logger of Python's logging."""

import ast

from raymigrate.facts.values import Source

MAKES_LOGGER = "logging.getLogger"


def makes_logger(source: Source) -> bool:
    """Whether a value is a logger."""
    return isinstance(source.node, ast.Call) and source.module.qualified(source.node.func) == MAKES_LOGGER
