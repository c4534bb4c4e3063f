"""RM305, the rest of it: a Tune trial's name, id and folder, asked of ray.train.get_context() or of the session.

In the context of Train V2 these methods raise a DeprecationWarning (docs/semantics/train-v2.md#context). The run is
what the trial was: its name is get_experiment_name(), its folder is where result.path points.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import RM305, note_one_name
from raymigrate.codemods.ray_air.worker_cpus import read_worker_cpus
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.checkpoint_storage import LOCAL, scheme_of_run
from raymigrate.facts.values import called_name
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

GET_CONTEXT = ("ray.train.get_context", "ray.train.context.get_context")
NAMES = ("get_trial_name", "get_trial_id")
FOLDER = "get_storage().experiment_fs_path"


@codemod("get_trial_(?:name|id|dir|resources)", phase=Phase.CHECKPOINTS)
def trial_of_context(context: Context) -> None:
    """Rewrites `ray.train.get_context().get_trial_name()` and similar methods."""
    module = context.module
    asked: dict[str, ast.AST] = {}
    for node in module.of_type(ast.Call):
        if not (isinstance(node.func, ast.Attribute) and node.func.attr.startswith("get_trial_")):
            continue
        method, owner = node.func.attr, module.value(node.func.value)
        if not (isinstance(owner, ast.Call) and module.qualified(owner.func) in GET_CONTEXT):
            continue
        if context.place_of(node) is Place.TRIAL:
            continue  # in a Tune function there is a trial, and `tune_functions` deals with it
        if method == "get_trial_resources" and read_worker_cpus(context, node.func, module.reference_at[owner.func]):
            continue
        if method in NAMES:
            if context.converts(RM305, node, f"{method}() raises on Ray >= 2.51; now get_experiment_name()."):
                context.plan.replace(node.func, "$context.get_experiment_name", context=node.func.value)
                asked.setdefault(method, node)
        elif method == "get_trial_dir" and _local_storage(context):
            if context.converts(RM305, node, "get_trial_dir() raises on Ray >= 2.51; now the folder of the run."):
                context.plan.replace(node, f"$context.{FOLDER}", context=node.func.value)
        else:
            context.manual(RM305, node, f"{method}() raises a DeprecationWarning on Ray >= 2.51.")
    for call, owner_ in module.method_calls("get_experiment_name") if asked else ():
        if called_name(module, module.value(owner_.value)) in GET_CONTEXT:
            asked.setdefault("get_experiment_name", call)
    note_one_name(context, asked)


@codemod("get_trial_dir", phase=Phase.CHECKPOINTS)
def trial_folder_of_session(context: Context) -> None:
    """Rewrites `session.get_trial_dir()` where the run is kept in a folder of the machine."""
    for reference in context.references("ray.air.session.get_trial_dir"):
        call = context.module.parent_of[reference.node]
        is_call = isinstance(call, ast.Call) and call.func is reference.node
        if context.place_of(reference.root) in (Place.TRIAL, Place.BOTH):
            continue  # in a Tune function there is a trial, and `tune_functions` deals with it
        if not (is_call and _local_storage(context) and context.can_import("ray", reference)):
            continue  # reported with the other session functions
        if context.converts(RM305, reference.node, "session.get_trial_dir() is None; now the folder of the run."):
            assert isinstance(call, ast.Call)
            context.plan.need_import("ray.train", near=reference.binding.statement)
            context.plan.replace(call, f"ray.train.get_context().{FOLDER}")
            context.handle(reference, gone=True)


def _local_storage(context: Context) -> bool:
    """Whether every run of this module is known to be kept in a folder of the machine, as a trial's files were."""
    module = context.module
    calls = list(module.calls(*TRAINERS, *TORCH_TRAINERS))
    return bool(calls) and all(scheme_of_run(module, call) == LOCAL for call in calls)
