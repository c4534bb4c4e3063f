"""How what raymigrate needs beside its own packages is installed, as messages say it."""


def install(extra: str) -> str:
    """The command for an extra; raymigrate is on no package index, so its name alone would fetch something else."""
    return f'pip install ".[{extra}]" in the checkout of raymigrate'
