"""Which names of datasets the file itself settles, and which a caller may give otherwise."""

import ast
import itertools

from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.facts.projects.project_uses import Uses, answer
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import default_of, parameter_for, parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import Source, argument
from raymigrate.facts.values.constructors import is_dataclass

LOADERS = tuple(
    f"datasets{module}.{name}"
    for module in ("", ".load")
    for name in ("load_dataset", "load_dataset_builder", "get_dataset_config_names", "get_dataset_split_names")
)


def is_settled(module: Module, given: ast.expr, source: Source) -> bool:
    """Whether a loader gets the one name that the file writes, whoever calls the function or makes the object.

    A default, a field and an argument are what others may give: the place that loads must not add to those, nor to a
    text that is put together, f"{name}", whose parts may be such.

    Args:
        module: The module.
        given: What the loader is given.
        source: The literal that it comes from.
    """
    if not isinstance(source.node, ast.Constant):
        return False
    if source.module is module and (source.node is given or module.inside(source.node, given)):
        return True
    if _is_of_parameter(module, given):
        return False
    above = itertools.takewhile(lambda node: not isinstance(node, ast.stmt), source.module.ancestors(source.node))
    if any(isinstance(node, (ast.arguments, ast.Call)) for node in above):
        return False
    home = source.module.parent_of.get(source.module.statement(source.node))
    return not (isinstance(home, ast.ClassDef) and is_dataclass(home))


def names_datasets_only(module: Module, given: ast.expr, source: Source) -> bool:
    """Whether a literal gets a name that only loaders of datasets are given, so that it can be written in full.

    Args:
        module: The module.
        given: What the loader is given: the literal itself, or the name.
        source: The literal.
    """
    if source.module is not module or not isinstance(source.node, ast.Constant):
        return False
    if source.node is given:
        return True
    function, name = _parameter_of(module, source.node)
    if function is not None:
        return bool(name) and _all_loaded(module, function, name)
    statement = module.parent_of.get(source.node)
    target = only_target(statement) or getattr(statement, "target", None)
    if not isinstance(target, ast.Name) or module.assigned(target) is not source.node:
        return False
    scope = module.bound_in(target)
    if scope is None or isinstance(scope.node, ast.ClassDef) or is_exported(module, target.id):
        return False
    if module.project is not None and scope.node is module.tree:
        definition = Definition(module, target, target.id)
        return answer(module.project, "names datasets only", definition, _are_all_loaded)
    return all(_is_loaded(module, use) for use in module.uses(target.id, scope))


def _parameter_of(module: Module, literal: ast.AST) -> tuple[ast.FunctionDef | None, str]:
    """The function of the file that gets a literal, as a default or as an argument, and its parameter for it."""
    outer = module.parent_of.get(literal)
    if isinstance(outer, ast.arguments):
        function = module.parent_of.get(outer)
        if not isinstance(function, ast.FunctionDef):
            return None, ""
        names = [p.arg for p in parameters(function) if default_of(p, function.args) is literal]
        return function, names[0] if names else ""
    call = module.taking(literal)
    function = module.definition(call.func) if call is not None else None
    if call is None or not isinstance(function, ast.FunctionDef) or not isinstance(literal, ast.expr):
        return None, ""
    return function, parameter_for(function, call, literal)


def _all_loaded(module: Module, function: ast.FunctionDef, name: str) -> bool:
    uses = module.uses(name, module.scope(function))
    return bool(uses) and all(_is_loaded(module, use) for use in uses)


def _is_of_parameter(module: Module, given: ast.expr) -> bool:
    """Whether a value is a parameter, or is read from one: `self.name`, and `name` after `name = config["name"]`."""
    seen = set[ast.AST]()
    while given not in seen:
        seen.add(given)
        while isinstance(given, (ast.Attribute, ast.Subscript)):
            given = given.value
        bound = [binding.node for binding in module.bindings_of(given)]
        if any(isinstance(node, ast.arg) for node in bound):
            return True
        value = module.assigned(bound[0]) if len(bound) == 1 and isinstance(bound[0], ast.Name) else None
        given = value if isinstance(value, (ast.Attribute, ast.Subscript)) else given
    return False


def _are_all_loaded(uses: Uses) -> bool:
    return not uses.unclear and all(_is_loaded(module, node) for module, node in uses.reads)


def _is_loaded(module: Module, use: ast.expr) -> bool:
    """Whether an expression is the name that a loader is given."""
    call = module.taking(use)
    return call is not None and module.qualified(call.func) in LOADERS and argument(call, 0, "path") is use
