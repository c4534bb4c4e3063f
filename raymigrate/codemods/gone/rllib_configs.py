"""RM693, for configurations of RLlib: methods and arguments that have another name.

Ray 2.60 rllib/algorithms/algorithm_config.py raises a ValueError for each of them (`@Deprecated(error=True)` and
`deprecation_warning(error=True)`).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_none

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
REFUSED = "of an RLlib configuration raises a ValueError today"


@codemod(*METHODS, *ARGUMENTS, phase=Phase.CALLS, in_ray_scripts=True)
def rllib_configs(context: Context) -> None:
    """Renames the methods and arguments that only have another name, and reports those that others take."""
    module = context.module
    for call in module.of_type(ast.Call):
        method = call.func
        if not isinstance(method, ast.Attribute) or not _is_touched(call, method.attr):
            continue
        name = METHODS.get(method.attr, method.attr)
        is_one = _is_config(module, method.value)
        if is_one is False or _is_for_old_ray(module, call, name):
            continue
        if is_one is None:
            _tell(context, call, method)
            continue
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


def _tell(context: Context, call: ast.Call, method: ast.Attribute) -> None:
    """Tells of a call that only some of the objects refuse that it may be of."""
    old = [str(keyword.arg) for keyword in call.keywords if keyword.arg in ARGUMENTS]
    new = [f".{home}({name}=...)" for home, name in (ARGUMENTS[each] for each in old)]
    shown = " and ".join([f"{method.attr}()"] * (method.attr in METHODS) + [f"{each}=" for each in old])
    instead = ", ".join(new or [f".{METHODS.get(method.attr)}()"])
    message = f"Where this is one of RLlib's configurations, Ray raises a ValueError for {shown} today."
    context.manual(RM693, method, message, f"Call {instead} of it there.")


def _is_for_old_ray(module: Module, call: ast.Call, name: str) -> bool:
    """Whether a call runs only where a configuration lacks the method of today, or Ray is of another version."""
    child: ast.AST = call
    for outer in module.ancestors(call):
        if isinstance(outer, ast.Try) and isinstance(child, ast.ExceptHandler):
            tried = (part for statement in outer.body for part in ast.walk(statement))
            if any(isinstance(part, ast.Attribute) and part.attr == name for part in tried):
                return True
        child = outer
    return is_guarded(module, call, name)


def _is_config(module: Module, node: ast.expr) -> bool | None:
    """Whether a value is a configuration of an algorithm of RLlib, whose methods give it back; None where it may be."""
    known, waiting, seen = set[bool](), [Source(module, node)], set[Source]()
    while waiting:
        current = waiting.pop()
        for source in current.module.origins(current.node):
            if source in seen or is_none(source.node):
                continue
            seen.add(source)
            function = source.node.func if isinstance(source.node, ast.Call) else None
            name = source.module.qualified(function) if function is not None else None
            if name is None and isinstance(function, ast.Attribute):
                waiting.append(Source(source.module, function.value))
            else:
                known.add(name is not None and name.startswith("ray.rllib.") and name.endswith("Config"))
    return known.pop() if len(known) == 1 else None if known else False
