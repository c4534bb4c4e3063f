"""RM411 for a RunConfig of which the file does not show whether a Tuner or a trainer gets it.

Train refuses what Tune goes on to take, as `verbose=` and `stop=`: it is no trainer's before that is seen.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.refused_by_train import configs_within, refused_by_train
from raymigrate.codemods.tuner.tuner_config import ONLY_TUNES, RM411, leave_to_person, run_configs
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.ray_tune.tuners import TUNERS, config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.syntax.scopes import DEFINITIONS
from raymigrate.facts.values import Source, is_call_by_name, keyword_argument
from raymigrate.facts.values.keys import is_unpacked, unpacked_value
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

ARGUMENT = "run_config"
COPIES = ("dataclasses.replace", "copy.copy", "copy.deepcopy", "copy.replace")
UNSEEN = "Whether a Tuner gets this RunConfig cannot be seen: with that of ray.train a Tuner fails on Ray >= 2.51"
ADVICE = "Make it a ray.tune.RunConfig for a Tuner, a ray.train.RunConfig for a trainer."


@codemod("Tuner", "RunConfig", phase=Phase.TRIALS, after=[run_configs])
def unseen_run_configs(context: Context) -> None:
    """Leaves a RunConfig that may be a Tuner's as it is, and says so."""
    module = context.module
    for config in _given_to_tuners(module):
        _leave(context, config, ONLY_TUNES)
    for config, place in _given_elsewhere(module):
        _leave(context, config, f"{ONLY_TUNES}, and {place} gives this to one")
    if _has_unseen_tuner(module):
        for config in module.calls(*config_names("RunConfig")):
            if not _is_for_trainers(module, config):
                _leave(context, config, UNSEEN)


def _leave(context: Context, config: ast.Call, message: str) -> None:
    if config in context.tuned:
        return
    leave_to_person(context, config)
    refused, instead = refused_by_train(context, config)
    context.manual(RM411, config, f"{message}.{refused}", f"{ADVICE}{instead}")
    context.tuned.update(configs_within(context, config))


def _given_to_tuners(module: Module) -> Iterator[ast.Call]:
    """The RunConfigs that a Tuner can be given: by a parameter of a function around it, or in a dict."""
    for call in module.calls(*TUNERS):
        for source in _behind(module, call):
            value = source.node
            if source.module is module and isinstance(value, ast.Call):
                if module.qualified(value.func) in config_names("RunConfig"):
                    yield value


def _behind(module: Module, tuner: ast.Call) -> Iterator[Source]:
    """What a Tuner is given as RunConfig, and what that is a copy of: `replace(config, stop=...)`."""
    given = keyword_argument(tuner, ARGUMENT) or unpacked_value(module, tuner, ARGUMENT)
    waiting = [] if given is None else [Source(module, given)]
    seen = set[ast.AST]()
    while waiting:
        asked = waiting.pop()
        for source in asked.module.origins(asked.node):
            if source.node not in seen:
                seen.add(source.node)
                yield source
                if isinstance(source.node, ast.Call) and source.module.qualified(source.node.func) in COPIES:
                    waiting += [Source(source.module, copied) for copied in source.node.args[:1]]


def _given_elsewhere(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """The RunConfigs that a Tuner of another file is given, and where: by a function or method that makes them.

    Of most it is seen that a trainer gets them: no other file is read for these.
    """
    made = _by_definition(module).items()
    configs = {place: config for place, config in made if not _is_given_to_trainer(module, config)}
    if not configs or module.project is None or not module.path:
        return
    home = module.project.real(module.path)
    known = dict[Module, dict[ast.AST, tuple[str, int]]]()  # of each state of the file that others see
    for other in importing_modules(module, "Tuner"):
        for call in other.calls(*TUNERS):
            for source in _behind(other, call):
                if source.module.path and module.project.real(source.module.path) == home:
                    if source.module not in known:
                        known[source.module] = {made: place for place, made in _by_definition(source.module).items()}
                    found = known[source.module].get(source.node)
                    if found in configs:
                        yield configs[found], line_of_file(other, call)


def _by_definition(module: Module) -> dict[tuple[str, int], ast.Call]:
    """The RunConfigs of a module by the functions and classes around them, and their number there.

    The project may hold another state of the file than the one that is looked at, with other lines.
    """
    found: dict[tuple[str, int], ast.Call] = {}
    numbers = Counter[str]()
    for config in module.calls(*config_names("RunConfig")):
        name = ".".join(outer.name for outer in module.ancestors(config) if isinstance(outer, DEFINITIONS))
        found[name, numbers[name]] = config
        numbers[name] += 1
    return found


def _has_unseen_tuner(module: Module) -> bool:
    """Whether a Tuner is made of which it is not seen what RunConfig it gets."""
    for reference in module.references_within(*TUNERS):
        if reference.qualified not in TUNERS:
            continue  # Tuner.restore() takes none
        made = module.parent_of[reference.node]
        if isinstance(made, ast.Call) and made.func is reference.node:
            if keyword_argument(made, ARGUMENT) is None and is_unpacked(module, made, ARGUMENT) is None:
                return True
        elif not _is_about_types(module, reference.node):
            return True
    return False


def _is_about_types(module: Module, node: ast.expr) -> bool:
    """Whether a class is named in an annotation or an isinstance()."""
    outer = [node, *module.ancestors(node)]
    return any(
        isinstance(above, ast.arg)
        or (isinstance(above, ast.AnnAssign) and above.annotation is below)
        or (isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and above.returns is below)
        or is_call_by_name(above, "isinstance")
        for below, above in pairwise(outer)
    )


def _is_for_trainers(module: Module, config: ast.Call) -> bool:
    """Whether every use of a RunConfig, or of the name that it gets, is to give it to a trainer."""
    name = module.name_of(config)
    if name is None:
        return _is_given_to_trainer(module, config)
    return all(_is_given_to_trainer(module, use) for use in module.uses_of(name))


def _is_given_to_trainer(module: Module, value: ast.expr) -> bool:
    keyword = module.parent_of[value]
    call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) and keyword.arg == ARGUMENT else None
    if not isinstance(call, ast.Call):
        return False
    made = [source.module.qualified(source.node) for source in module.origins(call.func)]
    return bool(made) and all(name in TORCH_TRAINERS | TRAINERS or _is_other_trainer(name) for name in made)


def _is_other_trainer(name: str | None) -> bool:
    """Whether a name is that of another trainer of Ray: `ray.train.xgboost.XGBoostTrainer`."""
    return name is not None and name.startswith("ray.train.") and name.endswith("Trainer")
