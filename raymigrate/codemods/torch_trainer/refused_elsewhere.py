"""RM401, RM403 and RM502 where what Train V2 refuses reaches a class in another way than by a call of it.

`super().__init__(local_dir=...)` in a class made from RunConfig, `dataclasses.replace(config, local_dir=...)`, a class
that something holds, `TorchTrainer(**{"preprocessor": ...})`.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.preprocessors import PREPROCESSOR_REFUSED, RM502
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import RM401
from raymigrate.codemods.torch_trainer.train_v2_arguments import (
    METADATA,
    REFUSED,
    REFUSED_BY_TRAINER,
    RESUME,
    RM403,
    STORAGE_ADVICE,
    UNLESS_NONE,
    changes_nothing,
)
from raymigrate.facts.projects.indirect import calls_of_held
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call, is_none
from raymigrate.facts.values.carried import Carried
from raymigrate.facts.values.constructors import Line, derived_calls, reaches
from raymigrate.facts.values.partials import PARTIAL, function_of
from raymigrate.knowledge.legacy import CONFIG_CLASSES, TORCH_TRAINERS

TRAINER = "TorchTrainer"
PREPROCESSOR = "preprocessor"
# What is refused only with some values, which are told where they stand.
BY_VALUE = ("callbacks",)
KINDS = {name: kind for kind in CONFIG_CLASSES for name in config_names(kind)} | dict.fromkeys(TORCH_TRAINERS, TRAINER)
ALL = frozenset(REFUSED_BY_TRAINER).union(*REFUSED.values())
UNSEEN = (
    "What is passed with ** cannot be seen here; TorchTrainer takes fewer arguments today, and some mean another thing."
)
# What to look for among it, by the argument.
OF_UNSEEN = {
    "": f"Look for {', '.join(REFUSED_BY_TRAINER)}: Ray >= 2.51 raises for them.",
    "datasets": "If datasets are in it, Ray <= 2.6 split the training data only, if no DataConfig said more (RM205).",
    "run_config": "If a run_config is in it, its name has to be another one in each run (RM406).",
}
Given = tuple[str, ast.expr | None, ast.AST]  # an argument, its value if that is seen, and where it stands


@codemod("ray", phase=Phase.GONE, in_ray_scripts=True)
def refused_elsewhere(context: Context) -> None:
    """Reports refused arguments that no call of the class itself shows."""
    module = context.module
    for call, line in _other_calls(module):
        kind = next(KINDS[name] for name in line if isinstance(name, str) and name in KINDS)
        for argument, value, place in _given(module, call) if call not in context.tuned else ():
            if reaches(line, argument, KINDS.__contains__):
                _tell(context, kind, argument, value, place)
    for call in module.calls(*TORCH_TRAINERS):
        for argument, value, place in _given(module, call):
            if place not in call.keywords or value is None:  # else the rules for calls of the class tell of it
                _tell(context, TRAINER, argument, value, place)
    for call in _trainer_calls(module) if context.of_legacy_job else ():
        for unpacked in call.keywords:
            found = carried_from_callers(module, unpacked.value) if unpacked.arg is None else None
            if found is not None and not found.whole:
                _tell_unseen(context, call, unpacked, found)


def _trainer_calls(module: Module) -> Iterator[ast.Call]:
    """The calls whose keywords TorchTrainer gets: of it, of partial() with it, and of classes made from it."""
    yield from module.calls(*TORCH_TRAINERS)
    yield from (call for call in module.calls(PARTIAL) if module.qualified(function_of(module, call)) in TORCH_TRAINERS)
    for call, line in derived_calls(module, TORCH_TRAINERS.__contains__, (), ()):
        is_made = not is_method_call(call, "__init__")
        if is_made and any(reaches(line, argument, TORCH_TRAINERS.__contains__) for argument in REFUSED_BY_TRAINER):
            yield call


def _tell_unseen(context: Context, call: ast.Call, unpacked: ast.keyword, found: Carried) -> None:
    """Tells of a dict that a trainer gets and that is not seen whole: what it may hold means another thing today."""
    given = {keyword.arg for keyword in call.keywords} | {entry.name for entry in found.entries}
    advice = [OF_UNSEEN[name] for name in OF_UNSEEN if name not in given]
    context.manual(RM401, unpacked, UNSEEN, " ".join(advice))


def _other_calls(module: Module) -> Iterator[tuple[ast.Call, Line]]:
    """The calls by which arguments reach one of the classes, with constructors that run; none of the class itself."""
    yield from derived_calls(module, KINDS.__contains__, ALL, ())
    for call in module.calls("dataclasses.replace"):
        made = [source.node for source in module.origins(call.args[0])] if call.args else []
        names = {called_name(module, node) for node in made}
        if len(names) == 1 and (name := names.pop()) in KINDS and name not in TORCH_TRAINERS:
            yield call, [name]
    for name in KINDS:
        for call, is_sure in calls_of_held(module, frozenset({name})):
            if is_sure:
                yield call, [name]


def _given(module: Module, call: ast.Call) -> Iterator[Given]:
    """The arguments that a call gives by name, those that it unpacks too."""
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value, keyword
            continue
        found = carried_from_callers(module, keyword.value).entries
        for entry in (entry for entry in found if not changes_nothing(entry)):
            yield entry.name, None, entry.key if entry.module is module else keyword.value


def _tell(context: Context, kind: str, argument: str, value: ast.expr | None, place: ast.AST) -> None:
    refused = REFUSED_BY_TRAINER if kind == TRAINER else REFUSED[kind]
    if argument not in refused or argument in BY_VALUE or _is_told(context, argument, place):
        return
    if value is not None and is_none(value) and argument in UNLESS_NONE:
        return
    if argument == PREPROCESSOR:
        context.manual(RM502, place, PREPROCESSOR_REFUSED, RM502.fix)
    elif kind == TRAINER:
        advice = METADATA if argument == "metadata" else RESUME
        context.manual(RM403, place, f"{kind}({argument}=) raises on Ray >= 2.51.", advice)
    else:
        advice = f"Leave it out. {STORAGE_ADVICE}" if kind == "RunConfig" else "Leave it out."
        context.manual(RM401, place, f"{kind}({argument}=) raises on Ray >= 2.51.", advice)


def _is_told(context: Context, argument: str, place: ast.AST) -> bool:
    """Whether another rule speaks of an argument where it stands."""
    lines = range(place.lineno, (place.end_lineno or place.lineno) + 1)  # type: ignore[attr-defined]
    return any(argument in finding.message for finding in context.findings_on(*lines))
