"""RM701 and RM702 in settings files and shell scripts of a job: keys and options for TrainingArguments that are gone.

Nothing in such a file is changed. It is told of what says that it is for TrainingArguments, `_target_:
transformers.TrainingArguments`; of a mapping whose keys are like theirs only where a script of the job makes them of
something that is not seen (RM706): others may well read a key and give it to the argument of today.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.libraries.settings_keys import GONE, OPTION, gone_key, gone_keys, is_for_training
from raymigrate.codemods.libraries.transformers_arguments import RM706
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.facts.indirect import parsings
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.project import Project
from raymigrate.facts.project_uses import settings_files
from raymigrate.facts.settings import mappings
from raymigrate.pins.files import decode
from raymigrate.run.configuration_names import heeded
from raymigrate.run.outcome import FileResult

ANY = re.compile("|".join(GONE).encode())
MAPPINGS = (".yaml", ".yml", ".json")


def told_in_settings(
    jobs: Collection[FileResult], project: Project, options: Options, covers: Callable[[str], bool]
) -> Iterator[FileResult]:
    """What there is to say of the settings files beside the scripts of legacy jobs.

    Args:
        jobs: What became of the scripts and of the modules that are part of them.
        project: Their project.
        options: What the user asked for.
        covers: Whether a file is among the paths that were given.
    """
    unseen: dict[str, set[str]] = {}  # by folder, what classes of the project take of the same settings
    for result in jobs:
        if any(finding.code == RM706.code and finding.kind is Kind.MANUAL for finding in result.findings):
            module = project.module(result.path)
            made = parsings(module, TRAINING_ARGUMENTS) if module is not None else ()
            own = {field for parsing in made for field in parsing.fields}
            unseen.setdefault(project.folder(result.path), set()).update(own)
    for folder in dict.fromkeys(project.folder(result.path) for result in jobs):
        for file, data in settings_files(project, folder):
            path = project.name(file)
            if ANY.search(data) and covers(path):
                script = decode(data)
                reader = _keys if path.endswith(MAPPINGS) else _options if path.endswith(".sh") else None
                found = reader(script.text, path, unseen.get(folder)) if reader is not None else ()
                if findings := heeded(found, script.text, options):
                    yield FileResult(path, findings, script.text, document=Plain(script))


def _keys(text: str, path: str, own: Collection[str] | None) -> Iterator[Finding]:
    for keys in mappings(text):
        sure = is_for_training(keys)
        if sure or (sure is None and own is not None):
            for key in gone_keys(keys, () if sure else own or ()):
                told = gone_key(key.name, key.value, sure=bool(sure))
                yield Finding(told.rule.code, Kind.MANUAL, told.message, told.advice, key.line, key.column, path)


def _options(text: str, path: str, own: Collection[str] | None) -> Iterator[Finding]:
    if own is None:
        return
    places = Places(text)
    for option in OPTION.finditer(text):
        if option["name"] not in own:
            told = gone_key(option["name"], sure=False)
            place = places.place(option.start())
            yield Finding(told.rule.code, Kind.MANUAL, told.message, told.advice, *place, path)
