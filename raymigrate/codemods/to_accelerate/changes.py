"""The edits of one conversion: all of them are made, or none."""

import ast
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, takewhile

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_accelerate.objects import OWN
from raymigrate.codemods.to_accelerate.rules import RM851, Refusal
from raymigrate.documents.cells import STAND_INS
from raymigrate.edits.line_length import line_length
from raymigrate.edits.plan import Code, Part, StatementEdit
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.nodes import blocks

NAME = "accelerator"


@dataclass(frozen=True)
class Told:
    """Something to say of a conversion."""

    kind: Kind
    rule: Rule
    node: ast.AST
    message: str
    advice: str | None = None


@dataclass
class Changes:
    """Edits and findings, gathered until it is sure that the whole of a loop can be converted.

    Args:
        context: The file.
        module: How the conversion sees its module; see `objects.py`.
        sites: The nodes at which new code needs the Accelerator.
        gone: Statements and expressions whose old code goes.
        kept: Parts of those that stay.
        moved: Expressions whose code stands in new code elsewhere.
        dropped: The statements that are taken away.
        restated: Those in whose place another one comes.
        grouped: The first ones of statements that go into a compound one.
        guarded: The statements that go into an `if`, each with the first of those that go into the same one.
        expressions: The code that takes the place of expressions.
        edits: What plans all other edits.
        late: What plans those that have to come behind others: code after statements.
        templates: All new code, each with the node beside which it goes.
        names: What gives the name that the Accelerator has at a node, where that is another one than `accelerator`.
    """

    context: Context
    module: Module
    told: list[Told] = field(default_factory=list)
    sites: list[ast.AST] = field(default_factory=list)
    gone: set[ast.AST] = field(default_factory=set)
    kept: set[ast.AST] = field(default_factory=set)
    moved: set[ast.expr] = field(default_factory=set)
    dropped: set[ast.stmt] = field(default_factory=set)
    restated: set[ast.AST] = field(default_factory=set)
    grouped: set[ast.stmt] = field(default_factory=set)
    guarded: dict[ast.stmt, ast.stmt] = field(default_factory=dict)
    expressions: dict[ast.expr, Code] = field(default_factory=dict)
    edits: list[Callable[[], None]] = field(default_factory=list)
    late: list[Callable[[], None]] = field(default_factory=list)
    templates: list[tuple[ast.AST, str]] = field(default_factory=list)
    names: Callable[[ast.AST], str] = lambda node: NAME

    # -- findings ------------------------------------------------------------------------------

    def converted(self, rule: Rule, node: ast.AST, message: str) -> None:
        """Says what becomes of code."""
        self.told.append(Told(Kind.CONVERTED, rule, node, message))

    def note(self, rule: Rule, node: ast.AST, message: str) -> None:
        """Says what to know."""
        self.told.append(Told(Kind.NOTE, rule, node, message))

    def manual(self, rule: Rule, node: ast.AST, message: str, advice: str) -> None:
        """Says what a person has to do."""
        self.told.append(Told(Kind.MANUAL, rule, node, message, advice))

    # -- edits ---------------------------------------------------------------------------------

    def replace(self, node: ast.expr, template: str, **parts: Part) -> None:
        """Replaces an expression; what is in `parts` stays."""
        self.expressions[node] = Code(template, parts)
        self.gone.add(node)
        self.kept.update(part for part in parts.values() if isinstance(part, ast.AST))
        self._needs(node, template)

    def wrap(self, node: ast.expr, template: str) -> None:
        """Puts code around an expression, `$part`, that stays."""
        if node in self.expressions:
            known = self.expressions[node]
            self.expressions[node] = Code(template.replace("$part", known.template), known.parts)
        else:
            self.expressions[node] = Code(template, {"part": node})
        self._needs(node, template)

    def hoist(self, node: ast.expr, name: str) -> None:
        """Puts a name in the place of an expression that is a part of code elsewhere."""
        self.edits.append(lambda: self.context.plan.hoist(node, name))

    def _check_alone(self, statement: ast.stmt) -> None:
        """Refuses to change what stands around a statement behind a magic; any other line is parted."""
        for block in blocks(self.module.parent_of[statement]):
            first = next(_on_line_of(statement, block), statement)
            if first is not statement and _stands_for_magic(first):
                where = own_lines(self.context.module, statement)
                raise Refusal(statement, f"{where} holds a magic and a statement behind it; put each on its own line")

    def drop(self, statement: ast.stmt) -> None:
        """Takes a statement away.

        Raises:
            Refusal: If a magic stands on its line, as everywhere where a statement is changed.
        """
        self._check_alone(statement)
        self.dropped.add(statement)
        self.gone.add(statement)

    def drop_whole(self, node: ast.AST) -> None:
        """Takes away the statement that a node is.

        Raises:
            Refusal: If it is a part of another one, or see `drop`.
        """
        statement = self.module.statement(node)
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            raise Refusal(node, "what starts the processes is part of another statement")
        self.drop(statement)

    def is_unread(self, name: ast.Name) -> bool:
        """Whether the result does not read a name, not in the code in its place either: `unwrap_model(model)`."""
        code = self.expressions.get(name)
        return self.is_gone(name, unless_in_place=code is not None and name.id in code.parts.values())

    def is_gone(self, node: ast.AST, *, unless_in_place: bool = False) -> bool:
        """Whether code is taken away, or replaced by code that it is not part of.

        Args:
            node: The code.
            unless_in_place: Whether what takes the place of the node itself does not count.
        """
        around = [node, *self.module.ancestors(node)]
        if any(ancestor in self.moved for ancestor in around):
            return False
        if any(ancestor in self.dropped for ancestor in around):
            return True
        is_kept = False  # whether the next code around it that goes leaves it where it is
        for ancestor in around:
            if ancestor in self.gone and not (unless_in_place and ancestor is node):
                if not is_kept:
                    return True
                is_kept = False
            is_kept = is_kept or ancestor in self.kept
        return False

    def before(self, statement: ast.stmt, template: str, **parts: Part) -> None:
        """Puts code before a statement."""
        self._check_alone(statement)
        self._needs(statement, template)
        self.edits.append(lambda: self._put_before(statement, self._code(statement, template, parts)))

    def _put_before(self, statement: ast.stmt, code: Code) -> None:
        edit = self._statement(statement)
        if statement in self.grouped:  # before the compound statement that it goes into
            edit.instead.insert(0, code)
        else:
            edit.before.append(code)

    def spelled(self, node: ast.AST, template: str) -> str:
        """New code beside a node, with the name that the Accelerator has there.

        Raises:
            Refusal: If it names an attribute of the object that trains where that has another name.
        """
        name = self.names(node) if NAME in template or OWN in template else ""
        if name != f"{OWN}{NAME}" and OWN in template:
            raise Refusal(node, "a part of the object that trains is changed outside of its class")
        return re.sub(rf"(?<![\w.]){NAME}\b", name, template)

    def restate(self, statement: ast.stmt, template: str) -> None:
        """Puts another statement in the place of one."""
        self._check_alone(statement)
        self._needs(statement, template)
        self.gone.add(statement)
        self.restated.add(statement)
        self.edits.append(lambda: self._put_in_place(statement, self._code(statement, template, {})))

    def _put_in_place(self, statement: ast.stmt, code: Code) -> None:
        self._statement(statement).replacement = code

    def leaves_nothing(self, node: ast.AST) -> bool:
        """Whether code is taken away, and none comes in the place of just that."""
        return self.is_gone(node) and node not in self.expressions and node not in self.restated

    def after(self, statement: ast.stmt, template: str, **parts: Part) -> None:
        """Puts code after a statement."""
        self._check_alone(statement)
        self._needs(statement, template)
        self.late.append(lambda: self._put_after(statement, self._code(statement, template, parts)))

    def _put_after(self, statement: ast.stmt, code: Code) -> None:
        first = self.guarded.get(statement)
        if first is not None and (outer := self._statement(first)).instead:
            outer.instead.append(code)  # behind the `if`: it is for every process, whatever the condition says
        else:
            self._statement(statement).after.append(code)

    def argument(self, call: ast.Call, keyword: str, template: str) -> None:
        """Gives a call a keyword argument."""
        self._needs(call, template)
        self.edits.append(lambda: self.context.plan.call(call).set(keyword, self.spelled(call, template)))

    def need_import(self, module: str, name: str, near: ast.stmt | None = None) -> None:
        """Asks for an import, among the others of the module or beside one in a function."""
        self.edits.append(lambda: self.context.plan.need_import(module, name, near))

    def put_into(self, statements: list[ast.stmt], head: str) -> None:
        """Puts statements that stand together into a compound statement."""
        self._needs(statements[0], head)
        for statement in statements:
            self._check_alone(statement)
        self.grouped.add(statements[0])
        if head.startswith("if "):
            self.guarded |= dict.fromkeys(statements, statements[0])
        self.edits.append(lambda: self._put_into(statements, head))

    def _put_into(self, statements: list[ast.stmt], head: str) -> None:
        if self.dropped.issuperset(statements):
            return  # nothing is left to stand in it
        code = Code(f"{self.spelled(statements[0], head)}\n    $body", blocks={"body": statements})
        self._statement(statements[0]).instead.append(code)

    def _code(self, node: ast.AST, template: str, parts: Mapping[str, Part]) -> Code:
        return Code(self.spelled(node, template), parts)

    def wide(self, statement: ast.stmt, text: str) -> bool:
        """Whether a line of new code beside a statement would be too long."""
        module = self.module
        around = next((block for block in blocks(module.parent_of[statement]) if statement in block), [statement])
        first = next(_on_line_of(statement, around), statement)  # whose column the line has where they are parted
        return module.start(first)[1] + len(text) > line_length(module.text)

    def instead(self, statement: ast.stmt, body: list[ast.stmt]) -> None:
        """Puts statements from inside a compound statement in its place."""
        self.gone.add(statement)
        self.kept.update(body)
        self.edits.append(lambda: self._put_instead(statement, body))

    def _put_instead(self, statement: ast.stmt, body: list[ast.stmt]) -> None:
        """Does so with what is left of the statements; with none of them the compound one goes as well."""
        if self.dropped.issuperset(body):
            self.dropped.add(statement)
        else:
            self._statement(statement).replacement = Code("$body", blocks={"body": body})

    def _statement(self, statement: ast.stmt) -> StatementEdit:
        return self.context.plan.statement(statement)

    def _needs(self, node: ast.AST, template: str) -> None:
        self.templates.append((node, template))
        if "accelerator" in template:
            self.sites.append(node)

    # -- the end -------------------------------------------------------------------------------

    def carry_out(self, loop: ast.AST) -> None:
        """Reports what was found, and plans all edits, unless the user keeps one of them from being made.

        Raises:
            Refusal: If so.
        """
        for node, template in self.templates:
            self.spelled(node, template)
        conversions = [told for told in self.told if told.kind is Kind.CONVERTED]
        for told in conversions:
            if not self._is_wanted(told):
                raise Refusal(
                    loop,
                    f"{told.rule.code} is left out in {own_lines(self.context.module, told.node)}, and a loop is"
                    " converted whole or not at all",
                )
        for told in self.told:
            if told.kind is Kind.CONVERTED:
                self.context.converts(told.rule, told.node, told.message)
            elif told.kind is Kind.MANUAL:
                self.context.manual(told.rule, told.node, told.message, told.advice)
            else:
                self.context.note(told.rule, told.node, told.message)
        plan = self.context.plan
        for node, code in self.expressions.items():
            plan.expressions[node] = self._code(node, code.template, code.parts)
        for edit in (*self.edits, *self.late):
            edit()
        for statement in self.dropped:
            self._statement(statement).removed = True
            self._statement(statement).comments_stay = True
        gone = {self.module.start(r.root) for r in self.module.references if self.is_gone(r.root)}
        for reference in self.context.module.references:
            if self.context.module.start(reference.root) in gone:
                self.context.handle(reference, gone=True)
        self._drop_modules()

    def _drop_modules(self) -> None:
        """Drops `import os` where its every use is gone; names that are imported from a module go by themselves."""
        module = self.context.module
        for statement in module.imports:
            for alias in statement.names if isinstance(statement, ast.Import) else ():
                uses = module.references_by_binding.get(alias, [])
                if "." not in alias.name and not alias.asname and uses and alias.name not in module.exported:
                    stay = module.is_read_unclearly(alias)
                    if not stay and all(use.root in self.context.rewritten for use in uses):
                        self.context.plan.drop_import(alias, statement)

    def _is_wanted(self, told: Told) -> bool:
        context = self.context
        line, column = context.module.start(told.node)
        if not context.options.enabled(told.rule.code) or context.skips.of(told.rule.code, line) is not None:
            return False
        finding = Finding(told.rule.code, told.kind, told.message, "", line, column + 1, context.path)
        accepted = context.options.accepted
        text = context.module.lines[line - 1].strip()
        return accepted is None or (finding.code, finding.message, text) in accepted


def shares_line(statement: ast.stmt, block: list[ast.stmt]) -> bool:
    """Whether another statement of a block stands on the line where a statement starts."""
    return any(other is not statement for other in _on_line_of(statement, block))


def _on_line_of(statement: ast.stmt, block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, of perhaps thousands, that stand on the line where a statement starts."""
    first = bisect_left(block, statement.lineno, key=lambda other: other.end_lineno or 0)
    return takewhile(lambda other: other.lineno <= statement.lineno, islice(block, first, None))


def _stands_for_magic(statement: ast.stmt) -> bool:
    """Whether a statement stands for a magic of a notebook, which has all of its line: `%time evaluate()`."""
    name = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(name, ast.Name) and STAND_INS.fullmatch(name.id) is not None


def refuse(context: Context, refusal: Refusal) -> None:
    """Says why a loop is left as it is."""
    context.stays = True
    context.manual(RM851, refusal.node, f"The training loop stays native: {refusal.reason}.")
