"""RM405 for a ScalingConfig whose number of workers a search draws: it is made before that is drawn, and refuses it."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner import RM405
from raymigrate.facts.module import Module
from raymigrate.facts.partials import function_of
from raymigrate.facts.tuners import config_names
from raymigrate.facts.values import argument

DRAWN = "ScalingConfig(num_workers=) raises a ValueError on Ray >= 2.51 for what is still to be drawn."
AS_DICT = "Give the arguments as a dict, and make the ScalingConfig of it in the function that fits the trainer."
OF_TUNE = "ray.tune."
WORKERS, POSITION = "num_workers", 1


@codemod("ScalingConfig", "Tuner", phase=Phase.TRIALS)
def drawn_workers(context: Context) -> None:
    """Reports numbers of workers that a search draws, where no Tuner was converted that reads them."""
    for value in dict.fromkeys([*_given_here(context), *_handed_on(context.module)]):
        context.manual(RM405, value, DRAWN, AS_DICT)


def _given_here(context: Context) -> Iterator[ast.Call]:
    """What the ScalingConfigs of a file get, also by a parameter of a function around them."""
    module = context.module
    for call in module.calls(*config_names("ScalingConfig")):
        workers = argument(call, POSITION, WORKERS)
        edit = context.plan.calls.get(call)
        if workers is None or (edit is not None and edit.function == "dict"):
            continue
        for source in module.origins(workers):
            if source.module is module and isinstance(source.node, ast.Call) and _is_drawn(module, source.node):
                yield source.node


def _handed_on(module: Module) -> Iterator[ast.Call]:
    """What is given to a partial() of the class, or to a function of another file that makes one."""
    for drawn in module.of_type(ast.Call):
        if not isinstance(drawn, ast.Call) or not _is_drawn(module, drawn):
            continue
        keyword = module.parent_of[drawn]
        call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) else keyword
        if not isinstance(call, ast.Call) or (module.qualified(call.func) or "").startswith("ray."):
            continue
        name = keyword.arg if isinstance(keyword, ast.keyword) else None
        if (name == WORKERS and _is_partial(module, call)) or _makes_config(module, call, drawn, name):
            yield drawn


def _is_drawn(module: Module, call: ast.Call) -> bool:
    return (module.qualified(call.func) or "").startswith(OF_TUNE)


def _is_partial(module: Module, call: ast.Call) -> bool:
    """Whether a call calls what partial() made of the class, or is that call of partial() itself."""
    return any(_is_partial_call(s.module, s.node) for s in (*module.origins(call.func), *module.origins(call)))


def _is_partial_call(module: Module, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or (given := function_of(module, node)) is node.func:
        return False
    return module.qualified(given) in config_names("ScalingConfig")


def _makes_config(module: Module, call: ast.Call, drawn: ast.Call, name: str | None) -> bool:
    """Whether a function of another file makes a ScalingConfig with the number of workers that it is given."""
    for source in module.origins(call):
        made = source.node
        if source.module is module or not isinstance(made, ast.Call):
            continue
        if source.module.qualified(made.func) in config_names("ScalingConfig"):
            workers, function = argument(made, POSITION, WORKERS), source.module.function(made)
            if isinstance(workers, ast.Name) and isinstance(function, ast.FunctionDef):
                names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
                given = name or (names[call.args.index(drawn)] if call.args.index(drawn) < len(names) else None)
                if given == workers.id:
                    return True
    return False
