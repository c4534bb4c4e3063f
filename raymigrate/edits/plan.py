"""The edits that codemods ask for, as data keyed by nodes of the syntax tree.

Nothing here imports LibCST: planning is cheap, so `--check` and files without findings never pay for it.

Code in edits is a template: Python source in which `$name` stands for a part. A part is a node of the syntax tree,
which comes out with its own formatting and with the edits made inside it, or a string of source. A line that is a
placeholder alone may stand for whole statements, which move there from where they are (`Code.blocks`).
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

Part = ast.expr | str
Needed = tuple[str, str | None, ast.stmt | None]  # an import: see `Plan.need_import`


class RewriteError(Exception):
    """The plan cannot be carried out on this text; nothing was changed.

    Args:
        message: Why.
        line: The line that is to blame, where it is one.
    """

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


class SharedLineError(RewriteError):
    """Statements that cannot stay on the line that they share."""


@dataclass(frozen=True)
class Code:
    """Source with `$name` placeholders, and what fills them.

    Args:
        template: The source.
        parts: Expressions, by the names of their placeholders.
        blocks: Statements that move there, with the comments over them and the edits in and around them.
    """

    template: str
    parts: Mapping[str, Part] = field(default_factory=dict)
    blocks: Mapping[str, Sequence[ast.stmt]] = field(default_factory=dict)


@dataclass
class CallEdit:
    """Changes to one call; several rules can add to the same one.

    Args:
        function: New code of the called object.
        names: Names for the positional arguments, in order, where they become keywords.
        rename: Old to new keyword names.
        remove: Keywords to take away.
        values: Keywords to set, replacing the value of one that is there.
        defaults: Those of them that give way to what the call unpacks with `**`.
        first: New value of the first argument.
        instead: Keywords that take the place of what the call unpacks with `**`, with their values.
    """

    function: Code | str | None = None
    names: list[str] = field(default_factory=list)
    rename: dict[str, str] = field(default_factory=dict)
    remove: set[str] = field(default_factory=set)
    values: dict[str, Code] = field(default_factory=dict)
    defaults: set[str] = field(default_factory=set)
    first: Code | None = None
    instead: dict[str, Code] = field(default_factory=dict)

    def set(self, keyword: str, template: str, **parts: Part) -> None:
        """Sets a keyword argument."""
        self.values[keyword] = Code(template, parts)

    def set_default(self, keyword: str, template: str, **parts: Part) -> None:
        """Sets a keyword argument unless what the call unpacks has it: `f(**{"x": 1, **options})`."""
        self.set(keyword, template, **parts)
        self.defaults.add(keyword)

    def set_first(self, template: str, **parts: Part) -> None:
        """Sets the first positional argument."""
        self.first = Code(template, parts)


@dataclass
class StatementEdit:
    """Changes around one statement.

    Args:
        before: Code to put before it.
        after: Code to put after it.
        replacement: Code to put in its place.
        removed: Whether it is removed.
        comments_stay: Whether the lines over it, when it is removed, come over the next statement.
        blank_line: Whether a blank line parts it from what is put before it.
        below_comments: Whether what is put before it comes below the comments over it.
        instead: Code that comes where it stood, if it moves elsewhere (`Code.blocks`).
        within: A compound statement, `with ...: pass`, into whose body it goes, after what is there besides `pass`.
            Neighbours that go into the same one share it.
    """

    before: list[Code] = field(default_factory=list)
    after: list[Code] = field(default_factory=list)
    replacement: Code | None = None
    removed: bool = False
    comments_stay: bool = False
    blank_line: bool = False
    below_comments: bool = False
    instead: list[Code] = field(default_factory=list)
    within: Code | None = None


def of_shared_line(edits: Sequence[StatementEdit]) -> StatementEdit | None:
    """What comes before and after a line with several statements, which all stay on it.

    Args:
        edits: Those of its statements. Another one may take the place of a single one.

    Returns:
        The edit of the line; None if a statement goes, or something comes between two of them.
    """
    apart = any(edit.before for edit in edits[1:]) or any(edit.after for edit in edits[:-1])
    replaced = len(edits) > 1 and any(edit.replacement is not None for edit in edits)
    if apart or replaced or any(edit.removed or edit.within is not None for edit in edits):
        return None
    return replace(edits[0], replacement=None, after=edits[-1].after)


@dataclass
class FunctionEdit:
    """Changes to a function's head and the first lines of its body.

    Args:
        name: New name.
        parameters: New parameter list as source.
        drop_return_annotation: Whether `-> X` is removed.
        added_parameter: A parameter to add at the end, as source; also several, where each can be given by position.
        undefault: Parameters that lose their default value.
        renamed: Old to new names of parameters.
        unannotated: Parameters that lose their annotation, by their old names.
        annotated: The annotations that such parameters get instead, as source, by their old names.
        without: Parameters that are taken away.
        body_start: Code to put before the first statement, after the docstring.
    """

    name: str | None = None
    parameters: str | None = None
    drop_return_annotation: bool = False
    added_parameter: str | None = None
    undefault: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    unannotated: set[str] = field(default_factory=set)
    annotated: dict[str, str] = field(default_factory=dict)
    without: set[str] = field(default_factory=set)
    body_start: list[Code] = field(default_factory=list)


class Plan:
    """Everything that is to change in one module."""

    def __init__(self) -> None:
        self.expressions: dict[ast.AST, Code] = {}
        self.hoisted: set[ast.AST] = set()  # expressions in whose place a name stands, and whose code went elsewhere
        self.calls: dict[ast.Call, CallEdit] = {}
        self.dicts: dict[ast.Dict, dict[str, Code]] = {}
        self.statements: dict[ast.stmt, StatementEdit] = {}
        self.functions: dict[ast.AST, FunctionEdit] = {}
        self.without_bases: set[ast.ClassDef] = set()  # classes that lose their base classes
        self.import_modules: dict[ast.ImportFrom, str] = {}
        self.dissolved: dict[ast.stmt, list[list[ast.stmt]]] = {}  # alternatives: those of the first way go elsewhere
        self.import_additions: dict[ast.ImportFrom, list[str]] = {}
        self.dropped_imports: dict[ast.alias, ast.Import | ast.ImportFrom] = {}
        self.renamed_imports: dict[ast.alias, str] = {}
        self.needed_imports: dict[Needed, None] = {}  # a set that keeps its order
        self.comments: dict[str, str] = {}  # blocks of comments, which are no part of a tree, by their whole text

    def __bool__(self) -> bool:
        return any(
            (
                self.expressions,
                any(edit != CallEdit() for edit in self.calls.values()),  # some are asked for and left empty
                self.dicts,
                self.statements,
                self.functions,
                self.without_bases,
                self.import_modules,
                self.dissolved,
                self.dropped_imports,
                self.renamed_imports,
                self.needed_imports,
                self.comments,
            )
        )

    def nodes(self) -> Iterator[ast.AST]:
        """All nodes that edits refer to, those that are parts of code included; one may come more than once."""
        yield from chain(self.expressions, self.calls, self.dicts, self.statements, self.functions, self.without_bases)
        yield from chain(self.import_modules, self.import_additions, self.dropped_imports, self.renamed_imports)
        yield from (part for code in self.codes() for part in code.parts.values() if isinstance(part, ast.AST))
        yield from self.moved()

    def moved(self) -> Iterator[ast.stmt]:
        """The statements that move into code of the plan."""
        yield from (statement for code in self.codes() for block in code.blocks.values() for statement in block)

    def codes(self) -> Iterator[Code]:
        """All code in the plan."""
        yield from (code for _, code in self.places())

    def places(self) -> Iterator[tuple[ast.AST, Code]]:
        """All code in the plan, with the node that it changes or that it comes beside."""
        yield from self.expressions.items()
        for node, call in self.calls.items():
            function = Code(call.function) if isinstance(call.function, str) else call.function
            yield from (
                (node, code) for code in (*call.values.values(), *call.instead.values(), call.first, function) if code
            )
        for display, entries in self.dicts.items():
            yield from ((display, code) for code in entries.values())
        for place, edit in self.statements.items():
            codes = (*edit.before, *edit.after, *edit.instead, edit.replacement, edit.within)
            yield from ((place, code) for code in codes if code)
        for definition, function_edit in self.functions.items():
            yield from ((definition, code) for code in function_edit.body_start)

    def change_codes(self, change: Callable[[ast.AST, Code], Code]) -> None:
        """Changes all code in the plan; `change` gets the node of each as `places` gives it."""
        self.expressions = {node: change(node, code) for node, code in self.expressions.items()}
        for node, call in self.calls.items():
            call.values = {keyword: change(node, code) for keyword, code in call.values.items()}
            call.first = change(node, call.first) if call.first is not None else None
            call.instead = {keyword: change(node, code) for keyword, code in call.instead.items()}
            if call.function is not None:
                function = Code(call.function) if isinstance(call.function, str) else call.function
                call.function = change(node, function)
        for display, entries in self.dicts.items():
            self.dicts[display] = {key: change(display, code) for key, code in entries.items()}
        for place, edit in self.statements.items():
            for codes in (edit.before, edit.after, edit.instead):
                codes[:] = [change(place, code) for code in codes]
            edit.replacement = change(place, edit.replacement) if edit.replacement is not None else None
            edit.within = change(place, edit.within) if edit.within is not None else None
        for definition, function_edit in self.functions.items():
            function_edit.body_start = [change(definition, code) for code in function_edit.body_start]

    def replace(self, node: ast.expr, template: str, **parts: Part) -> None:
        """Replaces an expression."""
        self.expressions[node] = Code(template, parts)

    def hoist(self, node: ast.expr, name: str) -> None:
        """Replaces an expression by a name; code elsewhere, of which the expression is a part, gives it that value."""
        self.replace(node, name)
        self.hoisted.add(node)

    def call(self, node: ast.Call) -> CallEdit:
        """The changes to a call, to be added to."""
        return self.calls.setdefault(node, CallEdit())

    def write_out(self, node: ast.Call, entries: Mapping[str, ast.expr]) -> None:
        """Puts keyword arguments in the place of what a call unpacks with `**`."""
        self.call(node).instead = {name: Code("$value", {"value": value}) for name, value in entries.items()}

    def dict_entry(self, node: ast.Dict, key: str, template: str, **parts: Part) -> None:
        """Adds an entry to a dict display."""
        self.dicts.setdefault(node, {})[key] = Code(template, parts)

    def statement(self, node: ast.stmt) -> StatementEdit:
        """The changes around a statement, to be added to."""
        return self.statements.setdefault(node, StatementEdit())

    def removed_annotations(self) -> Iterator[ast.expr]:
        """The annotations of functions whose head changes, and loses them."""
        for function, edit in self.functions.items():
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if edit.drop_return_annotation and function.returns is not None:
                yield function.returns
            taken = function.args
            extra = [parameter for parameter in (taken.vararg, taken.kwarg) if parameter is not None]
            for parameter in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *extra):
                goes = edit.parameters is not None or parameter.arg in edit.unannotated | edit.without
                if goes and parameter.annotation is not None:
                    yield parameter.annotation

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionEdit:
        """The changes to a function, to be added to."""
        return self.functions.setdefault(node, FunctionEdit())

    def import_from(self, statement: ast.ImportFrom, module: str) -> None:
        """Changes the module that an import statement takes its names from."""
        self.import_modules[statement] = module

    def drop_import(self, alias: ast.alias, statement: ast.Import | ast.ImportFrom) -> None:
        """Takes one name out of an import statement."""
        self.dropped_imports[alias] = statement

    def need_import(self, module: str, name: str | None = None, near: ast.stmt | None = None) -> None:
        """Asks for `import module` or `from module import name`.

        Args:
            module: Dotted module name.
            name: Name to import from it, `a` or `a as b`; None imports the module itself, ` as b` does so too.
            near: An import statement whose place the new one takes; None: with the module's imports.
        """
        self.needed_imports[module, name, near] = None
