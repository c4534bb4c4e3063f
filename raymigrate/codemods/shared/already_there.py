"""What new code needs and the module has already, from an earlier run of raymigrate or by its user's own hand."""

import ast
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache

from raymigrate.facts.projects.helpers import Helper, has_code_of, has_docstring
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import import_bindings

Definition = ast.FunctionDef | ast.ClassDef
# Statements that run no function, so that nothing is missing yet which stands below them.
RUNS_NOTHING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def helper_there(module: Module, helper: Helper, users: Sequence[ast.AST]) -> str | None:
    """The name by which code can use a helper that the module defines, or imports from another file; None without.

    Args:
        module: The module.
        helper: The helper.
        users: Where it is used.
    """
    for definition in definitions_of(module, helper):
        if can_use(module, definition, definition.name, users):
            return definition.name
    return _imported(module, helper, users)


def same_definition(module: Module, source: str, users: Sequence[ast.AST]) -> str | None:
    """The name of a class or function of the module whose code is the same; None where there is none to be used.

    Args:
        module: The module.
        source: The definition that it would take the place of.
        users: Where it is used.
    """
    (wanted,) = ast.parse(source).body
    assert isinstance(wanted, Definition)
    return next((d.name for d in _like(module, wanted) if can_use(module, d, d.name, users)), None)


@kept
def definitions_of(module: Module, helper: Helper) -> list[Definition]:
    """The definitions of a helper in a module, under whatever name."""
    found: list[Definition] = []
    *inner, _ = _statements(helper.source())
    inner_names = [d.name for part in inner if isinstance(part, Definition) for d in _like(module, part)]
    for name in dict.fromkeys(inner_names if inner else [helper.inner]):
        wanted = _statements(helper.source(inner=name))[-1]
        assert isinstance(wanted, Definition)
        found += [each for each in _like(module, wanted) if _has_imports(module, helper, each)]
    return found


@lru_cache(256)
def _statements(source: str) -> list[ast.stmt]:
    """Those of the source of a helper, which is compared with the code of many files."""
    return ast.parse(source).body


def _like(module: Module, wanted: Definition) -> Iterator[Definition]:
    """The definitions of a module with the same code as another one."""
    for definition in _by_shape(module, type(wanted)).get(_shape(wanted), ()):
        if has_code_of(definition, wanted):
            yield definition


@kept
def _by_shape(module: Module, kind: type[Definition]) -> dict[Hashable, list[Definition]]:
    """The classes or functions of a module, by what can be compared at once."""
    found: dict[Hashable, list[Definition]] = {}
    for definition in module.of_type(kind):
        found.setdefault(_shape(definition), []).append(definition)
    return found


def _shape(definition: Definition) -> Hashable:
    """The bases of a class or the parameters of a function, and the kinds of its statements."""
    if isinstance(definition, ast.ClassDef):
        takes = [ast.dump(base) for base in definition.bases]
    else:
        takes = [parameter.arg for parameter in parameters(definition)]
    body = definition.body[1:] if has_docstring(definition) else definition.body
    return (*map(type, body), *takes)


def _has_imports(module: Module, helper: Helper, definition: ast.AST) -> bool:
    """Whether the names that a helper reads stand for the same where its code is as it should be."""
    scope = module.scope_of[definition]
    for source, name in helper.imports:
        root = source.partition(".")[0]
        local, meaning = (root, root) if name is None else (name, f"{source}.{name}")
        if module.meanings(scope, local) != {meaning}:
            return False
    return True


def _imported(module: Module, helper: Helper, users: Sequence[ast.AST]) -> str | None:
    """The name under which the module imports a helper from another file."""
    for statement in module.imports if module.project is not None else ():
        for name, binding in import_bindings(statement):
            alias = binding.node
            if not isinstance(alias, ast.alias) or alias.name != helper.name:
                continue
            assert module.project is not None
            found = module.project.imported(module, binding)
            if (
                found is not None
                and found.name == helper.name
                and helper.is_in(found.module.tree)
                and _has_imports(found.module, helper, found.node)
                and can_use(module, statement, name, users)
            ):
                return name
    return None


def can_use(module: Module, definition: ast.stmt, name: str, users: Sequence[ast.AST]) -> bool:
    """Whether a name means what a statement binds it to wherever it is used, and has that meaning by then.

    Args:
        module: The module.
        definition: The statement.
        name: The name.
        users: Where it is used.
    """
    scope = module.scope_of[definition]
    if sum(len(other.bindings.get(name, ())) for other in module.scopes) != 1:
        return False
    if not all(module.scope_of[user].find(name) is scope for user in users):
        return False
    block = _block(module, definition)
    places = [_place(module, block, user) for user in users]
    if None in places:
        return False
    last = max(place for place in places if place is not None)
    return block.index(definition) < last or all(
        isinstance(s, RUNS_NOTHING) for s in block[last : block.index(definition)]
    )


def first_of_blocks(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """The first statements of the blocks that a statement is in, from the inside up to its function or the module.

    What new code puts before a statement of one of them is there for those that follow in the same one.
    """
    scope, found = module.scope_of[statement], list[ast.stmt]()
    for outer in (statement, *module.ancestors(statement)):
        if isinstance(outer, ast.stmt) and module.scope_of[outer] is scope:
            found.append(_block(module, outer)[0])
    return found


def _block(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements beside one, itself among them."""
    lists = [value for _, value in ast.iter_fields(module.parent_of[statement]) if isinstance(value, list)]
    return next(statements for statements in lists if statement in statements)


def _place(module: Module, block: list[ast.stmt], node: ast.AST) -> int | None:
    """The number of the statement in a block that a node is, or is part of."""
    around = {node, *module.ancestors(node)}
    return next((number for number, statement in enumerate(block) if statement in around), None)
