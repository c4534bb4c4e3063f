"""RM723, for the group of workers that a Backend of ray.train is given.

Train V2 hands on_start(), on_training_start() and on_shutdown() an ExecutionGroup (Ray 2.60,
train/v2/_internal/callbacks/backend_setup.py), which runs functions on the workers as the WorkerGroup of before did,
and has none of its attributes (train/_internal/worker_group.py, train/_internal/base_worker_group.py).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.library_attributes import RM723
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.handed_on import handed_on
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import by_position, is_static
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.libraries import lineage, look_up

BACKEND = "ray.train.backend.Backend"
GROUPS = tuple(f"ray.train.{module}.WorkerGroup" for module in ("_internal.worker_group", "worker_group"))
DEEPEST = 3  # functions that hand it on to each other
METHODS = ("on_start", "on_training_start", "on_shutdown")
STARTED_BY_RAY = "Take it out: Train V2 starts, sorts and stops the workers itself."
OF_RESOURCES = "Read {owner}.get_resources_per_worker(){item}."
# What the WorkerGroup of Ray 2.0 to 2.50 had, and what to read of the group today.
GONE = {
    "num_workers": "Read len({owner}).",
    "num_cpus_per_worker": OF_RESOURCES.replace("{item}", '.get("CPU", 0)'),
    "num_gpus_per_worker": OF_RESOURCES.replace("{item}", '.get("GPU", 0)'),
    "additional_resources_per_worker": OF_RESOURCES.replace("{item}", ""),
    "workers": "Call {owner}.get_workers(): each worker has an actor and its metadata, with node_id and gpu_ids.",
    **dict.fromkeys(
        (
            *("add_workers", "remove_workers", "start", "group_workers_by_ip", "sort_workers_by_ip_and_gpu_id"),
            *("sort_workers_by_node_id_and_gpu_id", "_move_workers_with_ip_to_front"),
        ),
        STARTED_BY_RAY,
    ),
}


@codemod("on_start", "on_training_start", "on_shutdown", "WorkerGroup", phase=Phase.GONE)
def worker_groups(context: Context) -> None:
    """Reports what the group of workers that a Backend gets no longer has."""
    module = context.module
    for node in module.attributes(*GONE):
        if not _is_group(module, node.value) or is_guarded(module, node, node.attr):
            continue
        owner = module.source(node.value)
        message = (
            f"The group of workers that a Backend gets on Ray >= 2.51 has no {node.attr}: this raises an"
            " AttributeError."
        )
        context.manual(RM723, node, message, GONE[node.attr].replace("{owner}", owner))


def _is_group(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Whether a value is the group that a method of a Backend is given, or a parameter that is declared as one."""
    for source in module.origins(value):
        parameter = source.module.definition(source.node)
        if isinstance(parameter, ast.arg) and isinstance(source.node, ast.Name):
            if _is_declared(source.module, parameter) or _is_given_to_backend(source.module, parameter):
                return True
            given = handed_on(source.module, source.node) if depth < DEEPEST else ()
            if any(_is_group(one.module, one.node, depth + 1) for one in given):
                return True
    return False


def _is_declared(module: Module, parameter: ast.arg) -> bool:
    """Whether a parameter is declared as a WorkerGroup, in a module that makes none, which is still what it was."""
    declared = parameter.annotation
    return declared is not None and module.qualified(declared) in GROUPS and not any(module.calls(*GROUPS))


def _is_given_to_backend(module: Module, parameter: ast.arg) -> bool:
    """Whether a parameter is the first, after `self`, of such a method of a class made from Backend."""
    method = module.function(parameter)
    home = module.parent_of.get(method) if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    if not isinstance(home, ast.ClassDef) or not isinstance(method, ast.FunctionDef) or is_static(method):
        return False
    given = by_position(method)
    if method.name not in METHODS or parameter not in given[1:2]:
        return False
    return any(BACKEND in lineage(look_up(base).place) for base in library_bases(module, home))
