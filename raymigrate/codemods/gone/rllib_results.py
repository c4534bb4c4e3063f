"""RM695, for results of RLlib: keys that they have elsewhere today.

Ray 2.60 rllib/algorithms/algorithm.py puts what is known of episodes below "env_runners", and its default API stack has
returns there in place of rewards (rllib/env/single_agent_env_runner.py).
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from types import EllipsisType

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.places import TRAINABLE
from raymigrate.facts.ray_tune.tuners import TUNERS
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, constants, is_call_by_name, is_method_call, reaching

KEYS = {
    "episode_reward_mean": "episode_return_mean",
    "episode_reward_min": "episode_return_min",
    "episode_reward_max": "episode_return_max",
    "episode_len_mean": "episode_len_mean",
}
HOME = "env_runners"
RUNS = (*TUNERS, "ray.tune.run", "ray.tune.tune.run")
METRIC = ("metric", "checkpoint_score_attribute", "checkpoint_score_attr")
BEST = ("get_best_result", "get_best_trial", "get_best_logdir", "get_best_config", "get_best_checkpoint")


@codemod(*KEYS, phase=Phase.GONE, in_ray_scripts=True)
def rllib_results(context: Context) -> None:
    """Tells of keys that a script reads from results of RLlib, or gives Tune as a metric or a goal of such runs."""
    module = context.module
    tuned = [_is_of_rllib(module, given) for call in module.calls(*RUNS) if (given := argument(call, 0, *TRAINABLE))]
    today = _around(module, filter(_is_of_today, module.of_type(ast.Constant)))
    goals = {module.value(keyword.value) for _, keyword in module.keywords("stop")}
    for key, new in KEYS.items():
        nodes = [node for node in module.spelling(key) if isinstance(node, ast.Constant)]
        asked = _around(module, nodes)
        own = _WrittenKeys(module, key)
        for node in nodes:
            if is_guarded(module, node, key) or _knows_both(module, node, asked, today):
                continue
            if (read := _read(module, node)) is not None:
                if not own.has(node, read[0]):
                    _tell_read(context, node, read, new)
            elif (use := _use_by_tune(module, node, goals)) and tuned and all(tuned):
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


def _around(module: Module, nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """The nodes, and all that they are in."""
    found = set[ast.AST]()
    for node in nodes:
        found.add(node)
        for above in module.ancestors(node):
            if above in found:
                break
            found.add(above)
    return found


def _knows_both(module: Module, node: ast.AST, asked: Collection[ast.AST], today: Collection[ast.AST]) -> bool:
    """Whether code has another way for the key of today: `try`, `or`, a condition that names one of both.

    Args:
        node: The key of before.
        asked: What that key is in, at any place.
        today: What a key of today is in.
    """
    for above in module.ancestors(node):
        asks = above.test if isinstance(above, ast.If) else None
        if asks is None or asks in asked:
            if isinstance(above, (ast.Try, ast.If, ast.IfExp, ast.BoolOp)) and above in today:
                return True
        elif asks in today:
            return True
    return False


def _is_of_today(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and _names_today(node.value)


def _names_today(key: object) -> bool:
    return isinstance(key, str) and key.partition("/")[0] == HOME


def _read(module: Module, node: ast.Constant) -> tuple[ast.expr, str] | None:
    """What a key is read from, and what comes of that."""
    match module.parent_of[node]:
        case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if key is node:
            return value, "raises a KeyError"
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]) if key is node:
            return value, "is not there"
    return None


def _use_by_tune(module: Module, node: ast.Constant, goals: Collection[ast.AST]) -> str:
    """What comes of a key that Tune is given: as metric, or in one of the dicts of what ends a trial."""
    parent = module.parent_of[node]
    if isinstance(parent, ast.keyword) and parent.arg in METRIC:
        return "so that Tune raises an error"
    if is_method_call(parent, *BEST):
        return "so that none is found"
    is_goal = isinstance(parent, ast.Dict) and parent in goals and node in parent.keys
    return "so that no trial ends by it" if is_goal else ""


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
    reached = list(_reached(module, node))
    if any(_is_below(source) for source in reached):
        return False  # perhaps one way of several: who wrote that knows both
    known = {kind for source in reached if (kind := _kind(source)) is not ...}
    return known.pop() if len(known) == 1 else None if known else False


def _reached(module: Module, node: ast.expr) -> Iterator[Source]:
    """Each value that it may be, and what those are taken from."""
    waiting, seen = [Source(module, node)], set[Source]()
    while waiting:
        current = waiting.pop()
        for source in current.module.origins(current.node):
            if source not in seen:
                seen.add(source)
                yield source
                if (owner := _owner(source)) is not None and not _is_below(source):
                    waiting.append(Source(source.module, owner))


def _owner(source: Source) -> ast.expr | None:
    """What a value is taken from, or a copy of: `x` of `x.metrics`, `x[0]`, `x.fit()` and `dict(x)`."""
    match source.node:
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return value
        case ast.Call(func=ast.Attribute(value=value)) as call if source.module.qualified(call.func) is None:
            return value
        case ast.Call(func=ast.Name(id="dict"), args=[value]):
            return value
    return None


def _kind(source: Source) -> bool | EllipsisType | None:
    """Whether a value is a result; None where that is not known, `...` where what it is taken from tells."""
    value = source.node
    name = called_name(source.module, value)
    if isinstance(value, ast.Call) and name in RUNS:
        given = argument(value, 0, *TRAINABLE)
        return None if given is None else _is_of_rllib(source.module, given)
    if name:
        return name.startswith("ray.rllib.")
    if isinstance(value, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.DictComp)):
        return False
    if isinstance(value, ast.Subscript) and any(key is ... for _, key in constants(source.module, value.slice)):
        return None  # by a key that is not known
    return None if _owner(source) is None else ...


def _is_below(source: Source) -> bool:
    """Whether a value is what a result holds of the episodes today: by `[...]`, `get()`, `pop()` or `setdefault()`."""
    match source.node:
        case ast.Subscript(slice=key) | ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
            return any(_names_today(name) for _, name in constants(source.module, key))
    return False


class _WrittenKeys:
    """The places where a module writes a key into a dict: `d["key"] = 1`, `d.update(key=1)`, `d = {"key": 1}`.

    Args:
        module: The module.
        key: The key.
    """

    def __init__(self, module: Module, key: str) -> None:
        self.module = module
        # For each dict and each function that writes to it, where the first statement ends that does.
        self._written = dict[object, dict[ast.AST | None, tuple[int, int]]]()
        for node, of in _writes(module, key):
            function = module.function(node)
            for dictionary in self._identities(of):
                ends = self._written.setdefault(dictionary, {})
                ends[function] = min(ends.get(function, module.end(node)), module.end(node))

    def has(self, read: ast.AST, of: ast.expr) -> bool:
        """Whether the key is written to a dict before it is read there, or in another function.

        Args:
            read: The node that reads it.
            of: The dict.
        """
        function = self.module.function(read)
        return any(
            writer is not function or end <= self.module.start(read)
            for dictionary in self._identities(of)
            for writer, end in self._written.get(dictionary, {}).items()
        )

    def _identities(self, dictionary: ast.expr) -> set[object]:
        """What uses of one dict have in common: where it is made, where its name is bound, or its spelling."""
        if isinstance(dictionary, ast.Name) and not isinstance(dictionary.ctx, ast.Load):
            return {dictionary}
        found: set[object] = {source.node for source in self.module.origins(dictionary)}
        if isinstance(dictionary, ast.Name):
            return found | {binding.node for binding in reaching(self.module, dictionary)}
        return {*found, ast.unparse(dictionary)}


def _writes(module: Module, key: str) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The nodes that write a key, each with the dict."""
    for node in module.spelling(key):
        parent = module.parent_of[node]
        match parent:
            case ast.Subscript(value=of, slice=written, ctx=ast.Store()) if written is node:
                yield module.statement(parent), of
            case ast.Call(func=ast.Attribute(value=of, attr="setdefault"), args=[written, *_]) if written is node:
                yield parent, of
            case ast.Dict(keys=keys) if node in keys:
                yield from _given(module, parent)
    for call, keyword in module.keywords(key):
        if is_method_call(call, "update"):
            yield call, call.func.value
        elif is_call_by_name(call, "dict") and keyword.arg == key:
            yield from _given(module, call)


def _given(module: Module, made: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The dicts that a dict is given to: the name that it gets, or what it is merged into."""
    match module.parent_of[made]:
        case ast.Assign(targets=targets) as statement:
            yield from ((statement, target) for target in targets)
        case ast.AnnAssign(target=target) | ast.AugAssign(op=ast.BitOr(), target=target) as statement:
            yield statement, target
        case ast.Call(func=ast.Attribute(value=of, attr="update")) as call:
            yield call, of
