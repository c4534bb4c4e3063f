"""RM414, for the parameters of Tune functions: `checkpoint_dir` and `reporter`, which Tune filled once.

Ray 2.60 calls a Tune function with its config alone (tune/trainable/function_trainable.py:191). With a default the
parameter keeps that, so each trial begins anew in silence; without one the call raises. Legacy Ray looked at the
names of the parameters, and handed over the folder of the last checkpoint, or a function that reports.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tune_functions import RM414
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.places import TAKE_TRAINABLES, TRAINABLE, WRAPPERS
from raymigrate.facts.syntax.functions import default_of, parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import Source, argument, has_starred, named_arguments, unpacked_dicts
from raymigrate.facts.values.carried import carried

RESOURCES = "ray.tune.with_resources"
REGISTER = "ray.tune.register_trainable"
FOLDER, REPORTER = "checkpoint_dir", "reporter"
ADVICE = {
    FOLDER: (
        "Take the parameter away. Begin with checkpoint = ray.tune.get_checkpoint(), and where that is not None read"
        " the files in with checkpoint.as_directory() as checkpoint_dir."
    ),
    REPORTER: "Take the parameter away, and call ray.tune.report({...}) in its place.",
}
ALONE = "Current Ray calls a Tune function with its config alone"
KEEPS = f"{ALONE}: {FOLDER} keeps its default, so a trial that goes on begins anew"
RAISES = f"{ALONE}, and raises a ValueError or TypeError for"


@codemod(FOLDER, REPORTER, phase=Phase.TRIALS)
def parameters_of_trials(context: Context) -> None:
    """Reports such parameters of functions that a Tuner gets, where nothing else fills them."""
    module = context.module
    told = set[ast.AST]()
    for call in module.calls(*TAKE_TRAINABLES, REGISTER):
        given = _wrapped(call) if module.qualified(call.func) in WRAPPERS else _trainable(module, call)
        filled = _filled(Source(module, call)) if module.qualified(call.func) in WRAPPERS else frozenset[str]()
        if given is None:
            continue
        for home, function, names in _functions(module, given, filled):
            for parameter in parameters(function):
                if parameter.arg in ADVICE.keys() - names and parameter not in told:
                    told.add(parameter)
                    _tell(context, home, function, parameter, given)


def _trainable(module: Module, call: ast.Call) -> ast.expr | None:
    return argument(call, *((1, "trainable") if module.qualified(call.func) == REGISTER else (0, *TRAINABLE)))


def _wrapped(call: ast.Call) -> ast.expr | None:
    return argument(call, 0, "func", "trainable")


def _functions(
    module: Module, given: ast.expr, filled: frozenset[str], depth: int = 0
) -> Iterator[tuple[Module, FunctionNode, frozenset[str]]]:
    """The functions behind a trainable, with the names of the parameters that wrappers around them fill."""
    for source in module.origins(given):
        node = source.node
        wrapped = (
            _wrapped(node) if isinstance(node, ast.Call) and source.module.qualified(node.func) in WRAPPERS else None
        )
        if wrapped is None:
            found = (one for one in callees(source.module, node) if one.function is not None)
            yield from ((one.module, one.function, filled) for one in found if one.function is not None)
        elif depth < len(WRAPPERS):
            yield from _functions(source.module, wrapped, filled | _filled(source), depth + 1)


def _filled(wrapper: Source) -> frozenset[str]:
    """The parameters that a wrapper fills: `partial(f, checkpoint_dir=folder)`; both where positions would tell."""
    assert isinstance(wrapper.node, ast.Call)
    if wrapper.module.qualified(wrapper.node.func) == RESOURCES:
        return frozenset()
    names = {*named_arguments(wrapper.node)}
    for given in unpacked_dicts(wrapper.node):
        names |= {entry.name for entry in carried(wrapper.module, given).entries}
    by_position = len(wrapper.node.args) > 1 or has_starred(wrapper.node.args)
    return frozenset(names | (ADVICE.keys() if by_position else set()))


def _tell(context: Context, home: Module, function: FunctionNode, parameter: ast.arg, given: ast.expr) -> None:
    """Reports one parameter, at the Tuner where the function is in another file."""
    has_default = default_of(parameter, function.args) is not None
    reads = (node for node in home.below(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    if has_default and parameter.arg not in {node.id for node in reads}:
        return
    if parameter.arg == FOLDER and has_default:
        message = KEEPS
    elif has_default:
        message = f"{ALONE}: {REPORTER} keeps its default, and reports nothing"
    else:
        message = f"{RAISES} {parameter.arg}, which has no default"
    where = parameter if home is context.module else given
    context.manual(RM414, where, f"{message}.", ADVICE[parameter.arg])
