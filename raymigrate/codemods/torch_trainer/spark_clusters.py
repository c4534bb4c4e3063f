"""RM425: ray.util.spark.setup_ray_cluster(), which takes other arguments and returns a pair.

Ray 2.6.3 and 2.60, util/spark/cluster_init.py: `num_worker_nodes` was how many nodes to start; without
`min_worker_nodes` that is what `max_worker_nodes` means. Ray 2.9.3 had `autoscale=True`, from 0 nodes up to that many.
What took `num_worker_nodes` returned the address alone (master of 20 November 2023), and what takes `max_worker_nodes`
a pair (20 December 2023).

Up to 2.9 `num_cpus_per_node` went without `num_gpus_per_node`, and the other way round: what lacked was
`spark.task.cpus`, 1 by default, or `spark.task.resource.gpu.amount`, 0 by default. Since Ray 2.10 it takes both
or none; with none a node is a whole Spark worker where Spark schedules stages (3.4, Databricks 12), and was one such
task.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import fillings, has_starred, is_none, named_arguments, unpacked_dicts
from raymigrate.facts.values.keys import keys_of

RM425 = Rule(
    "RM425",
    "setup_ray_cluster(num_worker_nodes=)",
    "Current Ray raises a TypeError: setup_ray_cluster() takes keywords only, and needs max_worker_nodes=. It returns"
    " a pair of addresses; while it took num_worker_nodes=, it returned one.",
    "num_worker_nodes= is max_worker_nodes= now, and num_cpus_per_node= and similar arguments end in _worker_node.",
    "https://docs.ray.io/en/latest/cluster/vms/user-guides/community/spark.html",
    errors=("setup_ray_cluster() missing 1 required keyword-only argument: 'max_worker_nodes'",),
)
SETUP = ("ray.util.spark.setup_ray_cluster", "ray.util.spark.cluster_init.setup_ray_cluster")
RENAMED = {
    "num_worker_nodes": "max_worker_nodes",
    "num_cpus_per_node": "num_cpus_worker_node",
    "num_gpus_per_node": "num_gpus_worker_node",
    "object_store_memory_per_node": "object_store_memory_worker_node",
}
# The order in which Ray <= 2.6 took them, under today's names.
POSITIONS = [
    *RENAMED.values(),
    *("head_node_options", "worker_node_options", "ray_temp_root_dir", "strict_mode", "collect_log_to_path"),
]
MESSAGE = "setup_ray_cluster() takes no num_worker_nodes today: this raises a TypeError"
# The two that go together, with what each was where it lacked.
HALVES = {
    "num_cpus_worker_node": "spark.task.cpus of Spark's configuration, 1 where that isn't set",
    "num_gpus_worker_node": "spark.task.resource.gpu.amount of Spark's configuration, 0 where that isn't set",
}
WHOLE_WORKERS = (
    "Since Ray 2.10 each node of setup_ray_cluster() takes a whole Spark worker, on Spark >= 3.4 and Databricks: no"
    " more nodes start than there are workers. Before, it took spark.task.cpus, 1 by default. num_cpus_worker_node= and"
    " num_gpus_worker_node= say otherwise."
)
UNSEEN = "What setup_ray_cluster() gets here cannot be seen: old names among it raise a TypeError."
PAIR = "setup_ray_cluster() returns a pair today; with num_worker_nodes= it returned the address of the cluster alone."


@codemod("setup_ray_cluster")
def spark_clusters(context: Context) -> None:
    """Gives setup_ray_cluster() the arguments of today, and takes the address out of what it returns."""
    module = context.module
    for call in module.calls(*SETUP):
        _both_or_none(context, call)
        if not _arguments(context, call):
            _result(context, call)
        elif not module.is_statement(call) and not _is_taken_apart(module, call):
            context.plan.replace(call, "$cluster[0]", cluster=call)
    for reference in context.references(*SETUP):
        outer = module.parent_of[reference.node]
        is_called = isinstance(outer, ast.Call) and outer.func is reference.node
        if not is_called and not _is_asked_for(reference.node, outer):
            message = "Whatever calls this setup_ray_cluster() has to give it max_worker_nodes=, and gets a pair"
            context.manual(RM425, reference.node, f"{message}: with num_worker_nodes= it was the address alone.")


def _is_asked_for(name: ast.expr, outer: ast.AST) -> bool:
    """Whether code only asks whether the function is there: `if setup_ray_cluster:`, `setup_ray_cluster is None`."""
    if isinstance(outer, ast.Compare):
        return all(is_none(part) for part in (outer.left, *outer.comparators) if part is not name)
    if isinstance(outer, (ast.If, ast.IfExp, ast.While, ast.Assert)):
        return outer.test is name
    is_and = isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.And)  # `setup_ray_cluster or None` gives it
    return isinstance(outer, ast.UnaryOp) or (is_and and outer.values[-1] is not name)  # type: ignore[attr-defined]


def _arguments(context: Context, call: ast.Call) -> bool:
    """Gives a call the arguments of today, or tells of them; whether it had the legacy ones and now has not."""
    module, given = context.module, named_arguments(call)
    unpacked = unpacked_dicts(call)
    inside = [set(entries) if (entries := module.entries(value)) is not None else None for value in unpacked]
    if has_starred(call.args) or None in inside:
        if "num_worker_nodes" in given and not call.args and "autoscale" not in given:
            return _named_arguments(context, call)
        if "max_worker_nodes" not in given:
            context.manual(
                RM425, call, "What is passed to setup_ray_cluster() cannot be seen: it needs max_worker_nodes=."
            )
        return False
    old = {name for names in inside if names for name in names & {*RENAMED, "autoscale"}}
    scales = module.constant(given.get("autoscale")) if "autoscale" in given else False
    if old and ("autoscale" in old or not all(_is_for_clusters(module, value) for value in unpacked)):
        context.manual(RM425, call, f"{MESSAGE}.")
    elif call.args or old or {"num_worker_nodes", "autoscale"} & given.keys():
        if scales not in (True, False):
            context.manual(RM425, call, f"{MESSAGE}.", "Give min_worker_nodes=0 in place of autoscale=True.")
        elif context.converts(RM425, call, f"{MESSAGE}; now max_worker_nodes=."):
            edit = context.plan.call(call)
            edit.names = POSITIONS[: len(call.args)]
            edit.rename |= {old: new for old, new in RENAMED.items() if old in given}
            for value in unpacked:
                _rename_keys(context, value)
            if "autoscale" in given:
                edit.remove.add("autoscale")
            if scales is True:
                edit.set("min_worker_nodes", "0")
            return True
    return False


def _named_arguments(context: Context, call: ast.Call) -> bool:
    """Renames what a call is given by name, and tells of what it is given besides, which cannot be seen."""
    if not context.converts(RM425, call, f"{MESSAGE}; now max_worker_nodes=."):
        return False
    given = {keyword.arg for keyword in call.keywords}
    context.plan.call(call).rename |= {old: new for old, new in RENAMED.items() if old in given}
    hidden = next(keyword for keyword in call.keywords if keyword.arg is None)
    context.manual(RM425, hidden.value, UNSEEN)
    return True


def _both_or_none(context: Context, call: ast.Call) -> None:
    """Reports that CPUs are asked for without GPUs, or GPUs without CPUs; of none, what a node takes then."""
    module = context.module
    given = dict[str, ast.expr](zip(POSITIONS, call.args, strict=False))
    is_legacy = bool(call.args)
    for keyword in call.keywords:
        entries = {keyword.arg: keyword.value} if keyword.arg else module.entries(keyword.value)
        if entries is None:
            return  # the other one may be among them
        is_legacy |= "num_worker_nodes" in entries
        given |= {RENAMED.get(name, name): value for name, value in entries.items()}
    halves = [name for name in HALVES if name in given and not is_none(given[name])]
    if len(halves) == len(HALVES) or has_starred(call.args):
        return
    if halves:
        (lacking,) = HALVES.keys() - halves
        message = f"setup_ray_cluster() raises a ValueError since Ray 2.10: {halves[0]}= needs {lacking}= beside it."
        context.manual(RM425, call, message, f"Give {lacking}= too. Without it, it was {HALVES[lacking]}.")
    elif is_legacy and not _is_all(module, given.get("max_worker_nodes")):
        context.note(RM425, call, WHOLE_WORKERS)


def _is_all(module: Module, nodes: ast.expr | None) -> bool:
    """Whether as many nodes are asked for as there is room for."""
    name = module.qualified(nodes) if nodes is not None else None
    return (name or "").endswith(".MAX_NUM_WORKER_NODES") or (nodes is not None and module.constant(nodes) == -1)


def _is_for_clusters(module: Module, unpacked: ast.expr) -> bool:
    """Whether a dict is seen as a whole, and read by nothing but such calls, which unpack it."""
    keys = keys_of(module, unpacked)
    target = module.definition(unpacked)
    if keys.hidden or keys.reads or not (isinstance(target, ast.Name) or not isinstance(unpacked, ast.Name)):
        return False
    fill = fillings(module, target) if isinstance(target, ast.Name) else []
    calls = set(module.calls(*SETUP))
    left = (use for use in module.uses_of(unpacked) if module.statement(use) not in fill)
    return all(module.parent_of[module.parent_of[use]] in calls for use in left)


def _rename_keys(context: Context, unpacked: ast.expr) -> None:
    """Gives the keys of a dict their names of today."""
    keys = keys_of(context.module, unpacked)
    for name, key in keys.strings:
        if name in RENAMED:
            quote = context.module.source(key)[-1:]
            context.plan.replace(key, f"{quote}{RENAMED[name]}{quote}")
    for call, keyword in keys.keywords:
        if keyword.arg in RENAMED:
            context.plan.call(call).rename[keyword.arg] = RENAMED[keyword.arg]


def _result(context: Context, call: ast.Call) -> None:
    """Reports a result that is not taken apart: it was the address of the cluster."""
    module = context.module
    parent = module.parent_of[call]
    uses: list[ast.expr] = [call]
    if is_assignment(parent) and isinstance(target := targets_of(parent)[0], ast.Name):
        uses = [*module.uses_of(target)]
    for use in uses:
        if not module.is_statement(use) and not _is_taken_apart(module, use):
            context.manual(RM425, use, PAIR, "Where it is used as the address, take its first item.")


def _is_taken_apart(module: Module, use: ast.expr) -> bool:
    """Whether code takes an item of a pair, or each into a name."""
    outer = module.parent_of[use]
    targets = outer.targets[0] if isinstance(outer, ast.Assign) else None
    return isinstance(outer, ast.Subscript) or isinstance(targets, (ast.Tuple, ast.List))
