"""RM695, for results of RLlib: keys that they have elsewhere today.

Ray 2.60 rllib/algorithms/algorithm.py puts what is known of episodes below "env_runners", and its default API stack has
returns there in place of rewards (rllib/env/single_agent_env_runner.py).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.codemods.phases import Phase
from raymigrate.facts.guards import is_guarded
from raymigrate.facts.module import Module
from raymigrate.facts.tuners import TUNERS
from raymigrate.facts.values import Source, argument

KEYS = {
    "episode_reward_mean": "episode_return_mean",
    "episode_reward_min": "episode_return_min",
    "episode_reward_max": "episode_return_max",
    "episode_len_mean": "episode_len_mean",
}
HOME = "env_runners"
RUNS = (*TUNERS, "ray.tune.run", "ray.tune.tune.run")
TRAINABLE = ("trainable", "run_or_experiment")
METRIC = ("metric", "checkpoint_score_attribute", "checkpoint_score_attr")
BEST = ("get_best_result", "get_best_trial", "get_best_logdir", "get_best_config", "get_best_checkpoint")


@codemod(*KEYS, phase=Phase.GONE)
def rllib_results(context: Context) -> None:
    """Tells of keys that a script reads from results of RLlib, or gives Tune as a metric or a goal of such runs."""
    module = context.module
    if not context.is_ray_script:
        return
    tuned = [_is_of_rllib(module, given) for call in module.calls(*RUNS) if (given := argument(call, 0, *TRAINABLE))]
    for key, new in KEYS.items():
        for node in module.spelling(key):
            if not isinstance(node, ast.Constant) or is_guarded(module, node, key) or _knows_both(module, node, key):
                continue
            if (read := _read(module, node)) is not None:
                _tell_read(context, node, read, new)
            elif (use := _use_by_tune(module, node)) and tuned and all(tuned):
                outcome = f'"{key}" is no metric of RLlib today, {use}'
                context.manual(RM695, node, f"{outcome}.", f'Write "{HOME}/{new}".')


def _tell_read(context: Context, node: ast.Constant, read: tuple[ast.expr, str], new: str) -> None:
    of, outcome = read
    known = _is_result(context.module, of)
    is_sure = known is True
    if is_sure or (known is None and any(context.module.references_within("ray.rllib"))):
        where = "" if is_sure else "Where this is a result of RLlib, "
        message = f'{where}"{node.value!s}" {outcome} today.'
        context.manual(RM695, node, message, f'Read ["{HOME}"]["{new}"], in a data frame of results "{HOME}/{new}".')


def _knows_both(module: Module, node: ast.AST, key: str) -> bool:
    """Whether code has another way for the key of today: `try`, `or`, a condition that names one of both."""
    for above in module.ancestors(node):
        asks = above.test if isinstance(above, ast.If) else None
        if asks is None or any(isinstance(part, ast.Constant) and part.value == key for part in ast.walk(asks)):
            ways = isinstance(above, (ast.Try, ast.If, ast.IfExp, ast.BoolOp))
            if ways and any(_is_of_today(part) for part in ast.walk(above)):
                return True
        elif any(_is_of_today(part) for part in ast.walk(asks)):
            return True
    return False


def _is_of_today(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and value.partition("/")[0] == HOME


def _read(module: Module, node: ast.Constant) -> tuple[ast.expr, str] | None:
    """What a key is read from, and what comes of that."""
    match module.parent_of[node]:
        case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if key is node:
            return value, "raises a KeyError"
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]) if key is node:
            return value, "is not there"
    return None


def _use_by_tune(module: Module, node: ast.Constant) -> str:
    """What comes of a key that Tune is given: as metric, or in the dict of what ends a trial."""
    parent = module.parent_of[node]
    if isinstance(parent, ast.keyword) and parent.arg in METRIC:
        return "so that Tune raises an error"
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in BEST:
        return "so that none is found"
    if isinstance(parent, ast.Dict) and node in parent.keys:
        if any(module.value(keyword.value) is parent for _, keyword in module.keywords("stop")):
            return "so that no trial ends by it"
    return ""


def _is_of_rllib(module: Module, trainable: ast.expr) -> bool:
    """Whether Tune is given an algorithm of RLlib, by its class or its name."""
    registered = any(module.calls("ray.tune.register_trainable", "ray.tune.registry.register_trainable"))
    sources = list(module.origins(trainable))
    return bool(sources) and all(
        (source.module.qualified(source.node) or "").startswith("ray.rllib.")
        or (isinstance(source.node, ast.Constant) and isinstance(source.node.value, str) and not registered)
        for source in sources
    )


def _is_result(module: Module, node: ast.expr) -> bool | None:
    """Whether a value is a result of RLlib, or of a Tuner that runs it; None where it may be."""
    known = set(_kinds(module, node))
    return known.pop() if len(known) == 1 else None if known else False


def _kinds(module: Module, node: ast.expr) -> Iterator[bool | None]:
    """For each value that it may be whether that is one: by the call or the object at its start."""
    waiting, seen = [Source(module, node)], set[Source]()
    while waiting:
        current = waiting.pop()
        for source in current.module.origins(current.node):
            if source in seen:
                continue
            seen.add(source)
            value = source.node
            function = value.func if isinstance(value, ast.Call) else None
            name = source.module.qualified(function) if function is not None else None
            if isinstance(value, ast.Call) and name in RUNS:
                given = argument(value, 0, *TRAINABLE)
                yield None if given is None else _is_of_rllib(source.module, given)
            elif name is not None:
                yield name.startswith("ray.rllib.")
            elif isinstance(value, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.DictComp)) or _is_below(value):
                yield False
            elif isinstance(value, (ast.Attribute, ast.Subscript)):
                waiting.append(Source(source.module, value.value))
            elif isinstance(function, ast.Attribute):
                waiting.append(Source(source.module, function.value))
            else:
                yield None


def _is_below(value: ast.AST) -> bool:
    """Whether a value is what a result holds of the episodes today."""
    return isinstance(value, ast.Subscript) and _is_of_today(value.slice)
