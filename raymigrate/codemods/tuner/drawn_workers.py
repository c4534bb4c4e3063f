"""RM405 for a ScalingConfig whose workers, or their resources, a search draws: it is made before, and refuses that."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner import RM405
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.functions import parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name
from raymigrate.facts.values.partials import function_of

DRAWN = "ScalingConfig({}=) raises {} on Ray >= 2.51 for what is still to be drawn."
AS_DICT = "Give the arguments as a dict, and make the ScalingConfig of it in the function that fits the trainer."
OF_TUNE = "ray.tune."
GRID_SEARCH = "grid_search"
RESOURCES = "resources_per_worker"
# The place of each argument, and the error. Of other arguments nothing is asked yet (measured on Ray 2.60).
REFUSED = {"num_workers": (1, "a ValueError"), RESOURCES: (3, "an AttributeError")}


@codemod("ScalingConfig", "Tuner", phase=Phase.TRIALS)
def drawn_workers(context: Context) -> None:
    """Reports numbers and resources of workers that a search draws, where no Tuner was converted that reads them."""
    for value, name in dict.fromkeys([*_given_here(context), *_handed_on(context.module)]):
        context.manual(RM405, value, DRAWN.format(name, REFUSED[name][1]), AS_DICT)


def _given_here(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """What the ScalingConfigs of a file get, also by a parameter of a function around them, and as which argument."""
    module = context.module
    for call in module.calls(*config_names("ScalingConfig")):
        edit = context.plan.calls.get(call)
        if edit is not None and edit.function == "dict":
            continue
        for name, (position, _) in REFUSED.items():
            given = argument(call, position, name)
            for source in module.origins(given):
                drawn = source.node
                if source.module is module and isinstance(drawn, ast.Call) and _is_refused(module, drawn, name):
                    yield drawn, name


def _handed_on(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """What is given to a partial() of the class, or to a function of another file that makes one."""
    for drawn in module.of_type(ast.Call):
        if not _is_drawn(module, drawn):
            continue
        keyword = module.parent_of[drawn]
        call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) else keyword
        if not isinstance(call, ast.Call) or called_name(module, call).startswith("ray."):
            continue
        name = keyword.arg if isinstance(keyword, ast.keyword) else None
        given = name if name in REFUSED and _is_partial(module, call) else _made_with(module, call, drawn, name)
        if given is not None and _is_refused(module, drawn, given):
            yield drawn, given


def _is_drawn(module: Module, call: ast.Call) -> bool:
    return called_name(module, call).startswith(OF_TUNE)


def _is_refused(module: Module, call: ast.Call, name: str) -> bool:
    """Whether something is drawn that an argument cannot be: grid_search() makes a dict, as resources are."""
    is_dict = called_name(module, call).endswith(f".{GRID_SEARCH}")
    return _is_drawn(module, call) and not (is_dict and name == RESOURCES)


def _is_partial(module: Module, call: ast.Call) -> bool:
    """Whether a call calls what partial() made of the class, or is that call of partial() itself."""
    return any(_is_partial_call(s.module, s.node) for s in (*module.origins(call.func), *module.origins(call)))


def _is_partial_call(module: Module, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or (given := function_of(module, node)) is node.func:
        return False
    return module.qualified(given) in config_names("ScalingConfig")


def _made_with(module: Module, call: ast.Call, drawn: ast.Call, name: str | None) -> str | None:
    """The argument of a ScalingConfig that a function of another file makes of what it is given."""
    for source in module.origins(call):
        made = source.node
        if source.module is module or not isinstance(made, ast.Call):
            continue
        if source.module.qualified(made.func) in config_names("ScalingConfig"):
            function = source.module.function(made)
            if not isinstance(function, ast.FunctionDef):
                continue
            parameter = name or parameter_for(function, call, drawn)
            for argued, (position, _) in REFUSED.items():
                given = argument(made, position, argued)
                if isinstance(given, ast.Name) and given.id == parameter:
                    return argued
    return None
