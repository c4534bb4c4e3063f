"""What a RunConfig has that only Tune goes on to take, for one of which a trainer may be given too."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED
from raymigrate.edits.plan import CallEdit
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, unpacked_dicts, written
from raymigrate.facts.values.carried import Carried, carried
from raymigrate.knowledge.legacy import CONFIG_CLASSES
from raymigrate.knowledge.libraries import look_up, parameters, takes

CALLBACKS = "callbacks"
NAMES = ", ".join(sorted(REFUSED["RunConfig"]))
UNSEEN = f" What ** gives it cannot be seen; look for {NAMES}: that of ray.train raises."
# What does the same for a trainer; of what is not here, nothing does.
INSTEAD = {
    "stop": "In place of stop= use num_train_epochs, max_steps or EarlyStoppingCallback, or leave the training loop.",
    "sync_config": "The upload_dir of a SyncConfig is storage_path= there.",
    "local_dir": "In place of local_dir= give it storage_path=, an absolute path or a URI.",
    CALLBACKS: "In place of callbacks of Tune write a ray.train.UserCallback with after_report(), or log from rank 0 of"
    " the training function.",
}


def configs_within(context: Context, config: ast.Call) -> list[ast.Call]:
    """A RunConfig, and the configurations that are made in it."""
    names = {name for each in CONFIG_CLASSES for name in config_names(each)}
    return [config, *(call for call in context.module.calls(*names) if context.module.inside(call, config))]


def refused_by_train(context: Context, config: ast.Call) -> tuple[str, str]:
    """What ray.train's RunConfig would refuse of one, and what to do in that of a trainer.

    Args:
        context: The module, with the edits of the RunConfig planned.
        config: The RunConfig.

    Returns:
        Sentences on either: "", or with a blank before them.
    """
    unpacked = [carried(context.module, given) for given in unpacked_dicts(config)]
    named = [name for call in configs_within(context, config) for name in _refused(context, call)]
    named += _refused_entries(context, config, unpacked)
    refused = [f"{name}=" for name in dict.fromkeys(named)]
    if any(_callbacks(context, config, unpacked)):
        refused, named = [*refused, "callbacks of Tune"], [*named, CALLBACKS]
    told = f" That of ray.train refuses {', '.join(refused)}." if refused else ""
    return told if all(found.whole for found in unpacked) else f"{told}{UNSEEN}", _instead(named)


def _instead(refused: list[str]) -> str:
    """What to do in the RunConfig of a trainer with what it refuses."""
    left_out = [f"{name}=" for name in dict.fromkeys(refused) if name not in INSTEAD]
    told = [f"Leave {', '.join(left_out)} out of a trainer's."] if left_out else []
    told += [sentence for name, sentence in INSTEAD.items() if name in refused]
    return "".join(f" {sentence}" for sentence in told)


def _refused(context: Context, config: ast.Call) -> list[str]:
    """The arguments of a config that the class of the same name in ray.train does not take, and that stay."""
    edit = context.plan.calls.get(config, CallEdit())
    gone = {None, *edit.remove, *edit.rename}
    given = [name for name in (keyword.arg for keyword in config.keywords) if name is not None and name not in gone]
    return _not_taken(context, config, given)


def _refused_entries(context: Context, config: ast.Call, unpacked: list[Carried]) -> list[str]:
    return _not_taken(context, config, [entry.name for found in unpacked for entry in found.entries])


def _not_taken(context: Context, config: ast.Call, names: list[str]) -> list[str]:
    taken = parameters(look_up(f"ray.train.{called_name(context.module, config).rpartition('.')[2]}"))
    return [] if taken is None else [name for name in names if not takes(taken, name)]


def _callbacks(context: Context, config: ast.Call, unpacked: list[Carried]) -> Iterator[bool]:
    """Of each callbacks= that a RunConfig may be given whether it may hold some."""
    for keyword in config.keywords:
        if keyword.arg == CALLBACKS:
            yield _may_hold_some(context.module, keyword.value)
    given = (entry for found in unpacked for entry in found.entries if entry.name == CALLBACKS)
    yield from (_may_hold_some(entry.module, entry.value) for entry in given)


def _may_hold_some(module: Module, callbacks: ast.expr) -> bool:
    """Whether there may be a callback: a list that has a name may be filled by it."""
    return module.constant(callbacks) is not None and written(callbacks) not in (None, [], ())
