"""RM806, RM828: decorators of libraries around what trains, which may start it elsewhere: `@flow`, `@app.job()`."""

import ast
from collections.abc import Iterable

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.arrivals import arrivals
from raymigrate.codemods.to_ray.command_lines import decorated_by
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.values import last_name, sources_here

# Libraries whose decorators call the function where it is called, or complete a class where that is made.
CALL_IT = LIBRARIES | {
    *("attr", "attrs", "beartype", "click", "gin", "hydra", "jaxtyping", "lightning_utilities", "line_profiler"),
    *("loguru", "omegaconf"),
    *("memory_profiler", "msgspec", "overrides", "pydantic", "tqdm", "typeguard", "typing_extensions", "weave"),
}
REGISTERS = "register"  # methods that only put what they get into a table: `@RUNNERS.register_module()`
MESSAGE = (
    "@{} is around {}, which trains: each worker enters it, so that what it starts or records comes once for each"
    " worker. If it runs the function elsewhere, the workers train nothing."
)
ADVICE = "Take the decorator off, or put it around the function that calls TorchTrainer(...).fit()."


def tell_decorators(context: Context, rule: Rule, starts: Iterable[ast.Call]) -> None:
    """Tells of decorators that may run elsewhere what the workers call.

    Args:
        context: The module.
        rule: The rule that tells.
        starts: The calls that train.
    """
    module = context.module
    around = [outer for call in arrivals(module, starts) for outer in module.ancestors(call)]
    for definition in dict.fromkeys(outer for outer in around if isinstance(outer, DEFINITIONS)):
        if isinstance(definition, ast.FunctionDef) and decorated_by(module, definition) is not None:
            continue
        for decorator in definition.decorator_list:
            if not _called_name(decorator).startswith(REGISTERS) and _library(module, decorator) not in CALL_IT:
                message = MESSAGE.format(module.source(decorator), definition.name)
                context.manual(rule, decorator, message, ADVICE)


def _called_name(decorator: ast.expr) -> str:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _library(module: Module, decorator: ast.expr) -> str:
    """The library that a decorator is of, itself or as a method of an object that it made; `builtins` for others."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    root = root_of_chain(node)
    if module.elsewhere(node) is not None or root is None:
        return "builtins"
    places = (node, *sources_here(module, root))
    names = [module.qualified(n.func if isinstance(n, ast.Call) else n) for n in places]
    return next((name for name in names if name), "builtins").partition(".")[0]
