"""RM693, for configurations of RLlib: methods and arguments that have another name.

Ray 2.60 rllib/algorithms/algorithm_config.py raises a ValueError for each of them (`@Deprecated(error=True)` and
`deprecation_warning(error=True)`).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.codemods.phases import Phase
from raymigrate.facts.module import Module

METHODS = {"rollouts": "env_runners", "exploration": "env_runners"}
# By the old name of an argument, the method that takes it today, and its name there.
ARGUMENTS = {
    "num_rollout_workers": ("env_runners", "num_env_runners"),
    "num_envs_per_worker": ("env_runners", "num_envs_per_env_runner"),
    "validate_workers_after_construction": ("env_runners", "validate_env_runners_after_construction"),
    "synchronize_filter": ("env_runners", "update_worker_filter_stats"),
    "num_cpus_per_worker": ("env_runners", "num_cpus_per_env_runner"),
    "num_gpus_per_worker": ("env_runners", "num_gpus_per_env_runner"),
    "custom_resources_per_worker": ("env_runners", "custom_resources_per_env_runner"),
    "num_learner_workers": ("learners", "num_learners"),
    "num_cpus_per_learner_worker": ("learners", "num_cpus_per_learner"),
    "num_gpus_per_learner_worker": ("learners", "num_gpus_per_learner"),
    "num_cpus_for_local_worker": ("resources", "num_cpus_for_main_process"),
    "ignore_worker_failures": ("fault_tolerance", "ignore_env_runner_failures"),
    "recreate_failed_workers": ("fault_tolerance", "restart_failed_env_runners"),
    "max_num_worker_restarts": ("fault_tolerance", "max_num_env_runner_restarts"),
    "delay_between_worker_restarts_s": ("fault_tolerance", "delay_between_env_runner_restarts_s"),
    "worker_health_probe_timeout_s": ("fault_tolerance", "env_runner_health_probe_timeout_s"),
    "worker_restore_timeout_s": ("fault_tolerance", "env_runner_restore_timeout_s"),
}
DEEPEST = 30  # calls in a chain
REFUSED = "of an RLlib configuration raises a ValueError today"


@codemod(*METHODS, *ARGUMENTS, phase=Phase.CALLS)
def rllib_configs(context: Context) -> None:
    """Renames the methods and arguments that only have another name, and reports those that others take."""
    module = context.module
    if not context.is_ray_script:
        return
    for call in module.of_type(ast.Call):
        method = call.func
        if not isinstance(method, ast.Attribute) or not _is_touched(call, method.attr):
            continue
        if not _is_config(module, method.value):
            continue
        name = METHODS.get(method.attr, method.attr)
        if name != method.attr and context.converts(RM693, method, f"{method.attr}() {REFUSED}; now {name}()."):
            context.plan.replace(method, f"$config.{name}", config=method.value)
        for keyword in call.keywords:
            home, new = ARGUMENTS.get(keyword.arg or "", ("", ""))
            if home == name and new not in {other.arg for other in call.keywords}:
                if context.converts(RM693, keyword, f"{keyword.arg}= {REFUSED}; now {new}=."):
                    context.plan.call(call).rename[str(keyword.arg)] = new
            elif home:
                context.manual(RM693, keyword, f"{keyword.arg}= {REFUSED}.", f"Call .{home}({new}=...) of it.")


def _is_touched(call: ast.Call, name: str) -> bool:
    return name in METHODS or any(keyword.arg in ARGUMENTS for keyword in call.keywords)


def _is_config(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether a value is a configuration of an algorithm of RLlib, whose methods give it back."""
    made = [source for source in module.origins(node) if isinstance(source.node, ast.Call)]
    for source in made if depth < DEEPEST else ():
        assert isinstance(source.node, ast.Call)
        function = source.node.func
        name = source.module.qualified(function)
        if name is not None and name.startswith("ray.rllib.") and name.endswith("Config"):
            return True
        if (
            name is None
            and isinstance(function, ast.Attribute)
            and _is_config(source.module, function.value, depth + 1)
        ):
            return True
    return False
