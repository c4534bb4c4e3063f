"""Whether a terminal gets colour."""

import os

COLOUR_CHOICES = ("auto", "always", "never")


def use_colour(choice: str) -> bool | None:
    """Whether to print in colour; None leaves it to click, which asks each stream whether it is a terminal.

    The option beats the variables NO_COLOR (https://no-color.org) and FORCE_COLOR (https://force-color.org), and the
    first of these the second.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("FORCE_COLOR") else None
