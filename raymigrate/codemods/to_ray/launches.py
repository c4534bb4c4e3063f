"""How a plain script was started: lines of its project, or of itself, that launch it, and accelerate's file there."""

import ast
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_ray.launch_line import OPTION_OF_PYTHON, Launch
from raymigrate.codemods.to_ray.other_scripts import other_scripts
from raymigrate.documents.command_lists import shell_of_lists, shell_of_make
from raymigrate.documents.python_commands import shell_of_python
from raymigrate.documents.shell_lines import is_databricks_source, shell_of_notebook, shell_of_source
from raymigrate.facts.accelerate.accelerate_config import read_file
from raymigrate.facts.projects.files import place_of
from raymigrate.facts.projects.searched import Searched
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.optional_imports import guarded_imports
from raymigrate.facts.syntax.packages import package_root
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import SKIPPED
from raymigrate.files.script import UndecodableError

DEFAULT_FILE = "default_config.yaml"
SCRIPTS = (".sh", ".bash", ".md", ".rst", ".slurm", ".sbatch", ".yml", ".yaml")
MAKE = ("Makefile", "makefile", "GNUmakefile")
NAMES = (*MAKE, "justfile")
DOCKER = lazy_regex(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:[-_.].*)?|.*\.dockerfile")
NOTEBOOK, PYTHON = ".ipynb", ".py"
MOST_FILES = 200
MOST_FOLDERS = 50  # of the folders in one
DEEPEST = 2  # folders below one that leads to the script
MOST_BYTES = 200_000
MOST_BYTES_OF_NOTEBOOK = 5_000_000  # which holds what its cells show
# The variables before a command: `ACCELERATE_USE_FSDP=1 torchrun train.py`.
VARIABLES = r"""(?P<variables>(?:(?<![\w$-])[A-Za-z_]\w*=(?:"[^"\n]*"|'[^'\n]*'|[^\s;|&`"']*)[ \t]+)*)"""
VARIABLE = lazy_regex(r"""([A-Za-z_]\w*)=("[^"\n]*"|'[^'\n]*'|\S*)""")
# accelerate has three commands that launch (entry_points.txt of 1.15; commands/launch.py).
MODULES = (
    r"(?:torch\.distributed\.(?:launch|run)"
    r"|accelerate\.commands\.(?:launch|accelerate_cli\s+launch)|accelerate\s+launch)"
)
RUN_MODULE = rf"(?:{OPTION_OF_PYTHON})*\s+-m\s+{MODULES}"  # python -u -m ...
LAUNCH = lazy_regex(
    VARIABLES + rf"(?P<launcher>(?<![-\w])accelerate(?:\s+|-)launch|torchrun|python[\d.]*{RUN_MODULE}"
    r"|(?<![-\w])deepspeed)"
    r"(?=\s)(?P<rest>[^\n|&;`]*)"
)
PLAIN = lazy_regex(VARIABLES + rf"(?<![-\w/.])(?P<launcher>python[\d.]*)(?=\s)(?!{RUN_MODULE}\b)(?P<rest>[^\n|&;`]*)")
RUNS_MODULE = lazy_regex(rf"(?:{OPTION_OF_PYTHON})*\s+-m\s")
FILES_KEPT = 4096
# What other launchers call the processes of a machine (torch/distributed/run.py; deepspeed's launcher).
PROCESSES = ("nproc_per_node", "num_gpus")
# Flags of accelerate launch that take no value (accelerate/commands/launch.py, 1.15).
SWITCHES = frozenset(
    {
        *("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "use_parallelism_config", "quiet"),
        *("dynamo_use_fullgraph", "dynamo_use_dynamic", "dynamo_use_regional_compilation", "enable_cpu_affinity"),
        *("same_network", "module", "m", "no_python", "debug", "downcast_bf16", "tpu_cluster", "tpu_use_sudo", "q"),
        *("standalone", "use_env"),  # of torchrun
    }
)


def launches_of(script: str, module: Module | None = None) -> list[Launch]:
    """The lines that launch a script: its own, and those in its folder, in the folders above it in its project, and a
    little way below those.

    Args:
        script: The script.
        module: What is converted; it or its project keeps what was found. None: it is looked for now.
    """
    return [launch for launch in _starts_of(script, module) if not launch.is_plain]


def plain_starts_of(script: str, module: Module | None = None) -> list[Launch]:
    """The lines there that start a script with python."""
    return [launch for launch in _starts_of(script, module) if launch.is_plain]


def start_without_launcher(script: str, module: Module) -> str:
    """What starts a script with python: as a line of the project does, or as a module of its package where it is one.

    Args:
        script: Its path; empty where it has none.
        module: The script.
    """
    path = Path(script)
    if not script:
        return "python"
    if lines := plain_starts_of(script, module):
        return f"`{lines[0].command(path.name)}`"
    tried = set[ast.stmt](guarded_imports(module))
    levels = [line.level for line in module.imports if isinstance(line, ast.ImportFrom) and line not in tried]
    if not any(levels):
        return f"`python {path.name}`"
    folder = place_of(script).parent
    above = Path(os.path.relpath(folder, package_root(str(folder)))).parts
    names = above or folder.parts[-max(levels) :]  # a package may have no __init__.py
    return f"`python -m {'.'.join([*names, path.stem]).removesuffix('.__main__')}`"


def _starts_of(script: str, module: Module | None) -> tuple[Launch, ...]:
    """The lines that start a script."""
    if not script:
        return ()
    return _found_starts(script, None) if module is None else _known_starts(module, script)


@kept
def _known_starts(module: Module, script: str) -> tuple[Launch, ...]:
    return _found_starts(script, module)


def _found_starts(script: str, module: Module | None) -> tuple[Launch, ...]:
    path, folders = place_of(script), _folders(Path(script))
    others = (launch for launch in _lines_around(path, module) if launch.file.absolute() != path)
    found = [launch for launch in (*_launches_of_file(script, is_own=True), *others) if launch.starts(path, folders)]
    return tuple(sorted(found, key=lambda launch: (launch.file, launch.cell, launch.line)))


def _lines_around(script: Path, module: Module | None) -> list[Launch]:
    """All lines of the project that start something, whichever script it is."""
    if not script.exists():  # a cell of a notebook writes it
        return [launch for file in notebooks_writing(script) for launch in _launches_of_file(str(file))]
    searched = _searched(module) if module is not None else Searched()
    below = (folder for above in _folders(script) for folder in _with_folders_below(searched, str(above), DEEPEST))
    return [launch for folder in dict.fromkeys(below) for launch in _launches_in(searched, folder)]


@kept
def _searched(module: Module) -> Searched:
    """What was found in the folders of the project, or around a module that has none."""
    return module.project.searched if module.project is not None else Searched()


def may_read_file(script: str, launches: list[Launch], module: Module | None = None) -> bool:
    """Whether a file of accelerate may have been in force for a script: only `accelerate launch` reads one.

    It does not start notebooks, and not what the project's lines start with python or with another launcher alone.

    Args:
        script: The script.
        launches: The lines that launch it.
        module: What is converted.
    """
    if launches:
        return any(launch.may_read_file for launch in launches)
    is_cells = script.endswith(NOTEBOOK) or (script != "" and is_databricks(Path(script)))
    return not is_cells and not plain_starts_of(script, module)


def notebooks_writing(script: Path) -> Iterator[Path]:
    """The notebooks which have a cell that writes a script that is not there: `%%writefile scripts/train.py`.

    They are beside the script, or in one of the next folders above it.
    """
    for above, folder in enumerate(script.parents[: DEEPEST + 1]):
        name = "/".join(script.parts[-above - 1 :])
        writes = re.compile(rf"%%(?:write)?file\b[^\"\n]*(?<![\w-]){re.escape(name)}")
        for file in sorted(folder.glob(f"*{NOTEBOOK}"))[:MOST_FILES]:
            try:
                text = read_bytes(str(file), at_most=MOST_BYTES_OF_NOTEBOOK).decode(errors="replace")
            except OSError:
                continue
            if writes.search(text):
                yield file


def file_of(script: str, launches: list[Launch], module: Module | None = None) -> Path | None:
    """The file of accelerate that a script was launched with.

    It is the one that lines name, and none where they name several; else a default_config.yaml of the project; else the
    only one of the script's folder, unless it is one that lines name for other scripts, or no line starts this one and
    it lies beside others too.

    Args:
        script: The script.
        launches: The lines that launch it.
        module: What is converted.
    """
    if named := named_files(script, launches):
        return named[0] if len(named) == 1 and named[0].is_file() else None
    folders = _folders(Path(script)) if script else []
    default = next((folder / DEFAULT_FILE for folder in folders if _is_accelerates(folder / DEFAULT_FILE)), None)
    found = default or file_beside(script)
    if found is None or is_named_for_others(script, found, module):
        return None
    project = module.project if module is not None else None
    return found if default or launches or not other_scripts(Path(script), project) else None


def named_files(script: str, launches: list[Launch]) -> list[Path]:
    """The files of accelerate that lines name, each once; one that is not found as it is written.

    Args:
        script: The script.
        launches: The lines that launch it.
    """
    found: dict[str, Path] = {}
    for launch in launches:
        if name := launch.flags.get("config_file"):
            places = (base / name for base in (launch.file.parent, *(_folders(Path(script)) if script else [])))
            file = next((place for place in places if place.is_file()), Path(name))
            found.setdefault(os.path.normpath(file.absolute()), file)
    return [*found.values()]


def is_named_for_others(script: str, file: Path, module: Module | None) -> bool:
    """Whether lines of the project name a file of accelerate, none of which starts this script."""
    return any(launch.names(file.absolute()) for launch in _lines_around(place_of(script), module))


def file_beside(script: str) -> Path | None:
    """The only file of accelerate in the folder of a script."""
    beside = [path for path in _settings_in(Path(script).parent) if _is_accelerates(path)] if script else []
    return beside[0] if len(beside) == 1 else None


def _settings_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))[:MOST_FILES]
    except OSError:
        return []


def _is_accelerates(path: Path) -> bool:
    try:
        return path.is_file() and "distributed_type" in read_file(path)
    except (OSError, ValueError):
        return False


def _folders(script: Path) -> list[Path]:
    """The script's folder, and those above it: up to the root of the project, else to the one that has its package."""
    folders = [*place_of(script).parents]
    for above, folder in enumerate(folders):
        if any((folder / mark).exists() for mark in (".git", "pyproject.toml", "setup.py", "setup.cfg")):
            return folders[: above + 1]
    return folders[: 1 + next(n for n, folder in enumerate(folders) if not (folder / "__init__.py").exists())]


@kept
def _names_in(_: Searched, folder: str) -> tuple[list[str], list[str]]:
    """The names of the folders in a folder, and of all that is in it; links lead nowhere."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        return [], []
    return [name for name, is_folder in found if is_folder], [name for name, _ in found]


@kept
def _with_folders_below(searched: Searched, folder: str, depth: int) -> tuple[str, ...]:
    """A folder, and those in it that may hold source of the project, down to a depth."""
    names = _names_in(searched, folder)[0] if depth else ()
    inside = [name for name in names if name not in SKIPPED and not name.startswith(".")][:MOST_FOLDERS]
    paths = [os.path.join(folder, name) for name in inside]  # noqa: PTH118 - to make a path of each is slow
    return (folder, *chain.from_iterable(_with_folders_below(searched, path, depth - 1) for path in paths))


@kept
def _launches_in(searched: Searched, folder: str) -> tuple[Launch, ...]:
    """The launch lines in the files of a folder: those of shells, of notebooks, and of what Python hands a shell."""
    names = _names_in(searched, folder)[1][: 10 * MOST_FILES]
    wanted = [name for name in names if name in NAMES or name.endswith((*SCRIPTS, NOTEBOOK)) or DOCKER.fullmatch(name)]
    wanted = wanted[:MOST_FILES]
    wanted += [name for name in names if name.endswith(PYTHON)][:MOST_FILES]
    files = [os.path.join(folder, name) for name in wanted]  # noqa: PTH118 - likewise
    return tuple(launch for file in files for launch in _launches_of_file(file))


def is_databricks(file: Path) -> bool:
    """Whether a file is the source of a Databricks notebook."""
    try:
        return is_databricks_source(read_bytes(str(file), at_most=MOST_BYTES))
    except OSError:
        return False


def _launches_of_file(file: str, *, is_own: bool = False) -> tuple[Launch, ...]:
    try:
        state = os.stat(file)  # noqa: PTH116 - as above
    except OSError:
        return ()
    return _launches_in_state(file, is_own, state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(FILES_KEPT)
def _launches_in_state(path: str, is_own: bool, *_: int) -> tuple[Launch, ...]:
    """The launch lines of a file as it is at the moment: after a change it is asked for with other numbers.

    Without a project, as where a text is converted alone, each conversion asks for all files around the script.
    """
    file = Path(path)
    return tuple(_launches_in_texts(file, _texts_of(file, is_own=is_own)))


def _launches_in_texts(file: Path, texts: Iterable[tuple[int, str]]) -> Iterator[Launch]:
    for cell, text in texts:
        joined = re.sub(r"\\\r?\n", lambda match: " " * len(match.group()), text)  # one command over several lines
        for match in (*LAUNCH.finditer(joined), *PLAIN.finditer(joined)):
            is_plain = match.re.pattern == PLAIN.pattern
            if is_plain and joined[joined.rfind("\n", 0, match.start()) + 1 :].lstrip().startswith("#"):
                continue
            launcher, words = " ".join(match["launcher"].split()), _words(match["rest"])
            flags = _flags(words) if "accelerate" in launcher else _processes(_flags(words))
            flags = ({"m": ""} if RUNS_MODULE.match(match["rest"]) else {}) if is_plain else flags
            line = text.count("\n", 0, joined.rfind("\n", 0, match.start()) + 1) + 1  # the first of a command
            variables = dict(VARIABLE.findall(match["variables"]))
            yield Launch(file, line, " ".join([launcher, *words]), flags, cell, is_plain, variables)


def _texts_of(file: Path, *, is_own: bool) -> Iterator[tuple[int, str]]:
    """What a file holds that may be commands, with the number of the cell; 0 for one without cells.

    A script may say in its own text how it is started; in other files of Python only what is handed to a shell counts.
    """
    is_notebook = file.suffix == NOTEBOOK
    try:
        if not file.is_file():
            return
        data = read_bytes(str(file), at_most=MOST_BYTES_OF_NOTEBOOK if is_notebook else MOST_BYTES)
        text = data.decode(errors="replace")
        if is_notebook:
            yield from shell_of_notebook(data) if LAUNCH.search(text) or PLAIN.search(text) else ()
        elif is_databricks_source(data):
            yield 0, shell_of_source(text)
        elif file.suffix == PYTHON and not is_own:
            yield 0, shell_of_python(text)
        elif file.name in MAKE:
            yield 0, shell_of_make(text)
        else:
            is_settings = file.suffix in (".yml", ".yaml") or DOCKER.fullmatch(file.name) is not None
            yield 0, shell_of_lists(text) if is_settings else text
    except (OSError, ValueError, UndecodableError):
        return


def _words(text: str) -> list[str]:
    text = re.sub(r"\\\s*$", "", text)  # goes on behind the end of the file
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quotation mark around the whole command
        return [re.sub("[\"']", "", word) for word in text.split()]


def _flags(words: list[str]) -> dict[str, str]:
    """The flags before the script's name."""
    flags: dict[str, str] = {}
    waiting = list(words)
    while waiting and waiting[0].startswith("-"):
        name, separator, value = waiting.pop(0).lstrip("-").partition("=")
        name = name.replace("-", "_")
        if not separator and name not in SWITCHES and waiting:
            value = waiting.pop(0)
        flags[name] = value
    return flags


def _processes(flags: dict[str, str]) -> dict[str, str]:
    """What the flags of another launcher are to accelerate's: the number of processes, where it is written out."""
    given = next((flags[name] for name in PROCESSES if name in flags), "")
    machines = flags.get("nnodes", "1")
    if not given.isdigit() or not machines.isdigit():
        return {}
    return {"num_processes": str(int(given) * int(machines))}
