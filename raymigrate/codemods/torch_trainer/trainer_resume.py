"""RM403, RM420: a trainer that starts from an old checkpoint, or goes on with an old run.

TorchTrainer(resume_from_checkpoint=) and TorchTrainer.restore() raise a DeprecationWarning
(docs/semantics/train-v2.md#refused-arguments). The checkpoint goes to the workers with the configuration instead;
get_checkpoint() returned it until the first report. The classes from before Train V2 still look for a folder
(docs/semantics/train-v2.md#trainers-before-train-v2).
"""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.class_uses import RESTORED
from raymigrate.codemods.shared.handed_keys import unpacked
from raymigrate.codemods.torch_trainer.inner_modules import moved_trainers
from raymigrate.codemods.torch_trainer.train_v2_arguments import RM403
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.declared import PREPARE_TRAINER
from raymigrate.facts.ray_train.results import GET_CHECKPOINT
from raymigrate.facts.ray_train.trainers import BEFORE_V2, TRAIN_LOOP, TrainerCall, trainer_base, trainer_calls
from raymigrate.facts.syntax.functions import DefinitionNode
from raymigrate.facts.syntax.guards import waits_for
from raymigrate.facts.syntax.nodes import BINDS
from raymigrate.facts.values import is_call_by_name, is_none, sources
from raymigrate.knowledge.legacy import (
    ACCELERATE_TRAINERS,
    GONE_TORCH_TRAINERS,
    RL_TRAINERS,
    SKLEARN_TRAINERS,
    TORCH_TRAINERS,
    TRAINERS,
)
from raymigrate.knowledge.libraries import look_up

RM420 = Rule(
    "RM420",
    "a run restored from its folder",
    "On Ray >= 2.51 restore() and can_restore() of TorchTrainer and the other trainers raise a DeprecationWarning; of a"
    " class from before Train V2, such as DataParallelTrainer, restore() raises a ValueError, and can_restore() is"
    " False for the runs of today. Tuner.restore() without trainable= raises a TypeError.",
    "Build the trainer with the RunConfig(name=, storage_path=) that the run had: fit() goes on from its last"
    " checkpoint, or begins anew where there is none, so can_restore() is not needed. Runs of Ray before 2.51 cannot be"
    " continued that way: start from the folder of their last checkpoint.",
    "https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html",
)
OF_OLDER = RM420.fix.replace(
    "Build the trainer", "Build a trainer of Train V2, such as TorchTrainer of ray.train.torch,"
)
# Trainers that are gone: measured on Ray 2.60 with a class of Tune's trainables.
OF_RL = (
    "ray.tune.Tuner.restore(folder, trainable=..., resume_errored=True) goes on with a run of a Tuner, and"
    " Tuner.can_restore(folder) says whether there is one. The run of an RLTrainer cannot go on."
)
OF_SKLEARN = "Fit the model anew: there is no saved state to continue from."
OF_GONE: Mapping[str, str] = {
    **dict.fromkeys(RL_TRAINERS, OF_RL),
    **dict.fromkeys(SKLEARN_TRAINERS, OF_SKLEARN),
    **dict.fromkeys(GONE_TORCH_TRAINERS | TRAINERS, RESTORED),
}
RESTORE = ("restore", "can_restore")
ARGUMENT = "resume_from_checkpoint"


@codemod(ARGUMENT, phase=Phase.CHECKPOINTS)
def resume(context: Context) -> None:
    """Hands the checkpoint over in train_loop_config, where the training function can be seen to read it."""
    module = context.module
    for call in trainer_calls(module, TORCH_TRAINERS | ACCELERATE_TRAINERS, TRAIN_LOOP):
        given = call.arguments.get(ARGUMENT)
        if given is None or call.unpacked or is_none(given):
            continue  # None is dropped with the other arguments
        config, reads = _config(context, call), _reads(context, call)
        # It reads folders of RayTrainReportCallback; what a TransformersTrainer left is laid out differently.
        prepares = any(module.inside(node, call.function) for node in module.calls(PREPARE_TRAINER))
        if config is None or not reads or prepares:
            continue  # reported with the other arguments
        message = "TorchTrainer(resume_from_checkpoint=) raises on Ray >= 2.51; the checkpoint goes with the config."
        if context.converts(RM403, _keyword(call), message):
            for read in reads:
                _read(context, read, config)
            _hand_over(context, call, given)


def _keyword(call: TrainerCall) -> ast.keyword:
    return next(keyword for keyword in call.node.keywords if keyword.arg == ARGUMENT)


def _config(context: Context, call: TrainerCall) -> str | None:
    """The parameter that receives the configuration, where it is only read by key, and the function has one trainer."""
    module, function = context.module, call.function
    first = call.arguments.get(call.first)
    if not isinstance(function, DefinitionNode) or not isinstance(first, ast.Name):
        return None
    arguments = function.args.args
    if len(arguments) != 1 or function.args.defaults:
        return None
    if len(module.uses_of(first)) != 1:
        return None
    name = arguments[0].arg
    scope = module.scope(function)
    read_by_key = all(_is_read_by_key(context, use) for use in module.uses(name, scope))
    return name if read_by_key and len(scope.bindings[name]) == 1 else None


def _is_read_by_key(context: Context, use: ast.Name) -> bool:
    parent = context.module.parent_of[use]
    if isinstance(parent, ast.Subscript):
        return parent.value is use
    return isinstance(parent, ast.Attribute) and parent.attr in ("get", "setdefault")


def _reads(context: Context, call: TrainerCall) -> list[ast.Call]:
    """The get_checkpoint() calls of a module, where all are in the training function itself; else none."""
    module = context.module
    found = list(module.calls(*GET_CHECKPOINT))
    references = [reference for reference in module.references if reference.qualified.startswith(GET_CHECKPOINT)]
    sure = len(references) == len(found) and all(
        module.function(read) is call.function
        and not read.args
        and not read.keywords
        and not isinstance(module.parent_of[read], ast.Attribute)
        and context.can_import("ray", module.reference_at[read.func])
        for read in found
    )
    return found if sure else []


def _read(context: Context, read: ast.Call, config: str) -> None:
    module = context.module
    reference = module.reference_at[read.func]
    source = f'ray.train.get_checkpoint() or {config}["{ARGUMENT}"]'
    parent = module.parent_of[read]
    is_argument = isinstance(parent, ast.keyword) or (isinstance(parent, ast.Call) and read in parent.args)
    alone = is_argument or isinstance(parent, BINDS)
    context.plan.replace(read, source if alone else f"({source})")
    context.plan.need_import("ray.train", near=reference.binding.statement)
    context.handle(reference, gone=True)


def _hand_over(context: Context, call: TrainerCall, given: ast.expr) -> None:
    plan, config = context.plan, call.arguments.get("train_loop_config")
    edit = plan.call(call.node)
    edit.remove.add(ARGUMENT)
    if isinstance(config, ast.Dict):
        name = given.id if isinstance(given, ast.Name) else context.fresh("old_checkpoint")
        if not isinstance(given, ast.Name):
            plan.statement(call.statement).before.append(Code(f"{name} = $checkpoint", {"checkpoint": given}))
        plan.dict_entry(config, ARGUMENT, name)
    elif config is None or is_none(config):
        edit.set("train_loop_config", f'{{"{ARGUMENT}": $checkpoint}}', checkpoint=given)
    else:
        template = f'{{{unpacked(call.module, config)}, "{ARGUMENT}": $checkpoint}}'
        edit.set("train_loop_config", template, config=config, checkpoint=given)


@codemod(*RESTORE, phase=Phase.CONFIGURATION)
def restored(context: Context) -> None:
    """Names every restore() of a trainer that Ray has today, or of a class derived from one."""
    for node in context.module.attributes(*RESTORE):
        named = (_trainer(context, value) for value in sources(context.module, node.value))
        trainers = list(dict.fromkeys(trainer for trainer in named if trainer is not None))
        for is_older in (False, True):
            if names := [trainer.name for trainer in trainers if trainer.is_older is is_older]:
                _report(context, node, " or ".join(names), is_older=is_older)
        gone = (context.module.qualified(value) or "" for value in sources(context.module, node.value))
        if context.module.qualified(node.value) in TRAINERS:
            continue  # the rules of these tell of what is done with the class by its name
        for name in dict.fromkeys(name for name in gone if name in OF_GONE):
            message = f"Ray >= 2.51 has no {name.rpartition('.')[2]}: {node.attr}() is gone with it."
            context.manual(RM420, node, message, OF_GONE[name])
    for reference in context.references("ray.train"):
        if reference.qualified.rpartition(".")[2] in RESTORE and look_up(reference.qualified).gone is None:
            context.handle(reference, gone=False)


def _report(context: Context, node: ast.Attribute, name: str, *, is_older: bool) -> None:
    """Says what comes of a call, unless it is the error that a test waits for there."""
    if is_older and node.attr == "can_restore":
        message = f"{name}.can_restore() is False for each run of Ray >= 2.51: none of them leaves a trainer.pkl."
        context.manual(RM420, node, message, OF_OLDER)
    elif not waits_for(context.module, node, ValueError if is_older else DeprecationWarning):
        error = "a ValueError on Ray >= 2.51, of older runs too" if is_older else "a DeprecationWarning on Ray >= 2.51"
        context.manual(RM420, node, f"{name}.{node.attr}() raises {error}.", OF_OLDER if is_older else None)


class _Trainer(NamedTuple):
    """A class of trainers: its name, and whether it is one from before Train V2."""

    name: str
    is_older: bool


def _trainer(context: Context, node: ast.expr) -> _Trainer | None:
    """The trainer class that an expression is; those that Ray no longer has are told elsewhere."""
    module = context.module
    name = module.qualified(node) or ""
    is_moved = name in moved_trainers(module)  # then it is the class of Train V2 that has the method
    if base := trainer_base(look_up(name).place):
        return _Trainer(name.rpartition(".")[2], is_older=base == BEFORE_V2 and not is_moved)
    if is_call_by_name(node, "super"):
        home = module.class_around(node)
        bases = home.bases if home is not None else []
        return next(filter(None, (_trainer(context, base) for base in bases)), None)
    derived = module.definition(node)
    if not isinstance(derived, ast.ClassDef) or {p.name for p in derived.body if isinstance(p, ast.FunctionDef)} & set(
        RESTORE
    ):
        return None
    above = next(filter(None, (_trainer(context, base) for base in derived.bases)), None)
    return above._replace(name=derived.name) if above is not None else None
