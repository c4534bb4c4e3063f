"""The logger of loguru, and whether a script lets it write to a file: then Ray cannot pickle it (pickling.py)."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.facts.projects.callees import calls_within, lead_to
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Binding
from raymigrate.facts.values import argument, is_method_call

PACKAGE, LOGURU = "loguru", "loguru.logger"
SCREEN = ("sys.stdout", "sys.stderr")
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)


def bound_by(module: Module, binding: Binding) -> str:
    """What an import binds: the logger itself where another file of the project only hands it on; empty for no import.

    Args:
        module: The module.
        binding: What binds the name.
    """
    statement, alias = binding.statement, binding.node
    if isinstance(statement, ast.ImportFrom) and isinstance(alias, ast.alias) and module.names_of_files:
        for other in _imported_modules(module, statement):
            handed = other.scope_of[other.tree].bindings.get(alias.name, ())
            if any(one.qualified == LOGURU for one in handed):
                return LOGURU
    return binding.qualified or ""


def _imported_modules(module: Module, statement: ast.Import | ast.ImportFrom) -> Iterator[Module]:
    """The modules of the project that an import leads to, of those that name loguru."""
    project = module.project
    for file in project.files_of_import(module.path, statement) if project is not None else ():
        if project is not None and (other := project.module_binding(file, PACKAGE)) is not None:
            yield other


def files_of_loguru(module: Module, sent: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Where the level of the module, or a function called there, lets loguru write to more than the screen.

    Args:
        module: The module.
        sent: Code that is no part of that level, since it is sent.
    """
    away = set(sent)
    for place in _openings_of_loguru(module):
        function = module.function(place)
        uses = module.uses_of(function) if isinstance(function, NAMED) else []
        is_begun = function is None or any(module.function(use) is None for use in uses)
        around = {outer for each in (place, *uses) for outer in (each, *module.ancestors(each))}
        if is_begun and around.isdisjoint(away):
            yield place


@kept
def _openings_of_loguru(module: Module) -> list[ast.AST]:
    """What gives loguru a file: calls of its `add`, calls of functions of other files that do so, and their imports."""
    bound = [binding for bindings in module.scope_of[module.tree].bindings.values() for binding in bindings]
    if not any(bound_by(module, binding).partition(".")[0] == PACKAGE for binding in bound):
        return []
    found: list[ast.AST] = [call for call in module.of_type(ast.Call) if _opens_file(module, call)]
    calls = module.of_type(ast.Call) if module.names_of_files else []
    found += (call for call, _, _ in lead_to(module, calls, _opening_in))
    for statement in module.imports if module.names_of_files else ():
        for other in _imported_modules(module, statement):
            added = (call for call in other.of_type(ast.Call) if other.function(call) is None)
            if any(_opens_file(other, call) for call in added):
                found.append(statement)
    return found


def _opening_in(module: Module, code: ast.AST) -> ast.Call | None:
    """The call in some code that lets loguru write to a file."""
    return next((call for call in calls_within(code) if _opens_file(module, call)), None)


def _opens_file(module: Module, call: ast.Call) -> bool:
    """Whether a call lets loguru write to more than the screen."""
    if not is_method_call(call, "add") or not _is_logger(module, call.func):
        return False
    sink = argument(call, 0, "sink")
    return sink is not None and module.qualified(sink) not in SCREEN and not isinstance(sink, ast.Lambda)


def _is_logger(module: Module, method: ast.Attribute) -> bool:
    """Whether a method is one of loguru's logger, which another file may hand on."""
    logger = method.value
    if module.qualified(logger) == LOGURU:
        return True
    if not isinstance(logger, ast.Name) or (scope := module.bound_in(logger)) is None:
        return False
    return any(bound_by(module, binding) == LOGURU for binding in scope.bindings[logger.id])
