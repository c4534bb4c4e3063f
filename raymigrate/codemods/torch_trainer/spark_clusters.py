"""RM425: ray.util.spark.setup_ray_cluster(), which takes other arguments and returns a pair.

Ray 2.6.3 and 2.60, util/spark/cluster_init.py: `num_worker_nodes` was how many nodes to start; without
`min_worker_nodes` that is what `max_worker_nodes` means. Ray 2.9.3 had `autoscale=True`, from 0 nodes up to that many.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context

RM425 = Rule(
    "RM425",
    "setup_ray_cluster(num_worker_nodes=)",
    "Current Ray raises a TypeError: setup_ray_cluster() takes keywords only, and needs max_worker_nodes=. It returns a"
    " pair of addresses, where Ray <= 2.6 returned one.",
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


@codemod("setup_ray_cluster")
def spark_clusters(context: Context) -> None:
    """Gives setup_ray_cluster() the arguments of today, and reports uses of its result as one address."""
    for call in context.module.calls(*SETUP):
        _arguments(context, call)
        _result(context, call)


def _arguments(context: Context, call: ast.Call) -> None:
    module, given = context.module, {keyword.arg: keyword.value for keyword in call.keywords}
    unpacked = [keyword.value for keyword in call.keywords if keyword.arg is None]
    inside = [set(entries) if (entries := module.entries(value)) is not None else None for value in unpacked]
    if any(isinstance(argument, ast.Starred) for argument in call.args) or None in inside:
        if "max_worker_nodes" not in given:
            context.manual(
                RM425, call, "What is passed to setup_ray_cluster() cannot be seen: it needs max_worker_nodes=."
            )
        return
    if any(names & {*RENAMED, "autoscale"} for names in inside if names):
        context.manual(RM425, call, f"{MESSAGE}.")
    elif call.args or {"num_worker_nodes", "autoscale"} & given.keys():
        scales = module.constant(given.get("autoscale")) if "autoscale" in given else False
        if scales not in (True, False):
            context.manual(RM425, call, f"{MESSAGE}.", "Give min_worker_nodes=0 in place of autoscale=True.")
        elif context.converts(RM425, call, f"{MESSAGE}; now max_worker_nodes=."):
            edit = context.plan.call(call)
            edit.names = POSITIONS[: len(call.args)]
            edit.rename |= {old: new for old, new in RENAMED.items() if old in given}
            if "autoscale" in given:
                edit.remove.add("autoscale")
            if scales is True:
                edit.set("min_worker_nodes", "0")


def _result(context: Context, call: ast.Call) -> None:
    """Reports a result that is not taken apart: it was the address of the cluster."""
    module = context.module
    parent = module.parent_of[call]
    uses: list[ast.expr] = [call]
    if isinstance(parent, ast.Assign) and isinstance(target := parent.targets[0], ast.Name):
        scope = module.scope_of[target].find(target.id)
        uses = [*module.uses(target.id, scope)] if scope is not None else []
    for use in uses:
        outer = module.parent_of[use]
        takes_apart = isinstance(outer, ast.Assign) and isinstance(outer.targets[0], (ast.Tuple, ast.List))
        if isinstance(outer, (ast.Expr, ast.Subscript)) or takes_apart:
            continue
        message = "setup_ray_cluster() returns a pair today; Ray <= 2.6 returned the address of the cluster alone."
        context.manual(RM425, use, message, "Where it is used as the address, take its first item.")
