"""Workers that read the command line: Ray starts them with one of its own, so that they are given the script's."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_ray.command_lines import CLICK, HYDRA, run_with_options
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.refusals import Reason
from raymigrate.codemods.to_ray.script import executed
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.facts.projects.command_lines import (
    files_of,
    may_read,
    names_read,
    reached,
    read_flags,
    read_while_imported,
)
from raymigrate.facts.syntax.named_lines import named_line
from raymigrate.facts.syntax.scopes import import_bindings


def reads_command_line(outline: Outline) -> bool:
    """Whether code that moves, or that it calls, may read the command line."""
    return may_read(outline.module, outline.roles.moved_or_makers())


def read_out_of_reach(roles: Roles) -> Reason | None:
    """Why a script cannot be converted whose workers would read a command line that they cannot be given."""
    return _called_by_reader(roles) or _read_while_imported(roles) or _flags(roles)


def _called_by_reader(roles: Roles) -> Reason | None:
    """A function that click, hydra or fire call, in a call that has to move: click ends the process behind it."""
    module = roles.module
    for step in roles.moved_or_makers():
        for decorator in getattr(step, "decorator_list", ()):
            name = module.qualified(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
            if name in (*CLICK, HYDRA):
                called = step.name  # type: ignore[attr-defined]
                message = f"{name} lets {called} read the command line, which a worker cannot do, and {called}() is no"
                advice = f"Call {called}() once, without arguments, below `if __name__` and in no other statement."
                return Reason(decorator, f"{message} statement of the module by itself. {advice}")
        for call in executed(module, step):
            if (function := run_with_options(module, call)) is not None:
                message = f"`{module.source(call)}` reads the command line, which a worker cannot do"
                advice = f"Let it stand below `if __name__` by itself, and be all use of {function.id}."
                return Reason(call, f"{message}. {advice}")
    return None


def _read_while_imported(roles: Roles) -> Reason | None:
    """A file of the project that parses while it is imported: workers import what they need before they run it."""
    module, known = roles.module, set[ast.AST]()
    for name, statement in _imported(roles):
        for other in files_of(module, statement):
            found = read_while_imported(other, known)
            if found is not None:
                home, place = found
                what = f"Workers import {home.path} for {ast.unparse(name)}, and {named_line(home, place)} of it"
                advice = "Parse it in a function that the training calls."
                return Reason(name, f"{what} parses the command line on import: there it is Ray's. {advice}")
    return None


def _imported(roles: Roles) -> Iterator[tuple[ast.expr, ast.Import | ast.ImportFrom]]:
    """What workers need of the imports that stay on the level of the module: modules, functions, classes; no values.

    A value is sent as it is, and an import that moves is carried out behind the line that gives them the command line.
    """
    module, moved = roles.module, set(roles.moved())
    staying = [statement for statement in module.imports if module.function(statement) is None]
    bound = {name: s for s in staying if s not in moved for name, _ in import_bindings(s)}
    for code in reached(module, roles.moved_or_makers()):
        for name in names_read(code) if code.module is module else ():
            root = name.value if isinstance(name, ast.Attribute) else name
            if isinstance(root, ast.Name) and root.id in bound and module.qualified(root) is not None:
                found = module.elsewhere(root)
                if found is None or not isinstance(found.node, ast.Name):
                    yield name, bound[root.id]


def _flags(roles: Roles) -> Reason | None:
    place = read_flags(roles.module, roles.moved_or_makers())
    if place is None:
        return None
    message = "The training reads flags of absl, which are not sent to workers (can't pickle FlagValues)."
    return Reason(place, f"{message} Give it their values as arguments, or read the command line with argparse.")
