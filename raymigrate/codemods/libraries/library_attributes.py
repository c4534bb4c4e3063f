"""RM723: attributes that the objects of the libraries do not have.

What an object is, the file shows: `args = TrainingArguments(...)`, `self` in a Trainer subclass, `args` in a callback.
What it has, `raymigrate/knowledge/libraries.py` tells.
"""

import ast
import re
from collections.abc import Mapping, Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES, TRL_CHANGES
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.argument_objects import is_arguments_object
from raymigrate.facts.hugging_face.instances import (
    ACCELERATOR,
    DEPLOYMENT,
    TRAINER,
    TRAINING_ARGUMENTS,
    classes_of,
    declared_others,
    instance_of,
    is_imported_deployment,
    may_be_derived,
    may_be_made_from,
    parsed_class,
)
from raymigrate.facts.hugging_face.later_settings import settings_by_name, unseen_settings
from raymigrate.facts.projects.declared import Declared, declared_class, named_class
from raymigrate.facts.projects.given_attributes import is_given_by_base, is_given_elsewhere
from raymigrate.facts.projects.handed_on import origins_anywhere
from raymigrate.facts.ray_train.trainers import is_transformers_trainer, trainer_base
from raymigrate.facts.ray_tune.tune_objects import ANALYSIS
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, is_none
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS as OLD_TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import lineage, member
from raymigrate.knowledge.successors import PREPROCESSED

RM723 = Rule(
    "RM723",
    "an attribute that is gone",
    "Reading it raises an AttributeError on the current version of the library; setting it has no effect.",
    "The attribute that took its place is read; otherwise remove the use.",
    GUIDE,
)

STATE = "accelerate.state.AcceleratorState"
# Attributes that were renamed and hold the same kind of value.
RENAMED: Mapping[str, Mapping[str, str]] = {
    TRAINING_ARGUMENTS: {
        name: change.name
        for name, change in TRAINING_ARGUMENTS_CHANGES.items()
        if change.name is not None and change.value is None and name not in ("warmup_ratio",)
    },
    TRAINER: {
        "tokenizer": "processing_class",
        "is_world_master": "is_world_process_zero",
        "is_local_master": "is_local_process_zero",
    },
    ACCELERATOR: {"use_fp16": 'mixed_precision != "no"'},
    STATE: {"use_fp16": 'mixed_precision != "no"'},
    "trl.trainer.model_config.ModelConfig": {"torch_dtype": "dtype"},
    "trl.trainer.base_config._BaseConfig": {name: change.name for name, change in TRL_CHANGES.items() if change.name},
}

# What holds today, in another form, what an attribute of TrainingArguments held.
OF_ARGUMENTS: Mapping[str, str] = {
    "warmup_ratio": "warmup_steps of it holds the ratio, if that is below 1, or the number of steps.",
    "group_by_length": 'train_sampling_strategy of it is "group_by_length" where this was true.',
    "overwrite_output_dir": "Write False in its place, as it was unless asked for; or make it an option of the script.",
    "logging_dir": "The environment variable TENSORBOARD_LOGGING_DIR says where TensorBoard writes.",
}

# Methods of argparse that give an object and what is left of the command line.
PARTLY_PARSED = ("parse_known_args", "parse_known_intermixed_args")

# What the trainers from before Train V2 had (2.9.3 train/base_trainer.py and data_parallel_trainer.py).
STARTED_BY_FIT = "Take it out: fit() starts the training function on the workers."
KEPT = "Keep it under a name of its own where it is made: the trainer does not take it."
OF_TRAINERS: Mapping[str, str] = {
    "preprocess_datasets": PREPROCESSED,
    "get_dataset_config": "Read data_config of the trainer: it is the DataConfig that it got, or a new one.",
    "setup": STARTED_BY_FIT,
    "training_loop": STARTED_BY_FIT,
    "preprocessor": KEPT,
    "resume_from_checkpoint": KEPT,
    "starting_checkpoint": KEPT,
    "metadata": KEPT,
    "_save": "Take it out: what it wrote was for restore(), which is gone too.",
    **{f"_{name}": f"Read {name} of the trainer." for name in ("train_loop_config", "train_loop_per_worker")},
    "_data_config": "Read data_config of the trainer.",
    "_backend_config": "Read backend_config of the trainer.",
}
# What deployments had (2.6.3 serve/deployment.py); deploy() chose the route itself.
OF_DEPLOYMENTS: Mapping[str, str] = {
    "deploy": 'Call serve.run(X.bind(...), name=..., route_prefix="/X"), with the arguments of deploy() in bind(). The'
    " route was / and the name of the deployment where nothing else was said; one that runs under the same name, or"
    ' without one ("default"), is replaced.',
    "delete": "Call serve.delete(name), with the name that serve.run() was given.",
    "get_handle": "Call serve.get_app_handle(name), with the name that serve.run() was given; serve.run() gives the"
    " handle too. Its remote() gives a DeploymentResponse, whose result() is the value: ray.get() doesn't take it.",
    "set_options": "Take what .options() gives, which is another deployment.",
    "max_concurrent_queries": "Read max_ongoing_requests of it.",
    **dict.fromkeys(("route_prefix", "url"), "Keep the route_prefix= that serve.run() is given."),
}


# What an ExperimentAnalysis had (2.4 tune/analysis/experiment_analysis.py).
WHERE = "where the results of that trial are, without the scheme of a URI."
OF_ANALYSES: Mapping[str, str] = {
    "best_logdir": f"Read best_trial.path of it: {WHERE}",
    "get_best_logdir": f"Read path of what get_best_trial(metric, mode, scope) gives: {WHERE}",
    "fetch_trial_dataframes": "Read trial_dataframes of it.",
    "get_trial_checkpoints_paths": (
        "Read run_metadata.checkpoint_manager.best_checkpoint_results of the trial: each has a checkpoint and metrics."
    ),
    "set_filetype": "Take it out: it reads the files that Tune writes.",
}
LOOK_UP = "Ask hasattr(args, name) before it and raise an error, or give the values to TrainingArguments(...) itself."


@codemod("ray", phase=Phase.GONE)
def attributes(context: Context) -> None:
    """Renames and reports attributes that the classes of the libraries do not have."""
    module = context.module
    own = _own_names(module)
    for node in module.of_type(ast.Attribute):
        imported = node.attr in OF_DEPLOYMENTS and is_imported_deployment(module, node.value)
        if module.qualified(node) is not None and not imported:
            continue
        kind = DEPLOYMENT if imported else instance_of(module, node.value) or _declared_kind(module, node)
        kind = kind or _accelerator_kind(module, node)
        if _may_be_of_own(module, node.value, kind, own.get(node.attr, ())):
            continue
        is_there = member(kind, node.attr) is not None if kind else node.attr not in TRAINING_ARGUMENTS_CHANGES
        is_there &= kind != STATE or node.attr not in RENAMED[STATE]  # its __getattr__ is no member for each name
        if is_there or _is_dealt_with(context, node) or _goes_away(context, node):
            continue
        if is_guarded(module, node, node.attr):
            continue
        if not kind:
            _uncertain(context, node)
            continue
        renamed = _renamed(kind)
        was_argument = TRAINING_ARGUMENTS in lineage(kind) and node.attr in TRAINING_ARGUMENTS_CHANGES
        if node.attr in renamed or was_argument:
            is_own = is_given_by_base(module, node.value, node.attr)
        else:
            is_own = bool(module.stores(node.attr)) or _may_have_it(module, node) or is_given_elsewhere(module, node)
        if not is_own:
            _attribute(context, node, kind, renamed.get(node.attr))


@codemod("setattr", phase=Phase.GONE)
def attributes_by_name(context: Context) -> None:
    """Renames and reports fields of TrainingArguments that `setattr(args, "no_cuda", True)` sets by an old name."""
    module, own = context.module, _own_names(context.module)
    for call in settings_by_name(module):
        name, renamed = module.constant(call.args[1]), _renamed(TRAINING_ARGUMENTS)
        if name not in TRAINING_ARGUMENTS_CHANGES or member(TRAINING_ARGUMENTS, str(name)) is not None:
            continue
        if _may_be_of_own(module, call.args[0], TRAINING_ARGUMENTS, own.get(str(name), ())):
            continue
        if is_guarded(module, call, str(name)):
            continue
        if is_given_by_base(module, call.args[0], str(name)):
            continue
        message, new = f"Setting {name} has no effect today", renamed.get(str(name))
        if new is None or not isinstance(call.args[1], ast.Constant):
            advice = OF_ARGUMENTS.get(str(name), f"Set {new} in its place." if new else "Remove it.")
            context.manual(RM723, call, f"{message}: TrainingArguments has no such attribute.", advice)
        elif context.converts(RM723, call, f"{message}; now {new}."):
            context.plan.replace(call.args[1], f'"{new}"')
    for call in unseen_settings(module) if is_for_old_transformers(context) else ():
        name = module.source(call.args[1])
        message = f"The names that `{name}` stands for here are not seen: a field that is gone, such as"
        context.manual(RM723, call, f"{message} evaluation_strategy or no_cuda, is set without effect.", LOOK_UP)


def _renamed(kind: str) -> Mapping[str, str]:
    """The attributes of a class, and of those that it is made from, that have another name; it has the new ones."""
    found = {old: new for base in lineage(kind) for old, new in RENAMED.get(base, {}).items()}
    return {old: new for old, new in found.items() if not new.isidentifier() or member(kind, new) is not None}


def _may_be_of_own(module: Module, node: ast.expr, kind: str, classes: Sequence[ast.ClassDef]) -> bool:
    """Whether an object may be of one of some classes of the file: if its own one is known, of one made from that."""
    may_be = any(not kind or may_be_made_from(module, made, kind) for made in classes)
    return may_be and not _is_of_library(module, node)


def _is_of_library(module: Module, node: ast.expr) -> bool:
    """Whether an object is made by a class of a library itself: what the file's own classes have it does not have."""
    return instance_of(module, node) == DEPLOYMENT or all(
        isinstance(source.node, ast.Call) and source.module.qualified(source.node.func) is not None
        for source in module.origins(node)
    )


def _declared_kind(module: Module, node: ast.Attribute) -> str:
    """TrainingArguments or Trainer, where the file shows that an object is one; the class may be one of the project."""
    is_of_trainer = node.attr in RENAMED[TRAINER]
    if not is_of_trainer and node.attr not in TRAINING_ARGUMENTS_CHANGES:
        return ""
    found = _shown_class(module, node.value)
    if found is None or found.binds(node.attr):
        return ""
    if is_of_trainer and isinstance(found.node, ast.ClassDef) and is_transformers_trainer(found.module, found.node):
        return TRAINER
    return TRAINING_ARGUMENTS if found.is_training_arguments else ""


def _shown_class(module: Module, node: ast.expr) -> Declared | None:
    """The class that an object is declared to be of, or that an HfArgumentParser made it of; of any file."""
    found = declared_class(module, node)
    if found is not None or (parsed := parsed_class(module, node)) is None:
        return found
    return named_class(parsed.module, parsed.node)


def _accelerator_kind(module: Module, node: ast.Attribute) -> str:
    """Accelerator, or AcceleratorState, where an attribute that went from them is read of one or of its state.

    Other files may hand it over to the function that reads it.
    """
    if node.attr not in RENAMED[ACCELERATOR]:
        return ""
    is_state = isinstance(node.value, ast.Attribute) and node.value.attr == "state"
    owner = node.value.value if is_state else node.value  # type: ignore[attr-defined]
    given = (source for source in origins_anywhere(module, owner) if not is_none(source.node))
    kinds = {instance_of(*source) for source in given}
    return (STATE if is_state else ACCELERATOR) if kinds == {ACCELERATOR} else ""


def _may_have_it(module: Module, node: ast.Attribute) -> bool:
    """Whether an object may be of a class made from the one that is known, and have the attribute from there."""
    others = declared_others(module, node.value)
    return may_be_derived(module, node.value) or any(member(kind, node.attr) is not None for kind in others)


def _uncertain(context: Context, node: ast.Attribute) -> None:
    """Reports an attribute that went from TrainingArguments, of what may be one."""
    declared = _shown_class(context.module, node.value)
    if declared is not None and (declared.is_training_arguments is False or declared.binds(node.attr)):
        return
    owner = context.module.source(node.value)
    is_given = is_arguments_object(context.module, node.value)  # to a Trainer, by a class that is not seen
    if is_given or TRAINING_ARGUMENTS in classes_of(context.module, node.value) or _fills_itself(context, node):
        condition = f"If {owner} is a TrainingArguments"
        if is_given:
            condition = f"Unless the class of {owner} declares it itself"
        message = f"{condition}, reading {node.attr}"
        new = RENAMED[TRAINING_ARGUMENTS].get(node.attr)
        advice = f"Read {new} of it then." if new else OF_ARGUMENTS.get(node.attr, "Remove it then.")
        context.manual(RM723, node, f"{message} raises an AttributeError today.", advice)


def _goes_away(context: Context, node: ast.Attribute) -> bool:
    """Whether a node is the value of an argument that is dropped."""
    keyword = context.module.parent_of[node]
    call = context.module.parent_of[keyword] if isinstance(keyword, ast.keyword) else None
    edit = context.plan.calls.get(call) if isinstance(call, ast.Call) else None
    return isinstance(keyword, ast.keyword) and edit is not None and keyword.arg in edit.remove


def _fills_itself(context: Context, node: ast.Attribute) -> bool:
    """Whether a TrainingArguments is given this under the old name: `evaluation_strategy=x.evaluation_strategy`.

    Then `x` may well be one too, unless the file shows what it is.
    """
    module = context.module
    keyword = module.parent_of[node]
    call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) else None
    if not isinstance(keyword, ast.keyword) or keyword.arg != node.attr or not isinstance(call, ast.Call):
        return False
    if module.qualified(call.func) not in OLD_TRAINING_ARGUMENTS:
        return False
    known = any(
        isinstance(source.node, (ast.Call, ast.Dict)) or _is_namespace(source.module, source.node)
        for source in module.origins(node.value)
    )
    if known or _is_of_omegaconf(module, node.value):
        return False
    return [source.node for source in module.origins(node)] == [node]


def _is_of_omegaconf(module: Module, node: ast.expr) -> bool:
    """Whether something is read out of a configuration of OmegaConf: one that Hydra hands in, is declared, or made."""
    while isinstance(found := module.value(node), (ast.Attribute, ast.Subscript)):
        node = found.value
    parameter = module.definition(node)
    if isinstance(parameter, ast.arg):
        declared = (module.qualified(parameter.annotation) or "") if parameter.annotation is not None else ""
        decorators = getattr(module.function(node), "decorator_list", ())
        called = (each.func if isinstance(each, ast.Call) else each for each in decorators)
        if declared.startswith("omegaconf.") or any(module.qualified(each) == "hydra.main" for each in called):
            return True
    made = ((source.module, source.node) for source in module.origins(node))
    names = (home.qualified(call.func) for home, call in made if isinstance(call, ast.Call))
    return any((name or "").startswith("omegaconf.") for name in names)


def _is_namespace(module: Module, node: ast.AST) -> bool:
    """Whether a value is the first of what argparse gives: `args, rest = parser.parse_known_args()`, or with `[0]`."""
    target = module.definition(node)
    several = module.parent_of[target] if target is not None else None
    statement = module.parent_of[several] if isinstance(several, (ast.Tuple, ast.List)) else None
    call = node.value if isinstance(node, ast.Subscript) else getattr(statement, "value", None)
    return is_method_call(call, *PARTLY_PARSED)


def _attribute(context: Context, node: ast.Attribute, kind: str, new: str | None) -> None:
    stored = not isinstance(node.ctx, ast.Load)
    effect = "Setting" if stored else "Reading"
    outcome = "has no effect" if stored else "raises an AttributeError"
    message = f"{effect} {node.attr} {outcome} today"
    if new is None or (stored and not new.isidentifier()):
        message += f": {kind.rpartition('.')[2]} has no such attribute."
        advice = _known_of(kind).get(node.attr, "Remove it, or use what replaces it.")
        context.manual(RM723, node, message, advice)
    elif context.converts(RM723, node, f"{message}; now {new}."):
        is_value = new.isidentifier() or _stands_alone(context.module.parent_of[node], node)
        template = f"$owner.{new}" if is_value else f"($owner.{new})"
        context.plan.replace(node, template, owner=node.value)


def _known_of(kind: str) -> Mapping[str, str]:
    """What to do about the attributes that a class lost, where more is known of it."""
    if trainer_base(kind):
        return OF_TRAINERS
    if kind == DEPLOYMENT:
        return OF_DEPLOYMENTS
    if kind == ANALYSIS:
        return OF_ANALYSES
    return OF_ARGUMENTS if TRAINING_ARGUMENTS in lineage(kind) else {}


def _stands_alone(parent: ast.AST, node: ast.expr) -> bool:
    """Whether an expression of several parts needs no parentheses where a node stands."""
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        return parent.test is node
    if isinstance(parent, ast.Call):
        return parent.func is not node
    return isinstance(parent, (ast.Assign, ast.AnnAssign, ast.keyword, ast.Return, ast.Expr, ast.List, ast.Dict))


def _is_dealt_with(context: Context, node: ast.Attribute) -> bool:
    """Whether another rule replaces an attribute, or what is around it, or refers to it."""
    planned = context.plan.expressions
    if node in planned or any(parent in planned for parent in context.module.ancestors(node)):
        return True
    word = rf"(?<!\ba )\b{re.escape(node.attr)}\b(?!=)"  # `name=` is an argument, "a tokenizer" an object
    said = (found for found in context.findings_on(node.lineno, node.end_lineno) if found.code != RM723.code)
    return any(re.search(word, finding.message) for finding in said)


def _own_names(module: Module) -> dict[str, list[ast.ClassDef]]:
    """The classes of the file by the names that they bind, or give to `self`."""
    found: dict[str, list[ast.ClassDef]] = {}
    for made in module.of_type(ast.ClassDef):
        for name in module.scope_of[made.body[0]].bindings:
            found.setdefault(name, []).append(made)
    for node in module.of_type(ast.Attribute):
        around = module.class_around(node) if is_of_self(node) and isinstance(node.ctx, ast.Store) else None
        if around is not None:
            found.setdefault(node.attr, []).append(around)
    return found
