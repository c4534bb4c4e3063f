"""Whether what a Trainer leaves in its output_dir is read again: by the script, a command, or a file beside it.

A relative output_dir leads to a folder of the Ray session on the workers, where nobody else looks. That does no harm
where the checkpoints are only for a restart, which Ray's copies serve. It does where the driver, a shell line of the
notebook, `os.system("tar czf out.tgz results")` or the predict.py beside the script takes the model from there.
"""

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from raymigrate.facts.folders.shell_downloads import STARTERS
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.magics import magics_in, shell_cells, written_lines
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.files.contents import read_bytes

SHELL_FILES = (".sh", ".bash", ".slurm", ".sbatch")
SHELL_NAMES = ("Makefile", "makefile", "justfile")
SAVES = ("save_model", "save_pretrained")
MOST_FILES = 50
MOST_BYTES = 200_000


@kept
def is_read_again(module: Module, folder: str) -> bool:
    """Whether anything but the arguments of the Trainer names a folder, or what lies in it.

    Args:
        module: The module of the script.
        folder: The relative folder, as the script writes it.
    """
    name = posixpath.normpath(folder)
    if name == "." or name.startswith(".."):  # the script's own folder, or one above it: too much is in there
        return True
    if sum(isinstance(node, ast.Constant) for node in module.spelling(folder)) > 1:
        return True
    word = re.compile(rf"(?<![\w./-])(?:\./)*{re.escape(name)}(?![\w.-])")
    return (
        any(_names_it(module, node, folder, name, word) for node in module.of_type(ast.Constant))
        or any(word.search(line) for line in _shell_lines(module))
        or any(word.search(text) for text in _shell_files_beside(module))
        or any(_reads_it(text, name) for text in _scripts_beside(module))
    )


def _names_it(module: Module, node: ast.Constant, folder: str, name: str, word: re.Pattern[str]) -> bool:
    """Whether a text is another spelling of the folder, a path below it, or a command with one of these."""
    text = node.value
    if not isinstance(text, str) or text == folder or name not in text or text in _saved(module):
        return False
    path = posixpath.normpath(text)
    if path == name or (path.startswith(f"{name}/") and " " not in text):
        return True
    around = (call for call in module.ancestors(node) if isinstance(call, ast.Call))
    return word.search(text) is not None and any(module.qualified(call.func) in STARTERS for call in around)


@kept
def _saved(module: Module) -> set[object]:
    """The folders in which the script saves a model itself: "results/final", which are absolute without this."""
    calls = [call for call, _ in module.method_calls(*SAVES)]
    paths = [path for call in calls if (path := argument(call, 0, "output_dir", "save_directory")) is not None]
    return {module.constant(path) for path in paths}


@kept
def _shell_lines(module: Module) -> tuple[str, ...]:
    """What the notebook hands to a shell, or to a magic."""
    handed = [text for _, text in written_lines(module, magics_in(module, module.tree))]
    return (*handed, *(line for _, lines in shell_cells(module)[0] for line in lines))


def _shell_files_beside(module: Module) -> Iterator[str]:
    """The lines of shells beside the script, but for those that start it: these give it the folder as an option."""
    for file in _beside(module):
        if file.suffix in SHELL_FILES or file.name in SHELL_NAMES:
            text = re.sub(r"\\\r?\n", " ", _text(file))
            yield "\n".join(part for part in re.split(r"\n|&&|;", text) if Path(module.path).name not in part)


def _scripts_beside(module: Module) -> Iterator[str]:
    yield from (_text(file) for file in _beside(module) if file.suffix in (".py", ".ipynb"))


def _reads_it(text: str, name: str) -> bool:
    """Whether another script loads a model from the folder, or names something in it.

    Only the folder itself is too little: another training may write to one of the same name.
    """
    path = rf"\\?[\"'](?:\./)*{re.escape(name)}"
    return re.search(rf"{path}/[^\"'\n]|from_pretrained\(\s*{path}/?\\?[\"']", text) is not None


def _beside(module: Module) -> list[Path]:
    script = Path(module.path)
    if not module.path or module.project is None:
        return []
    try:
        files = sorted(script.parent.iterdir())
    except OSError:
        return []
    wanted = (*SHELL_FILES, ".py", ".ipynb")
    found = [file for file in files if file.suffix in wanted or file.name in SHELL_NAMES]
    return [file for file in found if file.name != script.name][:MOST_FILES]


def _text(file: Path) -> str:
    try:
        return read_bytes(str(file), at_most=MOST_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""
