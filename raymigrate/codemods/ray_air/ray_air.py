"""RM30x: `ray.air` configuration classes and session functions.

https://docs.ray.io/en/releases-2.60.0/train/api/api.html lists what took their place in `ray.train`.
"""

import ast
from collections.abc import Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.worker_cpus import read_worker_cpus
from raymigrate.codemods.shared.moves import Move, drop_unused, move_names
from raymigrate.codemods.shared.taken_elsewhere import taken_elsewhere
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.outside import outside
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.guards import is_ready, takes_over
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import argument, constants
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.legacy import paths_in_ml
from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.successors import advice_on

API = "https://docs.ray.io/en/latest/train/api/api.html"

RM301 = Rule(
    "RM301",
    "a configuration class of ray.air",
    "Ray >= 2.51 still imports ScalingConfig, RunConfig, CheckpointConfig and FailureConfig from ray.air, but every"
    " trainer refuses them with a ValueError: only the classes of ray.train are accepted.",
    "The class is imported from ray.train.",
    API,
    errors=(
        "Invalid `*` type: <class 'ray.air.config.*'>",
        "Invalid `*` type: <class 'ray.tune.*'>",
        *gone_names("ray.air", "Checkpoint"),
        *gone_names("ray.air.config", "Checkpoint"),
        "No module named 'ray.air.checkpoint'",
    ),
)
RM302 = Rule(
    "RM302",
    "a function of ray.air.session",
    "Inside a worker of Ray >= 2.51 ray.air.session does nothing but warn: report() saves nothing, get_world_rank() is"
    " 0 on every worker, get_checkpoint() and get_dataset_shard() return None. Anywhere else ray.train raises a"
    " RuntimeError where session gave a default; so does ray.train.torch.get_device(), which gave the driver's device.",
    "The call goes to ray.train, or to ray.train.get_context().",
    API,
    errors=(
        "`*` is meant to only be called inside a function that is executed by a Tuner or Trainer",
        "`*` cannot be used outside of a Ray Train training function",
    ),
)
RM305 = Rule(
    "RM305",
    "a Tune trial's name, id, directory or resources",
    "On Ray >= 2.51 a training run is not a Tune trial: session.get_trial_*() returns None or raises.",
    "Names and ids become ray.train.get_context().get_experiment_name(). Use"
    " ray.train.get_context().get_storage().experiment_fs_path for the folder of the run, and the numbers of the"
    " ScalingConfig for resources.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.TrainContext.html",
    errors=(
        "`get_trial_*` is deprecated because the concept of a `Trial`",
        "`get_trial_*` is meant to only be called inside a function that is executed by a Tuner or Trainer",
    ),
)
RM307 = Rule(
    "RM307",
    "another name of ray.air",
    "ray.air is kept for old code only; this name is no longer there and has no rule of its own.",
    "Where Ray's documentation names no successor, copy what you need of it from the version that the code was written"
    " for.",
    API,
    errors=(*gone_names("ray.air", "*"), *gone_names("ray.air.*", "*"), "No module named 'ray.air.*'"),
    unproven="The import of such a name ends the script; there is nothing else to see in a run.",
)

CONFIG = ("RunConfig", "ScalingConfig", "CheckpointConfig", "FailureConfig")
MOVED = {
    **{f"{module}.{name}": Move("ray.train", name) for module in ("ray.air", "ray.air.config") for name in CONFIG},
    "ray.air.Result": Move("ray.train", "Result"),
    "ray.air.result.Result": Move("ray.train", "Result"),
    "ray.air.Checkpoint": Move("ray.train", "Checkpoint"),
    "ray.air.checkpoint.Checkpoint": Move("ray.train", "Checkpoint"),
    "ray.air.config.Checkpoint": Move("ray.train", "Checkpoint"),
    **dict.fromkeys(paths_in_ml("Checkpoint"), Move("ray.train", "Checkpoint")),
}
SESSION = "ray.air.session"
STILL_THERE = "ray.air.integrations."  # tracking_setup imports from there what stood elsewhere
SESSION_FUNCTIONS = {
    "report": "report",
    "get_checkpoint": "get_checkpoint",
    "get_dataset_shard": "get_dataset_shard",
    **{
        name: f"get_context().{name}"
        for name in (
            "get_world_rank",
            "get_world_size",
            "get_local_rank",
            "get_local_world_size",
            "get_node_rank",
            "get_experiment_name",
        )
    },
    # A run has a name as a trial had: unique unless RunConfig(name=) is fixed, and then the run is the same one.
    "get_trial_name": "get_context().get_experiment_name",
    "get_trial_id": "get_context().get_experiment_name",
}
# What takes a path, or the parts of one.
OF_PATHS = frozenset({"join", "joinpath", "Path", "open", "mkdir", "makedirs", "TrainingArguments"})

SAME_EACH_TIME = (
    "Each trial had a text of its own here; the name of the run is the one that RunConfig(name=) gives, each time: the"
    " next run finds what this one writes under it."
)
ASKED = ("get_trial_name", "get_trial_id")


@codemod("air", "ml", phase=Phase.SESSION)
def config_classes(context: Context) -> None:
    """Moves the classes of ray.air, and the checkpoint of ray.ml, to ray.train."""
    move_names(context, RM301, MOVED)
    # Alone, an unused import of ray.air does no harm; nor does it beside what current Ray has at the same place.
    if any(not f"{name.qualified}.".startswith(STILL_THERE) for name in context.module.references_within("ray.air")):
        drop_unused(context, RM301, "ray.air")


@codemod("air", phase=Phase.SESSION)
def session_functions(context: Context) -> None:
    """Sends the session functions to ray.train, under every way of importing them."""
    asked = set[ast.AST | None]()
    names: dict[str, ast.AST] = {}
    for reference in context.references(SESSION):
        name = reference.qualified.removeprefix(SESSION).lstrip(".")
        function, _, rest = name.partition(".")
        if function == "get_trial_resources" and read_worker_cpus(context, reference.node, reference):
            continue
        target = SESSION_FUNCTIONS.get(function)
        is_call = context.module.calling(reference.node) is not None
        rule = RM305 if function.startswith("get_trial") else RM302
        if target is None or rest or (not is_call and "get_context" in target):
            what = f"session.{function}" if function else "ray.air.session"
            context.leave(rule, reference, f"{what} does not work inside a worker of Ray >= 2.51.")
            continue
        if not context.can_import("ray", reference):
            context.leave(RM302, reference, "`ray` is another name here, so ray.train cannot be called by it.")
        elif context.converts(
            rule, reference.node, f"session.{function}() does nothing on Ray >= 2.51; now ray.train.{target}()."
        ):
            context.plan.need_import("ray.train", near=reference.binding.statement)
            context.replace_reference(reference, f"ray.train.{target}")
            if target.endswith("get_experiment_name"):
                names.setdefault(function, reference.node)
            asked.add(context.module.function(reference.node))
    drop_unused(context, RM302, SESSION)
    _tell_taken(context)
    note_one_name(context, names)
    found = outside(context.module, context.places, {function for function in asked if function is not None})
    for called, how in sorted(found.items(), key=lambda item: context.module.start(item[0])):
        name = getattr(called, "name", "this lambda")
        message = f"{name}() {how.value}: ray.train raises a RuntimeError there."
        context.manual(RM302, called, message, OUTSIDE)


def note_one_name(context: Context, asked: Mapping[str, ast.AST]) -> None:
    """Says that what was several texts is one now.

    Legacy Ray gave the id of a trial, its name, which holds the id, and the name of the experiment, which was that of
    its RunConfig (2.6.3 air/session.py:148).

    Args:
        context: The module.
        asked: The first call of each of the functions that give the name of the run now.
    """
    if len(asked) > 1:
        (first, _), (second, node) = sorted(asked.items(), key=lambda item: context.module.start(item[1]))[:2]
        context.note(RM305, node, f"{first}() and {second}() gave different texts; now both give the name of the run.")
    _note_same_name(context, RM305, [node for name, node in asked.items() if name in ASKED])


def _tell_taken(context: Context) -> None:
    """Tells of imports of session from which other files take it: what they call by it is not looked at there."""
    for statement in context.module.imports:
        for alias in statement.names:
            origin = context.module.imported(statement, alias)
            if not f"{origin}.".startswith(f"{SESSION}.") or alias in context.plan.dropped_imports:
                continue
            if _has_another_way(context.module, statement, alias):
                continue
            if where := taken_elsewhere(context.module, alias.asname or alias.name):
                message = f"{origin} does nothing but warn inside a worker of Ray >= 2.51, and {where}."
                context.manual(RM302, statement, message, RE_IMPORT)


def _has_another_way(module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether current Ray takes a name from elsewhere, or `guarded_imports` tells that it takes it from here."""
    if takes_over(module, statement):
        return True
    is_conditional = any(isinstance(outer, (ast.Try, ast.If)) for outer in module.ancestors(statement))
    return is_conditional and len(module.meanings(module.scope_of[statement], alias.asname or alias.name)) > 1


RE_IMPORT = (
    "Import it there as it is here, or, where a test replaces it, replace what ray.train has in its place; and run"
    " raymigrate again."
)
OUTSIDE = "There session gave rank 0, a size of 1, or None, and reported nothing: ask for it on the workers only."


@codemod("air", phase=Phase.REST)
def other_names(context: Context) -> None:
    """Names what is gone from ray.air; its constants, for example, are still there and work."""
    for reference in context.references("ray.air"):
        gone = look_up(reference.qualified).gone
        if gone is None or "._" in reference.qualified or is_ready(context.module, reference, gone.rpartition(".")[2]):
            continue
        message = f"{gone} is gone: current Ray raises an ImportError or AttributeError."
        context.leave(RM307, reference, message, advice_on(reference.qualified))


def _note_same_name(context: Context, rule: Rule, asked: list[ast.AST]) -> None:
    """Says once of a module that a path with the name of the run is the same each time, and was not.

    Args:
        rule: The rule of the note.
        asked: Where the name or id of a trial was asked for, at least once if it was.
    """
    if (
        not asked
        or any(SAME_EACH_TIME in finding.message for finding in context.findings)
        or not _has_one_name(context)
    ):
        return
    nodes = [*asked, *context.module.attributes(*ASKED)]
    on_workers = (node for node in nodes if context.place_of(node) is not Place.TRIAL)
    found = [node for node in on_workers if _is_in_path(context.module, node)]
    if found:
        context.note(rule, min(found, key=context.module.start), SAME_EACH_TIME)


def _has_one_name(context: Context) -> bool:
    """Whether a RunConfig of the module, and not of a Tuner, has a name that is written out."""
    of_tune = context.tuned - context.undecided
    configs = (config for config in context.module.calls(*RUN_CONFIGS) if config not in of_tune)
    names = [name for config in configs if (name := argument(config, 0, "name")) is not None]
    found = [constants(context.module, name) for name in names]
    return any(values and all(isinstance(value, str) for _, value in values) for values in found)


def _is_in_path(module: Module, name: ast.AST) -> bool:
    """Whether a text is made part of a path, where it is read or under the name that it gets."""
    child: ast.AST = name
    slash = False
    for outer in module.ancestors(name):
        if isinstance(outer, ast.Call) and child is not outer.func:
            function = outer.func
            called = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            of_text = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)
            if not of_text or called != "format":
                return called in OF_PATHS and not of_text
            slash |= isinstance(function, ast.Attribute) and _has_slash(function.value)
        elif isinstance(outer, ast.BinOp):
            slash |= isinstance(outer.op, ast.Div) or _has_slash(outer.left) or _has_slash(outer.right)
        elif isinstance(outer, ast.JoinedStr):
            slash |= any(_has_slash(part) for part in outer.values)
        elif isinstance(outer, ast.stmt):
            return slash or any(_is_in_path(module, use) for use in _uses(module, outer))
        child = outer
    return False


def _has_slash(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value


def _uses(module: Module, statement: ast.stmt) -> list[ast.Name]:
    """Where the one name is read that a statement gives a value."""
    return module.uses_of(module.name_of(statement.value)) if is_assignment(statement) else []
