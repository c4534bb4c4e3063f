"""RM697 and RM723: attributes of the Trials that Tune hands to callbacks, and of their checkpoints.

`Trial.logdir` is there, and only raises (Ray 2.60 tune/experiment/trial.py); `local_path`, which took its place, is a
folder of Ray's session, from where Tune uploads what is written there. Until Ray 2.6 a Trial's checkpoint was a
`_TrackedCheckpoint` (2.6.3 train/_internal/checkpoint_manager.py); today it is a `ray.tune.Checkpoint`.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.refused_calls import RM697
from raymigrate.codemods.libraries.library_attributes import RM723
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import handed_by_tune
from raymigrate.facts.ray_tune.tune_objects import is_tune_checkpoint, is_tune_trial
from raymigrate.facts.syntax.guards import is_guarded, waits_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none

LOGDIR = "Trial.logdir raises a DeprecationWarning on Ray >= 2.51"
NOW = "now local_path, from where Tune uploads what is written there: path is where results end."
READ = (
    "Read path of it, where the results of a trial are, without the scheme of a URI; or local_path, the folder of Ray's"
    " session from where Tune uploads its own files."
)
# What a _TrackedCheckpoint had; and `value`, under Ray 1.
TRACKED = frozenset({"dir_or_data", "value", "storage_mode", "node_ip", "metrics", "to_air_checkpoint"})
# What a Trial had under legacy Ray (2.0 and 2.4 tune/experiment/trial.py), and where that is in 2.60, there and in
# tune/trainable/metadata.py and train/_internal/checkpoint_manager.py.
LOST = "{name} of a Trial raises an AttributeError on Ray >= 2.51."
INSTEAD_OF_LOST = {
    "start_time": "Read run_metadata.start_time of it.",
    "last_update_time": "Read run_metadata.last_result_time of it.",
    "location": "Read temporary_state.location of it.",
    "runner": "Read temporary_state.ray_actor of it.",
    "get_runner_ip": "Call get_ray_actor_ip() of it.",
    "checkpoint_manager": "Read run_metadata.checkpoint_manager of it, which has other methods.",
    "get_trial_checkpoints": (
        "Read run_metadata.checkpoint_manager.best_checkpoint_results of it: each has a checkpoint and metrics."
    ),
    **dict.fromkeys(
        ("remote_checkpoint_dir", "remote_path"), "Read path of it, which has no scheme of a URI in front."
    ),
    **dict.fromkeys(("sync_on_checkpoint", "uses_cloud_checkpointing"), "Take it out: all storage is used alike."),
}
CHECKPOINT = "{name} of a trial's checkpoint raises an AttributeError on Ray >= 2.7: it is a ray.tune.Checkpoint there."
INSTEAD = "Read path of it, with its filesystem, or the folder of as_directory(); metrics are in trial.last_result."


@codemod("logdir", *TRACKED, *INSTEAD_OF_LOST, phase=Phase.GONE, in_ray_scripts=True)
def trial_attributes(context: Context) -> None:
    """Reads the folder of a Trial under its new name, and tells of what it and its checkpoint lost."""
    module = context.module
    for node in module.attributes("logdir"):
        if isinstance(node.ctx, ast.Load) and is_tune_trial(module, node.value):
            _logdir(context, node)
    for name, advice in INSTEAD_OF_LOST.items():
        for node in module.attributes(name):
            is_read = isinstance(node.ctx, ast.Load) and not module.stores(name)
            if is_read and is_tune_trial(module, node.value) and not is_guarded(module, node, name):
                context.manual(RM723, node, LOST.format(name=name), advice)
    for name in TRACKED:
        for node in module.attributes(name):
            if _is_checkpoint_of_trial(module, node.value) and not is_guarded(module, node, name):
                context.manual(RM723, node, CHECKPOINT.format(name=name), INSTEAD)


def _logdir(context: Context, node: ast.Attribute) -> None:
    module = context.module
    if waits_for(module, node, DeprecationWarning) or is_guarded(module, node, "logdir"):
        return
    if handed_by_tune(module, node.value) != "trial":
        context.manual(RM697, node, f"{LOGDIR}.", READ)
    elif context.converts(RM697, node, f"{LOGDIR}; {NOW}"):
        context.plan.replace(node, "$trial.local_path", trial=node.value)


def _is_checkpoint_of_trial(module: Module, node: ast.expr) -> bool:
    """Whether an object is a checkpoint that Tune keeps, through every way to it."""
    found = [origin for origin in module.origins(node) if not is_none(origin.node)]
    return bool(found) and all(is_tune_checkpoint(origin.module, origin.node) for origin in found)
