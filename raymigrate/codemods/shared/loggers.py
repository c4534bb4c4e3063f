"""What makes a logger of Python's logging."""

from raymigrate.facts.values import Source, called_name

MAKES_LOGGER = "logging.getLogger"


def makes_logger(source: Source) -> bool:
    """Whether a value is a logger."""
    return called_name(*source) == MAKES_LOGGER
