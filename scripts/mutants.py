"""Makes the single mutants of a script: copies of it that differ in one place, by operators over its syntax.

No operator knows a script or a rule of raymigrate. Each looks at one kind of node and tells what else could stand
there, so that what it makes is what somebody could have lost or mistaken in converting by hand.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Edit = tuple[int, int, str]  # from byte, to byte, what stands there instead
Operator = Callable[["Script"], Iterator[Edit]]
OPERATORS: dict[str, Operator] = {}
Body = list[ast.stmt]
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.Div: "*", ast.FloorDiv: "*"}
NEAR = 2  # how many statements a line moves across `prepare`, at most


@dataclass(frozen=True)
class Mutant:
    """A script that differs from another in one place.

    Args:
        operator: What made it.
        line: Where it differs, in the script that it was made from.
        text: All of it.
        change: The lines that differ, "-" and "+" in front.
    """

    operator: str
    line: int
    text: str
    change: tuple[str, ...]

    @property
    def name(self) -> str:
        """Tells it from the others of its script."""
        digest = hashlib.sha256("\n".join(self.change).encode()).hexdigest()
        return f"{self.line}: {self.operator} {digest[:6]}"


class Script:
    """A script and where its nodes stand."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.tree = ast.parse(text)
        self.meaning = ast.dump(self.tree)
        self._nodes = list(ast.walk(self.tree))
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.docstrings = {
            id(node.body[0].value)
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
        }

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of some kinds."""
        return (node for node in self._nodes if isinstance(node, kinds))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Where a node begins and ends; decorators belong to what they decorate."""
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        begin = self._lines[first - 1] + node.col_offset
        assert node.end_lineno is not None and node.end_col_offset is not None
        return begin, self._lines[node.end_lineno - 1] + node.end_col_offset

    def code(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """What stands there."""
        begin, end = self.span(node)
        return self.data[begin:end].decode()

    def replaced(self, node: ast.expr | ast.stmt | ast.keyword, code: str) -> Edit:
        """The edit that puts something else in place of a node."""
        return (*self.span(node), code)

    def without_item(self, item: ast.expr | ast.keyword) -> Edit:
        """The edit that takes an item and its comma out of a list or a call."""
        begin, end = self.span(item)
        rest = self.data[end:]
        behind = len(rest) - len(rest.lstrip())
        if rest[behind : behind + 1] == b",":
            end += behind + 1
            end += len(self.data[end:]) - len(self.data[end:].lstrip(b" "))
        else:
            begin = len(self.data[:begin].rstrip().removesuffix(b","))
        return begin, end, ""

    def bodies(self) -> Iterator[tuple[ast.AST, Body]]:
        """All blocks of statements, with what they belong to."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    yield node, body

    def line_of(self, position: int) -> int:
        """The line, counted from 1, in which a byte stands."""
        return self.data.count(b"\n", 0, position) + 1


def mutants(text: str) -> list[Mutant]:
    """All single mutants of a script that compile, in the order of its lines."""
    script = Script(text)
    found: dict[str, Mutant] = {}
    for name, operator in OPERATORS.items():
        for edit in operator(script):
            made = mutant(script, name, edit)
            if made is not None:
                found.setdefault(made.text, made)
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.operator, mutant.change))


def mutant(script: Script, name: str, edit: Edit) -> Mutant | None:
    """The mutant that an edit makes, or None where it does not compile or means the same.

    Args:
        script: What is changed.
        name: The operator that the edit is of.
        edit: The change.
    """
    begin, end, code = edit
    changed = (script.data[:begin] + code.encode() + script.data[end:]).decode()
    tree = _tree(changed)
    if tree is None or ast.dump(tree) == script.meaning:
        return None
    return Mutant(name, script.line_of(begin), changed, _change(script.data.decode(), changed))


def operator(name: str) -> Callable[[Operator], Operator]:
    """Adds a function to those that make mutants."""

    def add(function: Operator) -> Operator:
        OPERATORS[name] = function
        return function

    return add


def _tree(text: str) -> ast.Module | None:
    """The tree of a text, if that compiles."""
    try:
        tree = ast.parse(text)
        compile(tree, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return tree


def _change(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return tuple(line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@")


@operator("keyword dropped")
def _keywords(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.Call, ast.ClassDef):
        assert isinstance(node, (ast.Call, ast.ClassDef))
        for keyword in node.keywords:
            yield script.without_item(keyword)


@operator("item dropped")
def _items(script: Script) -> Iterator[Edit]:
    """An item of a list, such as a callback."""
    for node in script.nodes(ast.List):
        assert isinstance(node, ast.List)
        for item in node.elts:
            yield script.without_item(item)


@operator("number changed")
def _numbers(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.Constant):
        assert isinstance(node, ast.Constant)
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            others = [node.value * 2] if isinstance(node.value, float) else [node.value + 1, node.value * 2]
            for other in others:
                yield script.replaced(node, repr(other))


@operator("boolean flipped")
def _booleans(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield script.replaced(node, repr(not node.value))


@operator("string swapped")
def _strings(script: Script) -> Iterator[Edit]:
    """A string becomes another one that has the same role: a split, a column, a strategy."""
    roles: dict[str, list[ast.Constant]] = {}
    for role, node in _roles(script.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            roles.setdefault(role, []).append(node)
    for nodes in roles.values():
        values = sorted({str(node.value) for node in nodes})
        for node in nodes:
            yield from (script.replaced(node, f'"{value}"') for value in values if value != node.value)


def _roles(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield f"{ast.dump(node.value)}[]", node.slice
        elif isinstance(node, ast.Call):
            for place, argument in enumerate(node.args):
                yield f"{ast.dump(node.func)}({place})", argument
            for keyword in node.keywords:
                if keyword.arg:
                    yield f"{keyword.arg.rpartition('_')[2]}=", keyword.value


@operator("statement dropped")
def _statements(script: Script) -> Iterator[Edit]:
    for owner, body in script.bodies():
        bound = {node.arg for node in ast.walk(owner) if isinstance(node, ast.arg)}
        for statement in body:
            if _can_go(statement, bound) and not _is_docstring(script, statement):
                yield script.replaced(statement, "pass")
            bound |= _bound(statement)


def _can_go(statement: ast.stmt, bound: set[str]) -> bool:
    """Whether the names that a statement binds are there without it too."""
    if isinstance(statement, (ast.Expr, ast.AugAssign, ast.Delete, ast.Return, ast.Raise, ast.Assert)):
        return not (isinstance(statement, ast.Return) and statement.value is None)
    if not isinstance(statement, ast.Assign):
        return False
    return _bound(statement) <= bound


def _bound(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _is_docstring(script: Script, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and id(statement.value) in script.docstrings


@operator("method dropped")
def _methods(script: Script) -> Iterator[Edit]:
    for owner, body in script.bodies():
        for statement in body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(statement, ast.FunctionDef):
                yield script.replaced(statement, "pass")


@operator("call dropped")
def _calls(script: Script) -> Iterator[Edit]:
    """`f(x)` becomes `x`, and `x.method(...)` becomes `x`, where the value of the call is used."""
    unused = {id(node.value) for node in script.nodes(ast.Expr) if isinstance(node, ast.Expr)}
    modules = {alias.asname or alias.name.partition(".")[0] for alias in _imported(script.tree)}
    for node in script.nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if id(node) in unused:
            continue
        if isinstance(node.func, ast.Attribute) and _root(node.func) not in modules and not _is_super(node.func.value):
            yield script.replaced(node, script.code(node.func.value))
        if len(node.args) == 1 and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
            yield script.replaced(node, script.code(node.args[0]))


def _imported(tree: ast.AST) -> Iterator[ast.alias]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from node.names


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


@operator("branch negated")
def _branches(script: Script) -> Iterator[Edit]:
    for test in _tests(script, ast.If, ast.IfExp, ast.While):
        yield script.replaced(test, f"not ({script.code(test)})")


@operator("branch never taken")
def _never(script: Script) -> Iterator[Edit]:
    for test in _tests(script, ast.If, ast.IfExp):
        yield script.replaced(test, "False")


@operator("branch always taken")
def _always(script: Script) -> Iterator[Edit]:
    for test in _tests(script, ast.If, ast.IfExp):
        yield script.replaced(test, "True")


def _tests(script: Script, *kinds: type[ast.If | ast.IfExp | ast.While]) -> Iterator[ast.expr]:
    """The conditions of branches, but for that of a main script."""
    for node in script.nodes(*kinds):
        assert isinstance(node, (ast.If, ast.IfExp, ast.While))
        if not _is_main(node.test):
            yield node.test


def _is_main(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


@operator("comparison changed")
def _comparisons(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.Compare):
        assert isinstance(node, ast.Compare)
        if len(node.ops) == 1 and not _is_main(node):
            left, right = script.code(node.left), script.code(node.comparators[0])
            yield script.replaced(node, f"{left} {COMPARISONS[type(node.ops[0])]} {right}")


@operator("arithmetic changed")
def _arithmetic(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if type(node.op) in ARITHMETIC:
            yield script.replaced(
                node, f"{script.code(node.left)} {ARITHMETIC[type(node.op)]} {script.code(node.right)}"
            )


@operator("off by one")
def _ranges(script: Script) -> Iterator[Edit]:
    """The bounds of a range that are no numbers, and of a slice."""
    for node in script.nodes(ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            for bound in node.args:
                if not isinstance(bound, (ast.Constant, ast.Starred)):
                    yield script.replaced(bound, f"{script.code(bound)} - 1")
    for node in script.nodes(ast.Slice):
        assert isinstance(node, ast.Slice)
        for bound in filter(None, (node.lower, node.upper)):
            yield script.replaced(bound, f"{script.code(bound)} - 1")


@operator("context dropped")
def _contexts(script: Script) -> Iterator[Edit]:
    """A `with` whose value has no name: its statements run without it."""
    for node in script.nodes(ast.With):
        assert isinstance(node, ast.With)
        if not any(item.optional_vars for item in node.items):
            begin, _ = script.span(node)
            yield begin, script.span(node.items[-1].context_expr)[1], "if True"


@operator("moved across prepare")
def _moved(script: Script) -> Iterator[Edit]:
    """A statement near one that calls `prepare...` comes to stand on its other side."""
    for _, body in script.bodies():
        for place, statement in enumerate(body):
            if not isinstance(statement, (ast.Assign, ast.Expr)) or not _prepares(statement):
                continue
            for other in body[max(0, place - NEAR) : place]:
                if isinstance(other, (ast.Assign, ast.Expr)):
                    yield _moved_behind(script, other, statement)
            for other in body[place + 1 : place + 1 + NEAR]:
                if isinstance(other, (ast.Assign, ast.Expr)):
                    yield _moved_before(script, other, statement)


def _prepares(statement: ast.stmt) -> bool:
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    names = (getattr(function, "attr", getattr(function, "id", "")) for function in calls)
    return any(name.startswith("prepare") for name in names)


def _moved_behind(script: Script, moved: ast.stmt, other: ast.stmt) -> Edit:
    begin, end = script.span(moved)
    last = script.span(other)[1]
    between = script.data[end:last].decode().lstrip()
    return begin, last, f"{between}\n{' ' * moved.col_offset}{script.code(moved)}"


def _moved_before(script: Script, moved: ast.stmt, other: ast.stmt) -> Edit:
    begin = script.span(other)[0]
    start, end = script.span(moved)
    between = script.data[begin:start].decode().rstrip()
    return begin, end, f"{script.code(moved)}\n{' ' * moved.col_offset}{between}"
