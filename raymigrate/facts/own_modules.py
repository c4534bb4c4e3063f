# ruff: noqa: PTH113, PTH118, PTH120 - works on strings, as project.py does
"""Files of a project that have the name of a library, such as a script's own `evaluate.py`."""

import os

NAMES = frozenset(
    {
        *("ray", "torch", "transformers", "datasets", "accelerate", "evaluate", "tokenizers", "peft", "trl"),
        *("numpy", "pandas", "sklearn", "mlflow", "wandb", "deepspeed"),
    }
)


def is_own_module(path: str, name: str) -> bool:
    """Whether a script that imports a name of a library gets a file beside it instead.

    Python looks into the folder of the script that it runs first. A folder of that name without an `__init__.py` comes
    after the library, and a module of a package is imported from the package's folder.

    Args:
        path: The script; empty if it is no file.
        name: What it imports: the name before the first dot.
    """
    if not path or name not in NAMES:
        return False
    folder = os.path.dirname(path)
    beside = os.path.join(folder, name)
    is_there = os.path.isfile(f"{beside}.py") or os.path.isfile(os.path.join(beside, "__init__.py"))
    return is_there and not os.path.isfile(os.path.join(folder, "__init__.py"))
