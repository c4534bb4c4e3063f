"""Code that is written for libraries which may lack a name: somebody looks first, or takes care of the error."""

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.alternatives import goes_on
from raymigrate.facts.syntax.known_tests import truth_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.syntax.version_tests import is_for_others, spelled_in, tells_versions
from raymigrate.facts.values import Source, is_none
from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.successors import raised_by_import

# What a name, attribute or keyword that is not there raises, and what is above it.
CAUGHT = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "NameError", "Exception", "BaseException"}
)
CAUGHT_OF_RUNTIME = frozenset({"RuntimeError", "Exception", "BaseException"})
OF_VERSIONS = lazy_regex(r"version|__ver__|signature\(|TYPE_CHECKING", re.IGNORECASE)
OF_NAMES = lazy_regex(r"signature|parameters|fields|annotations|dir\(", re.IGNORECASE)  # what a class or function takes
SUPPRESS = "contextlib.suppress"
EXPECTING = frozenset({"pytest.raises", "self.assertRaises", "self.assertRaisesRegex"})
EXPECTING_WARNINGS = frozenset({"pytest.warns", "pytest.deprecated_call", "self.assertWarns", "self.assertWarnsRegex"})
MOST_NAMES = 8  # that hold the answer to a question
LOOKS = ("hasattr", "getattr")


def is_condition(module: Module, node: ast.AST) -> bool:
    """Whether only the truth of an expression counts: it is the test of an `if`, or a part of one."""
    parent = module.parent_of[node]
    if isinstance(parent, ast.BoolOp):
        return is_condition(module, parent)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is node


def is_guarded(module: Module, node: ast.AST, missing: str) -> bool:
    """Whether code that uses a missing name, attribute or keyword is prepared for that.

    Args:
        module: The module.
        node: The use.
        missing: The last part of the name.
    """
    child, caught = node, _caught(module, node)
    for parent in module.ancestors(node):
        if isinstance(parent, ast.Try) and (child in parent.body and _catches(parent.handlers, caught)):
            return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            if _is_asked(module, parent.test, of_else=child not in _taken(parent)):
                return True
        if isinstance(parent, ast.With) and _is_suppressed(module, parent, caught):
            return True
        child = parent
    return missing in _looked_for(module) or takes_over(module, node)


def takes_over(module: Module, node: ast.AST) -> bool:
    """Whether code runs only where imports fail that are there today: `except ImportError:` behind such a `try`."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, ast.Try) and isinstance(child, ast.ExceptHandler) and _works(parent.body):
            return True
        child = parent
    return False


def is_asked_for(module: Module, node: ast.AST, name: str) -> bool:
    """Whether code runs only if a class has a name, or takes an argument of it: `if hasattr(cls, "name")`.

    So it is with code for other versions of transformers: `if version.parse(transformers.__version__) < ...`.

    Args:
        module: The module.
        node: The code.
        name: The name.
    """
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            asking = [part for part in ast.walk(parent.test) if _asks_for(part, name)]
            if any(_is_turned(module, part, parent.test) is not (child in _taken(parent)) for part in asking):
                return True
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            if is_for_others(module, parent.test, of_else=child not in _taken(parent)):
                return True
        child = parent
    return False


def _asks_for(test: ast.AST, name: str) -> bool:
    """Whether a condition is `hasattr(x, "name")`, or `"name" in` the parameters or fields of something."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=value)]):
            return value == name
        case ast.Compare(left=ast.Constant(value=value), ops=[ast.In()], comparators=[names]):
            return value == name and OF_NAMES.search(ast.unparse(names)) is not None
    return False


def _is_turned(module: Module, test: ast.AST, of: ast.expr) -> bool:
    """Whether a part of a condition stands behind `not` there: `not (hasattr(found, "uri") and known)`."""
    turned = False
    while test is not of:
        test = module.parent_of[test]
        turned ^= is_negation(test)
    return turned


def goes_on_without(module: Module, node: ast.AST) -> bool:
    """Whether code is in a block that a missing name ends for good: `with suppress(ImportError)`, `pytest.raises`."""
    caught = _caught(module, node)
    blocks = (parent for parent in module.ancestors(node) if isinstance(parent, ast.With))
    return any(_is_suppressed(module, block, caught) for block in blocks)


def is_ready(module: Module, reference: Reference, missing: str) -> bool:
    """Whether code is prepared for the absence of a name, where it imports the name or where it uses it.

    Args:
        module: The module.
        reference: The reference.
        missing: The last part of the name that is gone.
    """
    statement = reference.binding.statement
    if statement is not None and is_guarded(module, statement, reference.root.id):
        if reference.binding.node not in module.with_former and not _comes_in(module, statement):
            return True
    fails_on_import = look_up(reference.binding.qualified or "").gone is not None
    return not fails_on_import and is_guarded(module, reference.node, missing)


def _comes_in(module: Module, statement: ast.stmt) -> bool:
    """Whether a `try` imports with current libraries what it asks for: nothing is told there of what is below it."""
    tried = module.parent_of[statement]
    return isinstance(tried, ast.Try) and statement in tried.body and _works(tried.body)


def _taken(branch: ast.If | ast.IfExp | ast.While) -> list[ast.AST]:
    return [branch.body] if isinstance(branch, ast.IfExp) else [*branch.body]


def _works(body: list[ast.stmt]) -> bool:
    """Whether all that the body of a `try` imports is there, so that its handlers never run."""
    imported = [
        f"{statement.module}.{alias.name}" if isinstance(statement, ast.ImportFrom) else alias.name
        for statement in body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    ]
    return bool(imported) and all(look_up(name).gone is None for name in imported)


def _caught(module: Module, node: ast.AST) -> frozenset[str]:
    """What catches the error that a missing name raises there."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return CAUGHT
    names = [module.imported(node, alias) for alias in node.names]
    return CAUGHT_OF_RUNTIME if any(raised_by_import(name) == "RuntimeError" for name in names) else CAUGHT


def _catches(handlers: list[ast.ExceptHandler], caught: frozenset[str]) -> bool:
    """Whether one of the handlers goes on after the error; one that raises again or ends the program only words it."""
    return any(
        (handler.type is None or caught & {name.rpartition(".")[2] for name in _names(handler.type)})
        and goes_on(handler)
        for handler in handlers
    )


def _names(node: ast.expr) -> Iterator[str]:
    yield from (ast.unparse(e) for e in (node.elts if isinstance(node, ast.Tuple) else [node]))


def _is_suppressed(module: Module, block: ast.With, caught: frozenset[str]) -> bool:
    return any(_suppresses(module, item.context_expr, caught) for item in block.items)


def _suppresses(module: Module, node: ast.expr, caught: frozenset[str]) -> bool:
    """Whether a block goes on after the error, or a test expects it."""
    return (
        isinstance(node, ast.Call)
        and module.naming(node.func) in (SUPPRESS, *EXPECTING)
        and any(caught & {name.rpartition(".")[2]} for argument in node.args for name in _names(argument))
    )


def heads_of(module: Module, block: ast.With | ast.AsyncWith, names: Collection[str]) -> Iterator[ast.Call]:
    """The calls of some functions that a block is under: `pytest.raises(ValueError)` of EXPECTING."""
    for item in block.items:
        if isinstance(item.context_expr, ast.Call) and module.naming(item.context_expr.func) in names:
            yield item.context_expr


def blocks_around(module: Module, node: ast.AST) -> Iterator[ast.With | ast.AsyncWith]:
    """The `with` blocks that are open when a node is run."""
    for outer in module.ancestors(node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return
        if isinstance(outer, (ast.With, ast.AsyncWith)):
            yield outer


def waits_for(module: Module, node: ast.AST, error: type[BaseException]) -> bool:
    """Whether a test expects an error around a node, as in `with pytest.raises(ValueError)`, or one above it."""
    names = (name for head in expecting(module, node) for argument in head.args[:1] for name in _names(argument))
    kinds = (getattr(builtins, name, None) for name in names)
    return any(isinstance(kind, type) and issubclass(error, kind) for kind in kinds)


def expecting(module: Module, node: ast.AST) -> list[ast.Call]:
    """The calls by which a test expects an error around a node: `pytest.raises(ValueError)`."""
    return [head for block in blocks_around(module, node) for head in heads_of(module, block, EXPECTING)]


def _is_asked(module: Module, test: ast.expr, *, of_else: bool) -> bool:
    """Whether a condition tells versions apart, or asks for a name so that the branch is never taken today."""
    if truth_of(test) is (not of_else):
        return False  # it always runs: the `else` of `if TYPE_CHECKING`
    for part in ast.walk(test):
        if isinstance(part, ast.Name | ast.Attribute | ast.Call) and OF_VERSIONS.search(ast.unparse(part)):
            return True
        if isinstance(part, ast.Name | ast.Attribute):
            if OF_VERSIONS.search(spelled_in(module.followed(part)[1])) or tells_versions(module, part):
                return True
        if (told := _answer(module, part)) is not None:
            if OF_VERSIONS.search(spelled_in(told.node)) or tells_versions(told.module, told.node):
                return True
    home, asked, is_turned = _asked(module, test)
    if of_else is not is_turned and isinstance(asked, ast.Call) and ast.unparse(asked.func) == "hasattr":
        owner = home.qualified(asked.args[0]) if len(asked.args) == 2 else None
        return owner is not None and look_up(f"{owner}.{home.constant(asked.args[1])}").gone is None
    return False


def _asked(module: Module, test: ast.expr) -> tuple[Module, ast.expr, bool]:
    """What a condition asks, in whatever names and files it is held; its module, and whether it is turned by `not`."""
    is_turned = False
    for _ in range(MOST_NAMES):
        if is_negation(test):
            test, is_turned = test.operand, not is_turned
        elif isinstance(test, ast.Call) and ast.unparse(test.func) == "bool" and len(test.args) == 1:
            test = test.args[0]
        elif (told := _answer(module, test)) is not None:
            module, test = told.module, told.node
        else:
            module, test = module.followed(test)
    return module, test, is_turned


def _answer(module: Module, node: ast.AST) -> Source | None:
    """What a class holds, or a function returns that is called without arguments, if it is one thing: `is_new()`."""
    is_asked = isinstance(node, ast.Call) and not (node.args or node.keywords)
    if not is_asked and not isinstance(node, ast.Attribute):
        return None
    found = module.origins(node)  # type: ignore[arg-type]
    return found[0] if len(found) == 1 and found[0].node is not node else None


def _looked_for(module: Module) -> frozenset[str]:
    """The names that the module asks for with `hasattr(..., "name")` or `getattr(..., "name", default)`."""
    return frozenset(
        call.args[1].value
        for name in LOOKS
        for call in module.named_calls(name)
        if len(call.args) >= (2 if name == "hasattr" else 3)
        and isinstance(call.args[1], ast.Constant)
        and isinstance(call.args[1].value, str)
    )


def tested(module: Module) -> Iterator[ast.expr]:
    """What a module compares with None, or takes for true or false; of `if (a := b)` both."""
    for node in _tested(module):
        yield node
        if isinstance(node, ast.NamedExpr):
            yield from (node.target, node.value)


def _tested(module: Module) -> Iterator[ast.expr]:
    for compare in module.of_type(ast.Compare):
        if any(is_none(other) for other in compare.comparators):
            yield compare.left
    for kind in (ast.If, ast.IfExp, ast.While, ast.Assert):
        for branch in module.of_type(kind):
            yield branch.test  # type: ignore[attr-defined]
    for negation in module.of_type(ast.UnaryOp):
        if isinstance(negation.op, ast.Not):
            yield negation.operand
    for choice in module.of_type(ast.BoolOp):
        yield from choice.values
    for loop in module.of_type(ast.comprehension):
        yield from loop.ifs
    for call in module.named_calls("bool"):
        yield from call.args
