# ruff: noqa: PTH100, PTH113, PTH118, PTH119, PTH120, PTH208 - works on strings, as discovery.py does
"""RM701 and RM702 in settings files, shell scripts and pages of a job: keys and options that are gone.

Nothing in such a file is changed. Of a page, such as a README, only the commands are read that start a script of the
job. It is told of what says that it is for TrainingArguments, `_target_: transformers.TrainingArguments`; of a mapping
whose keys are like theirs only where a script of the job makes them of something that is not seen (RM706), or of a
file: others may well read a key and give it to the argument of today. Of a file for a parser all of whose classes are
seen each key is told that none of them takes, also of one that a cell of a notebook writes (`%%writefile args.yaml`).
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.libraries.indirect_arguments import OF_FILES
from raymigrate.codemods.libraries.settings_keys import (
    GONE,
    OPTION,
    FileParser,
    gone_key,
    gone_keys,
    is_for_training,
    refused_keys,
)
from raymigrate.codemods.libraries.unseen_keys import RM706
from raymigrate.documents import NOTEBOOK, Plain, UndecodableError
from raymigrate.documents.cell_files import SETTINGS
from raymigrate.documents.lines import Places
from raymigrate.documents.notebook import Notebook
from raymigrate.facts.hugging_face.argument_objects import parsed_for_trainers
from raymigrate.facts.projects.indirect import Parsing, parsings
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import files_with, settings_files
from raymigrate.facts.projects.settings import mappings
from raymigrate.facts.projects.yaml_files import MAX_CHARACTERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import unpacked_dicts
from raymigrate.facts.values.carried import carried
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import PAGES
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS
from raymigrate.pins.files import decode
from raymigrate.run.configuration_names import heeded
from raymigrate.run.outcome import FileResult

ANY = lazy_regex("|".join(GONE).encode())
HF = "Parser"  # in the names of parsers that make arguments of classes
OF_CONFIG = "parse_args_and_config"  # of trl's
LOADS = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "json.loads", "omegaconf.OmegaConf.load")
MAGICS = (b"%%writefile", b"%%file")
WORDS = ("TrainingArguments", HF)
REST = r"(?:\\\r?\n|[^\n|&;`])*"  # of a command: to the end of its line, or of the lines that it goes on in


def told_in_settings(
    jobs: Collection[FileResult], project: Project, options: Options, covers: Callable[[str], bool]
) -> Iterator[FileResult]:
    """What there is to say of the settings files beside the scripts of jobs.

    Args:
        jobs: What became of the scripts and of the modules that are part of them.
        project: Their project.
        options: What the user asked for.
        covers: Whether a file is among the paths that were given.
    """
    unseen: dict[str, set[str]] = {}  # by folder, what classes of the project take of the same settings
    in_files: dict[str, set[str]] = {}  # the same, where scripts show that the settings are in files
    started: dict[str, set[str]] = {}  # by folder, the scripts that get such settings
    parsers: dict[str, dict[FileParser, None]] = {}  # by folder, those that make objects of files
    for result in jobs:
        modules = list(_modules(result, project))
        made = [
            each for module in modules for each in parsings(module, TRAINING_ARGUMENTS, parsed_for_trainers(module))
        ]
        own = {field for parsing in made for field in parsing.fields}
        if _parse_files(made) or any(map(_unpacks_file, modules)):
            in_files.setdefault(project.folder(result.path), set()).update(own)
        parsers.setdefault(project.folder(result.path), {}).update(dict.fromkeys(_file_parsers(made, result.path)))
        if any(finding.code == RM706.code and finding.kind is Kind.MANUAL for finding in result.findings):
            unseen.setdefault(project.folder(result.path), set()).update(own)
            started.setdefault(project.folder(result.path), set()).add(result.path)
    for folder in dict.fromkeys(project.folder(result.path) for result in jobs):
        scripts, read_by = started.get(folder, set()), list(parsers.get(folder, {}))
        for file, data in (*settings_files(project, folder), *_pages(folder, scripts)):
            path = project.name(file)
            if (read_by or ANY.search(data)) and covers(path):
                script = decode(data)
                found = list(_told(script.text, path, unseen.get(folder), in_files.get(folder), scripts))
                if path.endswith(SETTINGS):
                    found += _refused(script.text, path, read_by, {(told.line, told.column) for told in found})
                if findings := heeded(found, script.text, options):
                    yield FileResult(path, findings, script.text, document=Plain(script))
        for file, data in files_with(project, folder, *MAGICS) if read_by else ():
            path = project.name(file)
            if path.endswith(NOTEBOOK) and covers(path):
                yield from _told_in_cells(data, path, read_by, options)


def _modules(result: FileResult, project: Project) -> Iterator[Module]:
    """A script that may parse arguments, and those that cells of a notebook write."""
    texts = [(script.name, script.text) for script in result.document.scripts] if result.document is not None else []
    if any(word in result.before for word in WORDS) and (module := project.module(result.path)) is not None:
        yield module
    for name, text in texts:
        if any(word in text for word in WORDS):
            try:
                yield Module(text, name)
            except SyntaxError:
                continue


def _file_parsers(made: Iterable[Parsing], path: str) -> Iterator[FileParser]:
    """The parsers of a script that make objects of files, as far as all of their classes are seen."""
    for parsing in made:
        if parsing.taken is not None and parsing.method in (*OF_FILES, OF_CONFIG, "parse_dict"):
            yield FileParser(os.path.basename(path), parsing.taken, parsing.is_lenient)


def _refused(text: str, path: str, parsers: list[FileParser], told: set[tuple[int, int]]) -> Iterator[Finding]:
    """What there is to say of the keys at the top of a file for one of some parsers.

    Args:
        text: What it holds.
        told: The lines and columns of keys that something was said of.
    """
    keys = next(mappings(text), []) if parsers else []
    for key, of in refused_keys(keys, parsers):
        if (key.line, key.column) not in told:
            yield Finding(of.rule.code, Kind.MANUAL, of.message, of.advice, key.line, key.column, path)


def _told_in_cells(data: bytes, path: str, parsers: list[FileParser], options: Options) -> Iterator[FileResult]:
    """What there is to say of the settings files that the cells of a notebook write."""
    try:
        notebook = Notebook(data)
    except UndecodableError:
        return
    found = []
    for file in notebook.settings:
        for finding in heeded(_refused(file.text, path, parsers, set()), file.text, options):
            cell, line, column = file.place(finding.line, finding.column)
            found.append(replace(finding, cell=cell, line=line, column=column))
    if found:
        notebook.remarks = found
        yield FileResult(path, [], notebook.text, document=notebook)


def _parse_files(made: Iterable[Parsing]) -> bool:
    """Whether a parser of a script reads a file: `parse_yaml_file(path)`, the `--config` of trl's parser."""
    return any(parsing.method in (*OF_FILES, OF_CONFIG) for parsing in made)


def _unpacks_file(module: Module) -> bool:
    """Whether a script loads settings from a file, and makes arguments of a dict that is not seen as a whole."""
    unpacked = (given for call in module.calls(*TRAINING_ARGUMENTS) for given in unpacked_dicts(call))
    return any(module.calls(*LOADS)) and any(not carried(module, given).whole for given in unpacked)


def _pages(folder: str, scripts: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The pages beside some scripts, and at the top of their project, with what is in them."""
    homes = dict.fromkeys(
        [folder, *(os.path.dirname(os.path.abspath(script)) for script in scripts)] if scripts else []
    )
    for home in homes:
        for name in sorted(os.listdir(home)):
            path = os.path.join(home, name)
            if name.lower().endswith(PAGES) and os.path.isfile(path):
                try:
                    yield path, read_bytes(path, at_most=MAX_CHARACTERS)
                except OSError:
                    continue


def _told(
    text: str, path: str, own: Collection[str] | None, in_files: Collection[str] | None, scripts: Collection[str]
) -> Iterator[Finding]:
    """What there is to say of a file.

    Args:
        text: What it holds.
        own: What classes of the project take; None where none of its scripts makes arguments of unseen keys.
        in_files: The same; None where none of them makes arguments of a file.
        scripts: The scripts that get such settings.
    """
    if path.endswith(SETTINGS):
        known = own is not None or in_files is not None
        yield from _keys(text, path, {*(own or ()), *(in_files or ())} if known else None)
    elif own is not None and path.endswith(".sh"):
        yield from _options(text, path, own)
    elif own is not None and path.lower().endswith(PAGES):
        for start, end in _commands(text, scripts):
            yield from _options(text, path, own, start, end)


def _commands(text: str, scripts: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where a text has the arguments of commands that start one of some scripts, by its file or its module."""
    stems = "|".join(sorted({re.escape(os.path.basename(script).removesuffix(".py")) for script in scripts}))
    started = re.compile(rf"(?:(?<![\w.-])(?:{stems})\.py|-m\s+(?:\w+\.)*(?:{stems}))(?=\s)(?P<own>{REST})")
    yield from (match.span("own") for match in started.finditer(text))


def _keys(text: str, path: str, own: Collection[str] | None) -> Iterator[Finding]:
    for keys in mappings(text):
        sure = is_for_training(keys)
        if sure or (sure is None and own is not None):
            for key in gone_keys(keys, () if sure else own or ()):
                told = gone_key(key.name, key.value, sure=bool(sure))
                yield Finding(told.rule.code, Kind.MANUAL, told.message, told.advice, key.line, key.column, path)


def _options(text: str, path: str, own: Collection[str], *span: int) -> Iterator[Finding]:
    places = Places(text)
    for option in OPTION.finditer(text, *span):
        if option["name"] not in own:
            told = gone_key(option["name"], sure=False)
            place = places.place(option.start())
            yield Finding(told.rule.code, Kind.MANUAL, told.message, told.advice, *place, path)
