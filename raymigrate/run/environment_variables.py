"""RM758, RM718, RM768, RM775 beside the Python of a job: in settings and shell scripts, and what cells say to a shell.

Nothing is changed there.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.libraries.cache_variables import ADVICE, READ_NO_MORE, RM718, VARIABLES
from raymigrate.codemods.libraries.deepspeed_weights import OF_COMMAND, RM768, SCRIPT, told_of_path, written_paths
from raymigrate.codemods.libraries.hub_commands import COMMAND, RM775, commands, told_of_command
from raymigrate.codemods.libraries.uploaded_models import RM758, VARIABLE, advice, meaning, message
from raymigrate.documents import Document
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import shell_text
from raymigrate.documents.shell_lines import SHELL_CELL, SHELL_LINE, without_comments
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.settings import mappings
from raymigrate.pins.evidence import is_legacy
from raymigrate.run.cell_comments import with_told
from raymigrate.run.configuration_names import told_beside
from raymigrate.run.outcome import FileResult

# `WANDB_LOG_MODEL=TRUE`; `"WANDB_LOG_MODEL": "TRUE"` and `WANDB_LOG_MODEL: TRUE` as a key; `%env WANDB_LOG_MODEL TRUE`.
# What else stands before a word is prose: `echo "WANDB_LOG_MODEL on"`.
GIVEN = lazy_regex(
    rf"(?:(?<![\w$])(?<!\$\{{){VARIABLE}[ \t]*=[ \t]*"
    rf"|(?<![\w$])(?P<quote>[\"']){VARIABLE}(?P=quote)\s*:\s*"
    rf"|(?:^|[{{,]|(?:^|[ \t])-)[ \t]*{VARIABLE}[ \t]*:[ \t]*"
    rf"|(?:%(?:set_)?env|\bsetenv|\bset -\w+|^[ \t]*ENV)[ \t]+{VARIABLE}[ \t]+)[\"']?(?P<value>\w+)",
    re.MULTILINE,
)
NAME, VALUE = "name", "value"  # of a container of Kubernetes
NAMED = lazy_regex(rf"\b{NAME}[\"']?\s*:\s*[\"']?{VARIABLE}\b")
FILES = (".yaml", ".yml", ".json")
CACHE = rf"(?P<name>{'|'.join(VARIABLES)})\b"
CACHES = (  # not `echo TRANSFORMERS_CACHE=$TRANSFORMERS_CACHE`
    lazy_regex(rf"(?<![\w$])(?<!\$\{{){CACHE}[\"']?[ \t]*[:=][ \t]*(?=[^\s=~])(?![\"']?\$\{{?(?P=name))"),
    lazy_regex(rf"\bname[\"']?\s*:\s*[\"']?{CACHE}(?=[\"']?\s*[,\n])"),  # of Kubernetes, with a value: beside it
    lazy_regex(rf"%(?:set_)?env[ \t]+{CACHE}[ \t]+(?=[^\s=])"),
)
DATABRICKS = "# MAGIC %"
MAGIC = lazy_regex(r"\s*%(?:set_)?env\b")
Tell = Callable[[str, str], Iterator[Finding]]


def told_of_variables(
    jobs: Collection[FileResult], project: Project, options: Options, covers: Callable[[str], bool]
) -> Iterator[FileResult]:
    """What there is to say of what settings files and shell scripts set or start beside jobs.

    See `told_beside` for the arguments.
    """
    for word, (_, tell) in TOLD.items():
        yield from told_beside(jobs, project, options, covers, word, tell)


def _told(text: str, path: str) -> Iterator[Finding]:
    bare = without_comments(text)
    places = Places(bare)
    for given in GIVEN.finditer(bare):
        if new := _other_meaning(given["value"]):
            place = places.place(given.start() + given[0].index(VARIABLE))
            yield Finding(RM758.code, Kind.MANUAL, f"{message(given['value'])}.", advice(new), *place, path)
    for keys in mappings(text) if path.endswith(FILES) and NAMED.search(bare) else ():
        value = {key.name: key.value or "" for key in keys if key.name in (NAME, VALUE)}
        if value.get(NAME) == VARIABLE and (new := _other_meaning(value.get(VALUE, ""))):
            place = next((key.line, key.column) for key in keys if key.name == VALUE)
            yield Finding(RM758.code, Kind.MANUAL, f"{message(value[VALUE])}.", advice(new), *place, path)


def _told_of_caches(text: str, path: str) -> Iterator[Finding]:
    """Where the folder for models is given by a variable that nothing reads any more."""
    bare = without_comments(text)
    places = Places(bare)
    for given in (found for pattern in CACHES for found in pattern.finditer(bare)):
        message, place = f"{READ_NO_MORE} {given['name']}.", places.place(given.start("name"))
        yield Finding(RM718.code, Kind.MANUAL, message, ADVICE, *place, path)


def _told_of_weights(text: str, path: str) -> Iterator[Finding]:
    """Where DeepSpeed puts weights together at a path that was a file."""
    bare = without_comments(text)
    places = Places(bare)
    for start, written in written_paths(bare):
        if message := told_of_path(written):
            yield Finding(RM768.code, Kind.MANUAL, message, OF_COMMAND, *places.place(start), path)


def _told_of_commands(text: str, path: str) -> Iterator[Finding]:
    """Where the command of the Hub is started by the name that it no longer has."""
    bare = without_comments(text)
    places = Places(bare)
    for word, start in commands(bare):
        yield Finding(RM775.code, Kind.MANUAL, *told_of_command(word), *places.place(start), path)


def _other_meaning(value: str) -> str:
    """What has to be written in place of a value; empty where it means what it did."""
    new = meaning(value)
    return "" if new == value else new


# What is told where a word stands, with its rule.
TOLD = {
    VARIABLE: (RM758, _told),
    "TRANSFORMERS_CACHE": (RM718, _told_of_caches),
    "PYTORCH_PRETRAINED_BERT_CACHE": (RM718, _told_of_caches),
    SCRIPT: (RM768, _told_of_weights),
    COMMAND: (RM775, _told_of_commands),
}


def with_variables(result: FileResult, document: Document, path: str, options: Options) -> FileResult:
    """The result of a document that says what its shell lines and magics set or start.

    Args:
        result: What became of the document.
        document: The document as it was opened.
        path: Its name.
        options: What the user asked for.
    """
    shell = "\n".join(_shell(document))
    tells = {tell: None for word, (rule, tell) in TOLD.items() if word in shell and options.enabled(rule.code)}
    if not tells or not is_legacy([*result.findings, *document.remarks]):
        return result
    return with_told(result, document, lambda held: _of_cells(held, path, tells))


def _of_cells(document: Document, path: str, tells: Iterable[Tell]) -> Iterator[Finding]:
    for cell in document.cells_with_commands:
        for number, line in enumerate(_shell_of(document, cell), 1):
            for told in (told for tell in tells for told in tell(line, path)):
                yield replace(told, line=number, cell=cell)


def _shell(document: Document) -> Iterator[str]:
    for cell in document.cells_with_commands:
        yield from _shell_of(document, cell)


def _shell_of(document: Document, cell: int) -> list[str]:
    """The lines of a cell that are for a shell, or that set a variable; those of Python are empty."""
    lines = document.lines_of(cell)
    if document.shell_rows:
        return [line if row in document.shell_rows else "" for row, line in enumerate(lines)]
    if any(line.startswith(DATABRICKS) for line in lines):
        return list(_shell_of_source(lines))
    texts = shell_text(lines).split("\n")
    if texts and SHELL_CELL.match(texts[0]) and texts[0].lstrip().startswith("%%"):
        return texts
    return [line if SHELL_LINE.match(line) or MAGIC.match(line) else "" for line in texts]


def _shell_of_source(lines: list[str]) -> Iterator[str]:
    """The same of a Databricks source: what its magics say, a cell of `%sh` as a whole."""
    is_shell = False
    for line, text in zip(lines, shell_text(lines).split("\n"), strict=True):
        is_shell = line.startswith("# MAGIC") and (is_shell or SHELL_CELL.match(text) is not None)
        yield text if is_shell or (line != text and (SHELL_LINE.match(text) or MAGIC.match(text))) else ""
