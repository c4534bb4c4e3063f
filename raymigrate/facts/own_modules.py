# ruff: noqa: PTH113, PTH118, PTH120 - works on strings, as project.py does
"""Which imports lead to files of a project, and which to libraries, also where a script has its own `evaluate.py`."""

import os
import re
import sys

NAMES = frozenset(
    {
        *("ray", "torch", "transformers", "datasets", "accelerate", "evaluate", "tokenizers", "peft", "trl"),
        *("numpy", "pandas", "sklearn", "mlflow", "wandb", "deepspeed"),
    }
)
# Where a project has a folder of such a name, Python still imports the library: it is not part of the project.
LIBRARIES = sys.stdlib_module_names | NAMES
# The first part of a module that a text imports; none for a relative import.
IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+([^\W\d]\w*)?", re.MULTILINE)


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


def may_import_files(text: str) -> bool:
    """Whether a text may import anything but well-known libraries; saves parsing it once more."""
    return any(found.group(1) not in LIBRARIES or "," in _line(found) for found in IMPORTED.finditer(text))


def _line(found: re.Match[str]) -> str:
    """The rest of a line after `import a`; nothing for `from a import b`, where only one module is named."""
    if not found.group().lstrip().startswith("import"):
        return ""
    return found.string[found.end() : found.string.find("\n", found.end())]
