"""RM507: compute= of a mapper of Ray Data, and ActorPoolStrategy.

Legacy Ray ran functions in a pool of actors as well as classes. Today only a class may have one: a function with it
raises a ValueError, as with a pair as concurrency= (docs/semantics/data.md#ray-data).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.ray_datasets import RM507
from raymigrate.facts.ray_data.datasets import MAPPERS, OF_GROUPS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    argument,
    every_origin,
    has_starred,
    has_unpacking,
    is_method_call,
    keyword_argument,
    methods,
)
from raymigrate.facts.values.partials import PARTIAL

STRATEGY = "ray.data.ActorPoolStrategy"
LIMIT = "ray.data.TaskPoolStrategy(size=$size)"
SIZES = 2  # the arguments of the strategy that Ray 2.6.3 still took by position
NO_POOL = "A function with compute=ActorPoolStrategy() raises a ValueError: only a class may have a pool of actors"
TASKS = "Leave it out, or give compute=ray.data.TaskPoolStrategy(size=n) for at most n tasks at a time."


@codemod("compute", "ActorPoolStrategy", in_ray_scripts=True)
def actor_pools(context: Context) -> None:
    """Lets functions run as tasks, and gives a strategy its sizes by name."""
    module = context.module
    done = set()
    for call, keyword in module.keywords("compute"):
        if not is_method_call(call, *MAPPERS, OF_GROUPS):
            continue
        if module.constant(keyword.value) in ("actors", "tasks"):
            _named(context, call, keyword)
        elif (pool := _pool(module, keyword.value)) is not None and _is_function(module, _mapped(call)):
            if pool is not keyword.value:
                context.manual(RM507, keyword, f"{NO_POOL}.", TASKS)
            elif _as_tasks(context, call, keyword, pool):
                done.add(pool)
        elif pool is None and _may_be_pool(module, keyword.value) and _is_function(module, _mapped(call)):
            context.manual(RM507, keyword, f"Where this is a pool of actors: {NO_POOL[0].lower()}{NO_POOL[1:]}.", TASKS)
    _unpacked(context)
    for call in module.calls(STRATEGY):
        by_place = 1 <= len(call.args) <= SIZES and not has_starred(call.args)
        if call in done or not by_place:
            continue
        if context.converts(RM507, call, "ActorPoolStrategy takes keyword arguments only: a TypeError otherwise."):
            context.plan.call(call).names = ["min_size", "max_size"][: len(call.args)]


def _unpacked(context: Context) -> None:
    """Tells of pools for functions that come in a dict of arguments: `**{"compute": ActorPoolStrategy()}`."""
    module = context.module
    for call in (call for name in (*MAPPERS, OF_GROUPS) for call, _ in module.method_calls(name)):
        for keyword in (keyword for keyword in call.keywords if keyword.arg is None):
            given = (module.entries(keyword.value) or {}).get("compute")
            if given is not None and _may_be_pool(module, given) and _is_function(module, _mapped(call)):
                context.manual(RM507, keyword, f"{NO_POOL}.", TASKS)


def _named(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Deals with compute="tasks" and compute="actors"."""
    kind = context.module.constant(keyword.value)
    message = f'compute="{kind}" raises a ValueError'
    if kind == "tasks" or _is_function(context.module, _mapped(call)):
        if context.converts(RM507, keyword, f"{message}; deleted, as functions run as tasks."):
            context.plan.call(call).remove.add("compute")
    else:
        context.manual(
            RM507,
            keyword,
            f"{message}.",
            "For a class use compute=ray.data.ActorPoolStrategy(min_size=1, max_size=n), with the largest number of"
            " actors. Leave it out for a function.",
        )


def _as_tasks(context: Context, call: ast.Call, keyword: ast.keyword, pool: ast.Call) -> bool:
    """Runs a function as tasks, at most as many at a time as there were actors; whether that could be written."""
    if has_unpacking(pool):
        context.manual(RM507, keyword, f"{NO_POOL}.", TASKS)
        return False
    largest = keyword_argument(pool, "size") or argument(pool, 1, "max_size")
    limited = largest is not None and context.module.constant(largest) is not None
    now = "now tasks, at most as many at a time" if limited else "deleted, as functions run as tasks"
    if not context.converts(RM507, keyword, f"{NO_POOL}; {now}."):
        return False
    if limited and largest is not None:
        context.take_out(pool.func)
        context.plan.need_import("ray")
        context.plan.replace(pool, LIMIT, size=largest)
    else:
        context.plan.call(call).remove.add("compute")
    return True


def _mapped(call: ast.Call) -> ast.expr | None:
    """What a mapper is given to apply."""
    return argument(call, 0, "fn")


def _pool(module: Module, node: ast.expr) -> ast.Call | None:
    """The strategy of actors that a value surely is."""
    made = module.value(node)
    return made if isinstance(made, ast.Call) and module.qualified(made.func) == STRATEGY else None


def _may_be_pool(module: Module, node: ast.expr) -> bool:
    """Whether a value is the strategy of actors in one of the cases."""
    return any(_pool(source.module, source.node) is not None for source in module.origins(node))


def _is_function(module: Module, node: ast.expr | None) -> bool:
    """Whether what is mapped surely is a function, and no class: a lambda, a def, a method, a partial of a function."""
    return every_origin(module, node, _runs_as_task)


def _runs_as_task(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Call):
        return module.qualified(node.func) == PARTIAL
    if isinstance(node, ast.Attribute) and methods(module, node):
        return True
    elsewhere = module.elsewhere(node)
    found = elsewhere.node if elsewhere is not None else module.definition(node)
    return isinstance(found, ast.FunctionDef)
