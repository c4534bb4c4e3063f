"""YAML of which hydra makes a RunConfig for a Tuner: ray.tune.RunConfig takes what ray.train.RunConfig refuses."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.codemods.gone.names_in_strings import message as message_of
from raymigrate.codemods.torch_trainer.storage import REFUSED_BY_SYNC_CONFIG, RM401, RM402
from raymigrate.codemods.torch_trainer.train_v2_arguments import STORAGE_ADVICE
from raymigrate.codemods.tracking.tracking import RM408
from raymigrate.codemods.tuner.tuner_config import ONLY_TUNES, RM411
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import files_with, settings_files
from raymigrate.facts.projects.settings import TARGET, mappings
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TUNERS, config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_argument, last_name
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.files.discovery import CONFIGURATION
from raymigrate.knowledge.legacy import SYNC_CONFIGS, TORCH_TRAINERS, TRAINERS
from raymigrate.run.configuration_names import heeded
from raymigrate.run.outcome import FileResult

OF_TUNE = ("RunConfig", "CheckpointConfig", "FailureConfig")
NAMES = {path: name for name in OF_TUNE for path in config_names(name)}
ARGUMENT = "run_config"
TRAINER = lazy_regex(rb"_target_[\"']?\s*:\s*[\"']?[\w.]*Trainer\b")


def retold(results: Mapping[str, FileResult], project: Project, options: Options) -> Iterator[FileResult]:
    """What there is to say instead of settings files whose RunConfigs are for Tuners alone.

    Args:
        results: What became of the files, by path.
        project: Their project.
        options: What the user asked for.
    """
    for path, result in results.items():
        if path.endswith(CONFIGURATION) and TARGET in result.before and _targets(result.before) & NAMES.keys():
            if _is_for_tuners(project, project.folder(path)):
                yield _retold(result, options)


def _targets(text: str) -> set[str]:
    return {key.value or "" for keys in mappings(text) for key in keys if key.name == TARGET}


def _is_for_tuners(project: Project, folder: str) -> bool:
    """Whether Tuners of a project get RunConfigs that are made elsewhere, and no trainer does."""
    if any(TRAINER.search(data) for _, data in settings_files(project, folder)):
        return False
    tuners = False
    for path, _ in files_with(project, folder, b"Tuner", b"Trainer"):
        module = project.module(path) if path.endswith((".py", ".ipynb")) else None
        if module is None:
            continue
        if any(_gets_unseen(module, call) for call in _trainers(module)):
            return False
        tuners = tuners or any(_gets_unseen(module, call) for call in module.calls(*TUNERS))
    return tuners


def _trainers(module: Module) -> Iterator[ast.Call]:
    """The calls of trainers of Ray, and of what may be a trainer made from one of them."""
    yield from module.calls(*TORCH_TRAINERS, *TRAINERS)
    for call, _ in module.keywords(ARGUMENT):
        if last_name(call.func).endswith("Trainer"):
            yield call


def _gets_unseen(module: Module, call: ast.Call) -> bool:
    """Whether a call may get a RunConfig that no Python of the project makes."""
    given = keyword_argument(call, ARGUMENT)
    if given is None:
        return is_unpacked(module, call, ARGUMENT) is not False
    made = (source for source in module.origins(given) if module.constant(source.node) is not None)
    return any(
        not (isinstance(source.node, ast.Call) and source.module.qualified(source.node.func) in RUN_CONFIGS)
        for source in made
    )


def _retold(result: FileResult, options: Options) -> FileResult:
    text, path = result.before, result.path
    untrue = set[tuple[int, int]]()
    advice = dict[tuple[int, int], str]()
    found = list[Finding]()
    for keys in mappings(text):
        target = next((key.value or "" for key in keys if key.name == TARGET), "")
        name = NAMES.get(target, "")
        for key in keys:
            place = key.line, key.column
            if target.startswith("ray.train.") and name in OF_TUNE[1:]:
                advice[place] = _advice(name)  # which that of ray.train does raise for
            elif name and not (name == "RunConfig" and key.name == "local_dir"):
                untrue.add(place)
            if target in SYNC_CONFIGS and key.name in REFUSED_BY_SYNC_CONFIG:
                message = f"SyncConfig({key.name}=) raises a TypeError on Ray >= 2.7."
                found.append(Finding(RM402.code, Kind.MANUAL, message, STORAGE_ADVICE, *place, path))
            if key.name == TARGET and target == "ray.train.RunConfig":
                found.append(Finding(RM411.code, Kind.MANUAL, f"{ONLY_TUNES}.", _advice(name), *place, path))
    told = (RM401.code, RM402.code, RM408.code)
    kept = [
        replace(finding, advice=advice.get((finding.line, finding.column)) or _advice_of(finding))
        for finding in result.findings
        if not (finding.code in told and (finding.line, finding.column) in untrue)
    ]
    return result.with_findings([*kept, *heeded(found, text, options)])


def _advice(name: str) -> str:
    return f"A Tuner gets this: name ray.tune.{name} here."


def _advice_of(finding: Finding) -> str:
    named = next((name for path, name in NAMES.items() if finding.message == message_of(path)), None)
    return _advice(named) if named and finding.code == RM695.code and finding.advice else finding.advice
