# ruff: noqa: PTH100, PTH110, PTH113, PTH118, PTH120, PTH123 - works on strings, as project.py does
"""Which imports lead to files of a project, and which to libraries, also where a script has its own `evaluate.py`."""

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.packages import module_file, package_root, upwards
from raymigrate.knowledge.libraries import look_up

NAMES = frozenset(
    {
        *("ray", "torch", "transformers", "datasets", "accelerate", "evaluate", "tokenizers", "peft", "trl"),
        *("numpy", "pandas", "sklearn", "mlflow", "wandb", "deepspeed"),
    }
)
# A folder with one of these is a project: imports are looked for up to it.
MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
# Where a project has a folder of such a name, Python still imports the library: it is not part of the project.
LIBRARIES = sys.stdlib_module_names | NAMES
TAKING = (ast.Import, ast.ImportFrom, ast.Attribute)
# The first part of a module that a text imports; none for a relative import.
IMPORTED = lazy_regex(r"^[ \t]*(?:from|import)[ \t]+([^\W\d]\w*)?", re.MULTILINE)


def is_own_module(path: str, name: str) -> bool:
    """Whether a script that imports a name of a library gets a file beside it instead.

    Python looks into the folder of the script that it runs first. A folder of that name without an `__init__.py` comes
    after the library, and a module of a package is imported from the package's folder.

    Args:
        path: The script; empty if it is not a file.
        name: What it imports: the name before the first dot.
    """
    if not path or name not in NAMES:
        return False
    folder = os.path.dirname(path)
    beside = os.path.join(folder, name)
    is_there = os.path.isfile(f"{beside}.py") or os.path.isfile(os.path.join(beside, "__init__.py"))
    return is_there and not os.path.isfile(os.path.join(folder, "__init__.py"))


def own_names(path: str, tree: ast.Module) -> Callable[[str], bool]:
    """Tells of a name that a script imports, up to its first dot, whether its project has that.

    It has, if a file is beside the script, or if the script takes from the name what the library of it lacks, and a
    file of the project has. The script may be in a package, or below the folder that the module is in and that it is
    started from. Which of the two Python finds, that does not say; what the script asks of it does.

    Args:
        path: The script; empty if it is not a file.
        tree: The script.
    """
    homes: list[str] = []  # the same for all names, as are the nodes
    nodes: list[ast.AST] = []

    def is_own(name: str) -> bool:
        if is_own_module(path, name):
            return True
        if not path or name not in NAMES - {"ray"}:  # a checkout of old Ray is to move on itself
            return False
        homes.extend(() if homes else _homes(path))
        having = [home for home in homes if module_file(os.path.join(home, name))]
        if not having:
            return False
        nodes.extend(() if nodes else (node for node in ast.walk(tree) if isinstance(node, TAKING)))
        asked = [parts for parts in _asked(nodes, name) if look_up(".".join([name, *parts])).gone]
        return any(_has(os.path.join(home, name), parts) for home in having for parts in asked)

    return is_own


def _homes(path: str) -> Iterator[str]:
    """The folders of a project from which a file may import: those around it, and the src/ in each."""
    here = os.path.dirname(os.path.abspath(path))
    marked = (f for f in upwards(here) if any(os.path.exists(os.path.join(f, marker)) for marker in MARKERS))
    top = next(marked, None) or package_root(here)
    for folder in upwards(here):
        yield from (folder, os.path.join(folder, "src"))
        if folder == top:
            return


def _asked(nodes: Sequence[ast.AST], name: str) -> Iterator[list[str]]:
    """What a script takes from a module: `["utils", "Rows"]` of `from datasets.utils import Rows`."""
    imported = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    local = {name, *(alias.asname for alias in imported if alias.name == name)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == name:
            below = (node.module or "").split(".")[1:]
            yield from ([*below, alias.name] for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in local:
            yield [node.attr]
    yield from (alias.name.split(".")[1:] for alias in imported if alias.name.startswith(f"{name}."))


def _has(place: str, parts: list[str]) -> bool:
    """Whether a module of the project has a module of its own or a definition of this name."""
    for number, part in enumerate(parts):
        below = os.path.join(place, part)
        if module_file(below) is None:
            file = module_file(place)
            return file is not None and number == len(parts) - 1 and _defines(file, part)
        place = below
    return bool(parts)


def _defines(file: str, name: str) -> bool:
    """Whether a file binds a name at its top, brings it in, or lists it for a lazy import."""
    bound = rf"(?:(?:async )?def|class) {name}\b|{name}\s*[:=]|[^#\n]*\bimport\b[^#\n]*\b{name}\b|\s+{name},?\s*$"
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            return re.search(rf"^(?:{bound})|^[^#\n]*[\"']{name}[\"']", source.read(), re.MULTILINE) is not None
    except OSError:
        return False


def may_import_files(text: str) -> bool:
    """Whether a text may import anything but well-known libraries; saves parsing it once more."""
    return any(found.group(1) not in LIBRARIES or "," in _line(found) for found in IMPORTED.finditer(text))


def _line(found: re.Match[str]) -> str:
    """The rest of a line after `import a`; nothing for `from a import b`, where only one module is named."""
    if not found.group().lstrip().startswith("import"):
        return ""
    return found.string[found.end() : found.string.find("\n", found.end())]
