"""RM401, RM402, RM408, RM695 and trainers in YAML: settings of which a job makes objects by name; scripts (RM905)."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.gone.names_in_strings import LEGACY, RM695
from raymigrate.codemods.gone.names_in_strings import advice as advice_of
from raymigrate.codemods.gone.names_in_strings import message as message_of
from raymigrate.codemods.torch_trainer.storage import RM401, RM402
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED, STOP, STORAGE_ADVICE
from raymigrate.codemods.tracking.tracking import RM408
from raymigrate.comments.skips import comment_at, skipped_whole
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import RM905
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import settings_files
from raymigrate.facts.projects.settings import TARGET, Key, mappings
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.pins.files import decode
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from raymigrate.run.trainer_settings import refused_by_trainer, where_made

PYTHON = ".py"  # how the keys of scripts end
SCRIPT_ADVICE = "Save it in a file beside this one, run raymigrate on the folder, and put the result back here."
COMMENT = lazy_regex(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
CONFIGURATIONS = {path: name for name in REFUSED for path in config_names(name)}
CALLBACKS, NO_CALLBACKS = "callbacks", (None, "", "null", "~")
OF_RAY, OF_TUNE = "ray.", ("ray.tune.", "ray.air.")
OF_TRAIN, USER = "ray.train.", ".UserCallback"
NO_USER_CALLBACK = "what is not a ray.train.UserCallback"
CALLBACK_ADVICE = (
    "Name a class of your own that is made from ray.train.UserCallback and logs in after_report(). Or make the"
    " RunConfig in Python, and run raymigrate again: there it makes one of the loggers of MLflow and W&B. Without"
    " them nothing is logged there."
)
STORES = {"local_dir": (RM402, STORAGE_ADVICE), "sync_config": (RM402, STORAGE_ADVICE)}
NAME = lazy_regex(rf"(?<![\w./-])(?:{LEGACY.pattern})(?![\w/-])")


def legacy_names(path: str, data: bytes, options: Options, project: Project) -> FileResult:
    """Reports the names of legacy Ray in a YAML file, comments left out; nothing in it is changed.

    Args:
        path: The file.
        data: Its bytes.
        options: What the user asked for.
        project: The other files of the project.
    """
    script = decode(data)
    bare = COMMENT.sub(lambda found: " " * len(found[0]), script.text)
    places = Places(bare)
    made = where_made(script.text, path, project)
    found = []
    for name in NAME.finditer(bare):
        line, column = places.place(name.start())
        advice = advice_of(name[0]) + made.get(line, "")
        found.append(Finding(RM695.code, Kind.MANUAL, message_of(name[0]), advice, line, column, path))
    found += _refused(script.text, path, project)
    found += _scripts(script.text, path, options)
    return FileResult(path, heeded(found, script.text, options), script.text, document=Plain(script))


def _refused(text: str, path: str, project: Project) -> Iterator[Finding]:
    """What the configuration that is named by `_target_` refuses among the keys beside it."""
    for keys in mappings(text) if TARGET in text else ():
        named = next((key.value for key in keys if key.name == TARGET), None)
        yield from refused_by_trainer(keys, named, path)
        configuration = CONFIGURATIONS.get(named or "")
        if configuration is None:
            continue
        for key in keys:
            if key.name == CALLBACKS and configuration == "RunConfig":
                yield from _callbacks(key, path, project)
            elif key.name in REFUSED[configuration]:
                rule, advice = STORES.get(key.name, (RM401, STOP if key.name == "stop" else "Take it out."))
                message = f"{configuration}({key.name}=) raises on Ray >= 2.51."
                yield Finding(rule.code, Kind.MANUAL, message, advice, key.line, key.column, path)


def _callbacks(key: Key, path: str, project: Project) -> Iterator[Finding]:
    """What a list of callbacks holds that is no UserCallback, or may be none."""
    if not key.targets and key.value in NO_CALLBACKS:
        return
    of_tune = [name for name in key.targets if name.startswith(OF_TUNE) and name != REPORT_TO_TUNE]
    others = [n for n in key.targets if not n.startswith(OF_RAY) and not (n and _is_user_callback(n, path, project))]
    named = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in of_tune))
    message = f"RunConfig(callbacks=) raises a ValueError on Ray >= 2.51 for {named or NO_USER_CALLBACK}."
    if of_tune or others or not key.targets:
        yield Finding(RM408.code, Kind.MANUAL, message, CALLBACK_ADVICE, key.line, key.column, path)


def _is_user_callback(name: str, path: str, project: Project) -> bool:
    """Whether a class that a settings file names is one of the project's, and made from ray.train.UserCallback."""
    home = name.rpartition(".")[0]
    try:
        module = Module(f"import {home}\n{name}\n", path, project)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # no name, but a template
    used = module.tree.body[-1]
    found = project.definition(module, used.value) if isinstance(used, ast.Expr) else None
    if found is None or not isinstance(found.node, ast.ClassDef):
        return False
    bases = library_bases(found.module, found.node)
    return any(base == REPORT_TO_TUNE or (base.startswith(OF_TRAIN) and base.endswith(USER)) for base in bases)


def _scripts(text: str, path: str, options: Options) -> Iterator[Finding]:
    """The scripts that stand in the file, as in a ConfigMap of Kubernetes, and would change or have something left."""
    as_they_are = replace(options, todo=False, to_ray=False, to_accelerate=False)
    for keys in mappings(text) if PYTHON in text else ():
        for key in keys:
            if not key.name.endswith(PYTHON) or "\n" not in (key.value or ""):
                continue
            found = convert(key.value or "", options=as_they_are, rewrite=False).findings
            due = [finding for finding in found if finding.kind not in (Kind.NOTE, Kind.ERROR)]
            if due:
                first, more = due[0].message.partition("; now ")[0].rstrip("."), len(due) - 1
                others = f", and {more} more place{'s' if more > 1 else ''}" if more else ""
                message = f"{key.name} stands in this file, and is not converted: {first}{others}."
                yield Finding(RM905.code, Kind.MANUAL, message, SCRIPT_ADVICE, key.line, key.column, path)


def heeded(findings: Iterable[Finding], text: str, options: Options) -> list[Finding]:
    """The findings in a settings file that the user wants, with those marked that a comment there silences."""
    lines, found = text.split("\n"), list[Finding]()
    for finding in findings:
        skip = comment_at(lines, finding.line, finding.code) or skipped_whole(text, finding.code)
        if options.enabled(finding.code):
            found.append(finding if skip is None else finding.skipped(skip.reason))
    return found


def told_beside(
    jobs: Collection[FileResult],
    project: Project,
    options: Options,
    covers: Callable[[str], bool],
    word: str,
    tell: Callable[[str, str], Iterable[Finding]],
) -> Iterator[FileResult]:
    """What there is to say of the settings files and shell scripts beside jobs that hold a word.

    Args:
        jobs: What became of the scripts and of the modules that are part of them.
        project: Their project.
        options: What the user asked for.
        covers: Whether a file is among the paths that were given.
        word: The word.
        tell: Gives the findings in the text of a file, which has a path.
    """
    for folder in dict.fromkeys(project.folder(result.path) for result in jobs):
        for file, data in settings_files(project, folder):
            path = project.name(file)
            if word.encode() in data and covers(path):
                script = decode(data)
                if findings := heeded(tell(script.text, path), script.text, options):
                    yield FileResult(path, findings, script.text, document=Plain(script))
