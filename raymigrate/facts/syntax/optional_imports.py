"""Imports that a file can do without: where one fails, a stub has its name, such as None or an empty class.

Current libraries have what is imported, so that the name stands for that: the stub is never seen.
"""

import ast
import operator
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.alternatives import IMPORT_ERRORS, OF_VERSIONS, goes_on, goes_on_after, kinds_of
from raymigrate.facts.syntax.nodes import Nodes, is_assignment, is_negation, targets_of
from raymigrate.facts.syntax.scopes import DEFINITIONS, Binding, import_bindings
from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.versions import LOWEST, read_version

Block = Sequence[ast.stmt]
Import = ast.Import | ast.ImportFrom
IMPORTS = (ast.Import, ast.ImportFrom)
STUBS = (ast.Constant, ast.Lambda, ast.Dict, ast.Name)  # what a name is bound to in place of an import
OF_RAY = lazy_regex(r"""\bray\.__version__|(?:version|distribution)\(['"]ray['"]\)""")
VERSION = lazy_regex(r"\d+(\.\d+)+")
OPERATORS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
OF_CLASS = lazy_regex(r"parse|Version$")  # what makes a version of a text: version.parse, LooseVersion
CUT = lazy_regex(r"\b__version__\[|\(['\"]ray['\"]\)\[")  # ray.__version__[:3] is "2.5" with Ray 2.51
# As Ray writes them, the lowest one and those to come: what compares texts may give another answer from 2.70 on.
RAYS = [*(f"2.{minor}.0" for minor in range(int(LOWEST["ray"].split(".")[1]), 100)), "3.0.0"]
STILL_THERE = "ray.air"  # current Ray has its names, and refuses them or does nothing: a rule moves them
# Conditions that do not ask whether a library is there.
OTHERS = lazy_regex(rf"TYPE_CHECKING|__name__|{OF_VERSIONS.pattern}", re.IGNORECASE)


def stubs(nodes: Nodes) -> frozenset[ast.AST]:
    """What binds the name of an import where that fails or is left out: names, classes and functions.

    Where current libraries lack what is imported, the stub is what the code gets: then it is none of these.

    Args:
        nodes: The module.
    """
    return frozenset(
        node
        for tried, others in _ways(nodes)
        if (names := set(_bound_of(tried)))
        for name, node in _stubs_in(others)
        if name in names
    )


def former_ways(nodes: Nodes) -> dict[ast.AST, ast.AST]:
    """What binds the name of an import that current libraries have, as older versions of the same library had it.

    `try: from ray.train import RunConfig`, `except ImportError: from ray.air import RunConfig`: it is never reached. So
    it is in the branch of a condition on the version of Ray.

    Args:
        nodes: The module.

    Returns:
        The aliases of such imports, each with that of the import which counts.
    """
    return {
        binding.node: first.node
        for today, former in _ways_by_version(nodes)
        if (names := _bound_of(today))
        for statement in _statements(former)
        if isinstance(statement, Import)
        for name, binding in import_bindings(statement)
        if (first := names.get(name)) is not None and _package(binding) == _package(first)
        if not (first.qualified or "").startswith(STILL_THERE)
    }


def _ways_by_version(nodes: Nodes) -> Iterator[tuple[Block, Block]]:
    """Blocks that run with the libraries of today, each with those that run in its place with older ones."""
    for tried in nodes.of_type(ast.Try):
        yield from ((tried.body, handler.body) for handler in tried.handlers if _catches(handler))
    for branch in nodes.of_type(ast.If):
        if branch.orelse and (holds := holds_today(nodes, branch.test)) is not None:
            yield (branch.body, branch.orelse) if holds else (branch.orelse, branch.body)


def holds_today(nodes: Nodes, test: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> bool | None:
    """Whether a condition on the version of Ray, or on a name in it, holds; None where that is not seen.

    A text is compared letter by letter, as a float by its value: "2.51.0" is below "2.7".

    Args:
        nodes: The module.
        test: The condition.
        seen: The conditions that led here: `quiet = not quiet`.
    """
    test = _held(nodes, test)
    if test in seen:
        return None
    if is_negation(test):
        holds = holds_today(nodes, test.operand, seen | {test})
        return None if holds is None else not holds
    if isinstance(test, ast.BoolOp):
        held = {holds_today(nodes, part, seen | {test}) for part in test.values}
        decides = isinstance(test.op, ast.Or)  # one part alone
        return decides if decides in held else None if None in held else not decides
    if isinstance(test, ast.Call) and ast.unparse(test.func) == "hasattr":
        return True if _is_there(nodes, test) else None
    if not isinstance(test, ast.Compare):
        return None
    pairs = zip(pairwise([test.left, *test.comparators]), test.ops, strict=True)
    held = {_is_so(_held(nodes, left), type(compares), _held(nodes, right)) for (left, right), compares in pairs}
    return False if False in held else None if None in held else True


def _is_so(side: ast.expr, kind: type[ast.cmpop], bound: ast.expr) -> bool | None:
    """Whether a comparison of the version of Ray holds, whichever side it is on; None where that is not seen."""
    if kind in TURNED and not OF_RAY.search(ast.unparse(side)):
        side, kind, bound = bound, TURNED[kind], side
    compare, left = OPERATORS.get(kind), ast.unparse(side)
    if compare is None or not OF_RAY.search(left) or CUT.search(left):
        return None
    if isinstance(bound, ast.Constant) and left == "ray.__version__":
        answers = {compare(version, bound.value) for version in RAYS} if isinstance(bound.value, str) else set()
        return answers.pop() if len(answers) == 1 else None
    text = _written_version(side, bound)
    if not VERSION.fullmatch(text):
        return None
    lowest, written = read_version(LOWEST["ray"]), read_version(text)
    return compare(lowest, written) if written < lowest else None


def _held(nodes: Nodes, node: ast.expr) -> ast.expr:
    """What a name holds that is given a value once, else the expression itself: `RAY_27` of `if RAY_27`."""
    bindings = nodes.bindings_of(node)
    given = nodes.parent_of.get(bindings[0].node) if len(bindings) == 1 else None
    return given.value if is_assignment(given) and bindings[0].node in targets_of(given) else node


def _is_there(nodes: Nodes, asks: ast.Call) -> bool:
    """Whether it is seen that Ray has what is asked for today: `hasattr(ray.train, "RunConfig")`."""
    owner, name = asks.args if len(asks.args) == 2 else (None, None)
    rest = list[str]()
    while isinstance(owner, ast.Attribute):
        rest.insert(0, owner.attr)
        owner = owner.value
    home = {binding.qualified for binding in nodes.bindings_of(owner)}
    if len(home) != 1 or not isinstance(name, ast.Constant):
        return False
    package = home.pop() or ""
    return package.partition(".")[0] == "ray" and bool(look_up(".".join((package, *rest, str(name.value)))).place)


def _written_version(left: ast.expr, bound: ast.expr) -> str:
    """The version that is written out in what compares as one: `version.parse("2.7")`, `(2, 7)`; else ""."""
    numbers = bound.elts if isinstance(bound, ast.Tuple) else []
    if numbers and all(isinstance(part, ast.Constant) and isinstance(part.value, int) for part in numbers):
        return ".".join(map(ast.unparse, numbers))
    if _is_version(bound):
        bound = bound.args[0]  # type: ignore[attr-defined]
    elif not _is_version(left):  # LooseVersion(ray.__version__) < "2.7"
        return ""
    return bound.value if isinstance(bound, ast.Constant) and isinstance(bound.value, str) else ""


def _is_version(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and len(node.args) == 1 and bool(OF_CLASS.search(ast.unparse(node.func)))


def _statements(block: Block) -> Iterator[ast.stmt]:
    """The statements of a block, with those of a `try` in it."""
    for statement in block:
        yield statement
        if isinstance(statement, ast.Try):
            handled = (inner for handler in statement.handlers for inner in handler.body)
            yield from _statements([*statement.body, *handled])


def given_by_handlers(nodes: Nodes, statement: Import) -> dict[str, ast.AST]:
    """What the handlers bind that go on where an import fails: by name, the name, class or function that is bound.

    Args:
        nodes: The module.
        statement: The import.
    """
    tried = nodes.parent_of[statement]
    if not isinstance(tried, ast.Try) or statement not in tried.body:
        return {}
    return {name: node for handler in tried.handlers if _goes_on(handler) for name, node in _stubs_in(handler.body)}


def switched_off(nodes: Nodes, statement: Import) -> list[str]:
    """The names that current libraries have, and that become stubs nevertheless if another import of the `try` fails.

    Args:
        nodes: The module.
        statement: The import that fails.
    """
    given = given_by_handlers(nodes, statement)
    others = nodes.parent_of[statement].body if given else []  # type: ignore[attr-defined]
    bound = (pair for other in others if isinstance(other, Import) for pair in import_bindings(other))
    return [name for name, found in bound if name in given and look_up(found.qualified or "").gone is None]


def guarded_imports(nodes: Nodes) -> list[Import]:
    """The imports that a module can do without: a handler goes on where they fail, or they are made on a condition.

    Args:
        nodes: The module.
    """
    tried = [block.body for block in nodes.of_type(ast.Try) if any(_goes_on(handler) for handler in block.handlers)]
    chosen = [branch.body for branch in nodes.of_type(ast.If) if _imports_on_condition(branch)]
    found = [statement for block in (*tried, *chosen) for statement in block if isinstance(statement, Import)]
    return sorted(found, key=lambda statement: statement.lineno)


def is_tried_import(statement: ast.stmt) -> bool:
    """Whether a statement is a `try` for imports alone, whose handlers end the program or bind something else."""
    if not isinstance(statement, ast.Try) or not all(map(_catches, statement.handlers)):
        return False
    instead = [part for handler in statement.handlers for part in handler.body]
    others = (*IMPORTS, ast.Assign, ast.AnnAssign, ast.Pass, ast.Raise, *DEFINITIONS)
    return (
        all(isinstance(part, IMPORTS) for part in statement.body)
        and all(isinstance(part, others) or not goes_on_after(part) for part in instead)
        and all(isinstance(part, IMPORTS) or _is_constant(part) for part in (*statement.orelse, *statement.finalbody))
    )


def _imports_on_condition(branch: ast.If) -> bool:
    return any(isinstance(part, Import) for part in branch.body) and not OTHERS.search(ast.unparse(branch.test))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    return _catches(handler) and goes_on(handler)


def _ways(nodes: Nodes) -> Iterator[tuple[Block, Block]]:
    """Blocks that may import, each with the statements that bind the same names where they do not."""
    for tried in nodes.of_type(ast.Try):
        if not any(isinstance(statement, Import) for statement in (*tried.body, *tried.orelse)):
            continue
        instead = [statement for handler in tried.handlers if _catches(handler) for statement in handler.body]
        if instead:
            yield [*tried.body, *tried.orelse], [*_before(nodes, tried), *instead]
    for branch in nodes.of_type(ast.If):
        if _imports_on_condition(branch):
            values = [statement for statement in branch.orelse if _is_constant(statement)]
            yield branch.body, [*_before(nodes, branch), *values]  # a function may be what the code runs with


def _catches(handler: ast.ExceptHandler) -> bool:
    return any(kind in IMPORT_ERRORS or not kind for kind in kinds_of(handler))


def _before(nodes: Nodes, statement: ast.stmt) -> Block:
    """The assignments right before a statement: `tune = None` above the `try`."""
    found: list[ast.stmt] = []
    other = nodes.previous.get(statement)
    while isinstance(other, ast.Assign | ast.AnnAssign):
        found.append(other)
        other = nodes.previous.get(other)
    return [other for other in found if _is_constant(other)]


def _is_constant(statement: ast.stmt) -> bool:
    """Whether a statement gives names constants: `tune, session = None, None`."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    return all(isinstance(part, ast.Constant) for part in (value.elts if isinstance(value, ast.Tuple) else [value]))


def _bound_of(tried: Block) -> dict[str, Binding]:
    """The names that a block imports, with what binds them; none if an import of it fails with current libraries."""
    imports = [statement for statement in tried if isinstance(statement, Import)]
    bound = [pair for statement in imports for pair in import_bindings(statement)]
    asked = [alias.name for statement in imports if isinstance(statement, ast.Import) for alias in statement.names]
    is_there = all(look_up(name).gone is None for name in (*asked, *(found.qualified or "" for _, found in bound)))
    return dict(bound) if is_there else {}


def _package(binding: Binding) -> str:
    return (binding.qualified or "").partition(".")[0]


def _stubs_in(block: Block) -> Iterator[tuple[str, ast.AST]]:
    for statement in block:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = targets_of(statement)
            for target in targets:
                yield from _stubs_of(target, statement.value)


def _stubs_of(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    """The names of a target that are bound to stubs: `tune, session = None, None`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for inner, given in zip(target.elts, value.elts, strict=True):
            yield from _stubs_of(inner, given)
    if isinstance(target, ast.Name) and isinstance(value, STUBS):
        yield target.id, target
