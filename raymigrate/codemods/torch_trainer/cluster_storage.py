"""RM417: a run on a cluster whose results go to a folder that each machine has for itself.

Legacy Ray up to 2.6 brought checkpoints from the workers to the head node. Today each worker writes to the storage
path, and first looks there for a file that the head node wrote (Ray 2.60, train/v2/_internal/execution/storage.py:442;
run with two nodes, the second with a home folder of its own).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.spark_clusters import SETUP
from raymigrate.facts.ray_train.connections import CONNECTS
from raymigrate.facts.ray_train.reports import Carried, carried_by_job, with_all_imported
from raymigrate.facts.ray_train.runs_without_checkpoint import reports_no_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCodes
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall, config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.values import (
    Source,
    argument,
    is_none,
    keyword_argument,
    leading_text,
    named_arguments,
    unpacked_dicts,
)
from raymigrate.knowledge.legacy import HF_TRAINERS, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

RM417 = Rule(
    "RM417",
    "results on a cluster without storage that all machines see",
    "Workers on another machine than the head node raise a RuntimeError when they report a checkpoint: they look for"
    " the run in the storage path, by default ~/ray_results, which is a folder of each machine. Legacy Ray brought"
    " checkpoints to the head node.",
    "Give RunConfig(storage_path=) a folder that all machines share, or a URI such as s3://bucket/runs. On a single"
    " machine there is nothing to do.",
    "https://docs.ray.io/en/latest/train/user-guides/persistent-storage.html",
    errors=("Unable to set up cluster storage with the following settings",),
    unproven="It takes two machines.",
)
MESSAGE = (
    "Workers on another machine than the head node raise a RuntimeError when they report a checkpoint: no storage is"
    " named that all machines see."
)
STORED_BY = ("storage_path", "local_dir", "sync_config", "storage_filesystem")
OF_EACH_MACHINE = ("~", "/tmp/")
AFFINITY = "ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy"


@codemod("ray", phase=Phase.CONFIGURATION)
def cluster_storage(context: Context) -> None:
    """Reports trainers of a script for a cluster that name no storage, or one below a home folder."""
    module = context.module
    if not context.of_legacy_job or not _is_for_cluster(module) or context.from_ray.lowest >= (2, 7):
        return
    tuners = [TunerCall(module, call) for call in module.calls(*TUNERS)]
    tuned = {tuner.trainer: tuner.arguments.get("run_config") for tuner in tuners}
    for call in module.calls(*TRAINERS, *TORCH_TRAINERS):
        run_config = tuned.get(call) or keyword_argument(call, "run_config")
        if not unpacked_dicts(call) and _saves(module, call) and _is_of_each_machine(module, run_config):
            context.manual(RM417, run_config or call, MESSAGE)


def _is_for_cluster(module: Module) -> bool:
    """Whether a script connects to a cluster, or makes one, or may do so, or does something on each of its machines."""
    if any(module.references_within(AFFINITY)) or any(
        _goes_through(module, call) for call in module.calls("ray.nodes")
    ):
        return True
    return any(module.calls(*CONNECTS, *SETUP)) or any(
        (address := argument(call, 0, "address")) is not None and _may_be_address(module, address)
        for call in module.calls("ray.init")
    )


def _goes_through(module: Module, nodes: ast.Call) -> bool:
    """Whether a loop or a comprehension goes through the machines of the cluster; printing them is no sign of it."""
    around = module.parent_of[nodes]
    return isinstance(around, (ast.For, ast.comprehension)) and around.iter is nodes


def _may_be_address(module: Module, node: ast.expr) -> bool:
    return any(found.module.constant(found.node) not in (None, "", "local") for found in module.origins(node))


def _saves(module: Module, trainer: ast.Call) -> bool:
    """Whether a training may report checkpoints, for all that can be seen."""
    saves_itself = module.qualified(trainer.func) in TRANSFORMERS_TRAINERS or any(module.calls(*HF_TRAINERS))
    if saves_itself or carried_by_job(module)[0] is Carried.NONE:
        return saves_itself
    codes = TrainingCodes(with_all_imported(module))
    return not reports_no_checkpoint(codes.of_trainers([Source(module, trainer)]))


def _is_of_each_machine(module: Module, run_config: ast.expr | None) -> bool:
    """Whether a RunConfig is seen to name no storage, or a folder that machines have for themselves."""
    if is_none(run_config):
        return True
    assert run_config is not None
    value = module.value(run_config)
    if not isinstance(value, ast.Call) or not _is_run_config(module, value.func):
        return False
    given = named_arguments(value)
    if unpacked_dicts(value) or len(value.args) > 1:
        return False
    named = [given[name] for name in STORED_BY if name in given and not is_none(given[name])]
    return all(leading_text(module, node).startswith(OF_EACH_MACHINE) for node in named)


def _is_run_config(module: Module, name: ast.expr) -> bool:
    """Whether a name is that of Ray's RunConfig, also where only a star import of Ray brings it in.

    Nothing shows what such a script was written for once the names are written out, so this run tells.
    """
    if not isinstance(name, ast.Name) or module.bound_in(name):
        return module.qualified(name) in config_names("RunConfig")
    stars = [module.imported(line, line.names[0]).partition(".")[0] for line in module.star_imports]
    return name.id == "RunConfig" and "ray" in stars and LIBRARIES.issuperset(stars)
