"""One visit over a module that carries out what a plan says of each node."""

import ast
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import libcst as cst

from raymigrate.edits import blocks, parameters, templates
from raymigrate.edits.excerpt import Excerpt
from raymigrate.edits.formatted_strings import NotQuotedError, fitted
from raymigrate.edits.kinds import kind_of
from raymigrate.edits.layout import one_per_line_if_broken, one_per_line_if_long, shifted
from raymigrate.edits.line_length import LIMITS, line_length, outgrows
from raymigrate.edits.plan import CallEdit, Code, FunctionEdit, Part, Plan, RewriteError, StatementEdit, of_shared_line
from raymigrate.edits.positions import Place, Span, Spans, code_of
from raymigrate.edits.sequences import add_names, edit_call, edit_dict, import_within

Statement = blocks.Statement
FUNCTION_COLUMN = 4  # where the body of a new function starts
TO_COME = "_raymigrate_part_to_come"  # stands for a part that was not reached yet


class Visit(cst.CSTTransformer):
    """One visit over the module: expressions from the inside out, then statements, then the blocks around them.

    Args:
        excerpt: The text that is visited.
        plan: What to change.
        spans: Where the nodes of its LibCST tree stand.
        edited: Parts of templates as an earlier visit left them, for edits that want them before they are reached.
        moved: The statements that move, likewise, by their start.
    """

    def __init__(
        self,
        excerpt: Excerpt,
        plan: Plan,
        spans: Spans,
        edited: dict[Span, cst.BaseExpression],
        moved: dict[Place, list[Statement]],
    ) -> None:
        super().__init__()
        self.excerpt = excerpt
        self.plan = plan
        self.line_length = line_length(excerpt.module.text)
        self.spans = spans
        self.statement_column = 0
        self.shares_line = False  # whether the statement stands on a line with others, as behind a magic of a notebook
        self.braces = 0  # of f-strings around what is visited
        self.new: set[cst.CSTNode] = set()  # statements that the plan adds
        self.enclosing: set[cst.CSTNode] = set()  # those that it puts around others
        self.without_names: set[cst.CSTNode] = set()  # imports of which nothing is left
        self.gone: set[cst.CSTNode] = set()  # and those that only hold the lines that stood over one that is removed
        self.edited = dict(edited)
        self.moved = dict(moved)
        self.moving = {excerpt.start(statement): self._span(statement) for statement in plan.moved()}
        self.early: set[Span] = set()  # parts that were wanted before they were reached
        span = self._span
        self.expressions = {span(node): code for node, code in plan.expressions.items()}
        self.hoisted = {span(node) for node in plan.hoisted}
        self.calls = {span(node): edit for node, edit in plan.calls.items()}
        self.dicts = {span(node): edit for node, edit in plan.dicts.items()}
        self.statements = {excerpt.start(node): edit for node, edit in plan.statements.items()}
        self.without_bases = {excerpt.start(node) for node in plan.without_bases}
        self.functions = {excerpt.start(node): edit for node, edit in plan.functions.items()}
        self.import_modules = {excerpt.start(node): name for node, name in plan.import_modules.items()}
        self.import_additions = {excerpt.start(node): names for node, names in plan.import_additions.items()}
        self.dropped = {excerpt.start(alias): alias for alias in plan.dropped_imports}
        self.renamed = {excerpt.start(alias): name for alias, name in plan.renamed_imports.items()}
        self.parts = self._wanted_parts()
        self.pending: set[tuple[str, Place]] = {
            *(("expression", key[0]) for key in (*self.expressions, *self.calls, *self.dicts)),
            *(("statement", key) for key in (*self.statements, *self.moving)),
            *(("function", key) for key in self.functions),
            *(("class", key) for key in self.without_bases),
            *(("import", key) for key in (*self.dropped, *self.renamed, *self.import_modules, *self.import_additions)),
        }

        self.touched = sorted({*(place for _, place in self.pending), *(start for start, _ in self.parts)})

    def _span(self, node: ast.AST) -> Span:
        return self.excerpt.start(node), self.excerpt.end(node)

    def _wanted_parts(self) -> set[Span]:
        return {
            self._span(part) for code in self.plan.codes() for part in code.parts.values() if isinstance(part, ast.AST)
        }

    # -- parts -----------------------------------------------------------------------------------

    def part(self, part: Part) -> cst.BaseExpression:
        """The edited expression for a part of a template."""
        if isinstance(part, str):
            return cst.parse_expression(part)
        node = self.edited.get(self._span(part))
        if node is None:
            self.early.add(self._span(part))
            return cst.Name(TO_COME)
        return node.deep_clone()

    def _expression(self, code: Code) -> cst.BaseExpression:
        return templates.expression(code, self.part)

    def _statements(self, codes: list[Code]) -> list[Statement]:
        return [node for code in codes for node in templates.statements(code, self.part, self._block)]

    def _block(self, statements: Sequence[ast.stmt]) -> list[Statement]:
        """The edited statements that move to a place."""
        found: list[Statement] = []
        for statement in statements:
            span = self._span(statement)
            if span[0] not in self.moved:
                self.early.add(span)
                return [cst.SimpleStatementLine([cst.Expr(cst.Name(TO_COME))])]
            found += (self._fitting(node, span[0][1]) for node in self.moved[span[0]])
        found, _ = blocks.handed_down(found, self.gone, self.new)  # type: ignore[assignment]
        block = blocks.gathered(blocks.joined(found, self.enclosing))  # type: ignore[arg-type]
        self.new.update(block)
        return blocks.spaced(block, self.new, blocks.IN_A_BLOCK)  # type: ignore[return-value]

    def _fitting(self, statement: Statement, column: int) -> Statement:
        """A statement that moves into a function, broken into lines where it gets too long there."""
        length = len(blocks.bare_code(statement))
        if column + length <= self.line_length < FUNCTION_COLUMN + length:
            return templates.laid_out(statement, longest=0)
        return statement

    # -- the visit -------------------------------------------------------------------------------

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> Any:
        """Applies what the plan says of this node."""
        kind = kind_of(original_node.__class__)
        if kind == "braces":
            self.braces -= 1
        if kind == "expression":
            return self._leave_expression(original_node, updated_node)  # type: ignore[arg-type]
        if kind == "import":
            return self._leave_import(updated_node, original_node)  # type: ignore[arg-type]
        if kind == "statement":
            return self._leave_statement(original_node, updated_node)  # type: ignore[arg-type]
        return self._leave_block(original_node, updated_node) if kind == "block" else updated_node

    def _leave_block(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:
        """A list of statements, after what became of each."""
        if isinstance(original_node, cst.SimpleStatementSuite):
            return self._leave_suite(original_node, updated_node)  # type: ignore[arg-type]
        assert isinstance(updated_node, cst.IndentedBlock | cst.Module)
        handed, below = blocks.handed_down(updated_node.body, self.gone, self.new)
        body = blocks.joined(handed, self.enclosing)
        if isinstance(updated_node, cst.IndentedBlock):
            body = body or [cst.SimpleStatementLine([cst.Pass()])]
            if blocks.blank_lines(body[0]) and not blocks.blank_lines(original_node.body[0]):  # type: ignore[attr-defined]
                body[0] = blocks.without_blank_lines(body[0])  # those of what follows the old first one
        body = blocks.spaced(body, self.new, blocks.IN_A_BLOCK if isinstance(updated_node, cst.IndentedBlock) else 2)
        return updated_node.with_changes(body=body, footer=[*below, *updated_node.footer])

    def _leave_expression(self, original: cst.BaseExpression, updated: cst.CSTNode) -> cst.CSTNode:
        span = self.spans.get(id(original))
        if span is None or updated is original:  # nothing in it is touched: it was passed over
            return updated
        keeps_line = self.shares_line or self.braces > 0
        if isinstance(updated, cst.FormattedString):
            updated = _with_quotes(updated, original)
        elif isinstance(updated, cst.Call):
            edit = self.calls.get(span, CallEdit())
            if span in self.calls:
                depth = None if keeps_line else self._depth(span)
                updated = edit_call(updated, edit, self._expression, depth, self._room(span))
                self.pending.discard(("expression", span[0]))
            if span[0][0] == span[1][0]:
                updated = one_per_line_if_broken(updated, self._depth(span), edit.values)
            if not keeps_line and self._is_too_long(span, updated):
                updated = one_per_line_if_long(updated, self._depth(span), edit.values, longest=0)
        elif isinstance(updated, cst.Dict) and span in self.dicts:
            updated = edit_dict(updated, self.dicts[span], self._expression, self._depth(span))
            self.pending.discard(("expression", span[0]))
        if span in self.parts and isinstance(updated, cst.BaseExpression):
            self.edited[span] = updated
        if span in self.expressions:
            updated = self._replaced(span)
            self.pending.discard(("expression", span[0]))
            if span in self.parts and span not in self.hoisted:
                self.edited[span] = updated
        return updated

    def _replaced(self, span: Span) -> cst.BaseExpression:
        """What takes the place of an expression; a part that comes out of it moves as far left as it stood inside."""
        code = self.expressions[span]
        new = self._expression(code)
        whole = [part for name, part in code.parts.items() if code.template == f"${name}"]
        if whole and isinstance(whole[0], ast.AST):
            return shifted(new, self._depth(self._span(whole[0])) - self._depth(span))
        return new

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Keeps track of the statement that is being visited, and passes over what is not to change."""
        kind = kind_of(node.__class__)
        if kind == "braces":
            self.braces += 1
        if kind == "statement":
            start, end = self.spans[id(node)]
            self.statement_column = start[1]
            self.shares_line = isinstance(node, cst.SimpleStatementLine) and len(node.body) > 1
            decorators = node.decorators if isinstance(node, cst.FunctionDef | cst.ClassDef) else ()
            return self._is_touched(self.spans[id(decorators[0].decorator)][0] if decorators else start, end)
        if kind == "expression" and id(node) in self.spans:
            return self._is_touched(*self.spans[id(node)])
        return kind != "between"

    def _is_touched(self, start: Place, end: Place) -> bool:
        return bisect_left(self.touched, start) < bisect_left(self.touched, end)

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing: LibCST would look for a method of its own for every attribute."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing either."""

    def _depth(self, span: Span) -> int:
        """How much deeper than its statement the line is indented on which an expression starts."""
        line = self.excerpt.lines[span[0][0] - 1]
        return max(0, len(line) - len(line.lstrip()) - self.statement_column)

    def _room(self, span: Span) -> int:
        """How many characters an argument may have that gets a line of its own in a call."""
        deeper = 4 if span in self.parts else 0  # such a part comes to stand in a new function
        return LIMITS[-1] - self.statement_column - self._depth(span) - 4 - deeper

    def _is_too_long(self, span: Span, call: cst.Call) -> bool:
        """Whether a call no longer fits on its line, and would on several."""
        (first, start), (last, end) = span
        is_too_long = outgrows(self.excerpt.lines[first - 1 : last], start, end, lambda: code_of(call))
        return is_too_long and all(len(code_of(argument)) <= self._room(span) for argument in call.args)

    def _leave_import(self, updated: cst.CSTNode, original: cst.Import | cst.ImportFrom) -> object:
        if isinstance(original.names, cst.ImportStar):
            return updated
        place = self.spans[id(original)][0]
        source = self.import_modules.get(place)
        if source is not None:
            self.pending.discard(("import", place))
            updated = updated.with_changes(module=cst.parse_expression(source))
        kept: list[cst.ImportAlias] = []
        names: Sequence[cst.ImportAlias] = updated.names  # type: ignore[attr-defined]
        for old, new in zip(original.names, names, strict=True):
            key = self.spans[id(old)][0]
            if key in self.dropped:
                self.pending.discard(("import", key))
            elif key in self.renamed:
                self.pending.discard(("import", key))
                kept.append(new.with_changes(name=cst.Name(self.renamed[key])))
            else:
                kept.append(new)
        if not kept:
            self.without_names.add(original)
            return cst.RemoveFromParent()
        if len(kept) < len(original.names):
            kept[-1] = kept[-1].with_changes(comma=original.names[-1].comma)
        if place in self.import_additions:
            self.pending.discard(("import", place))
            assert isinstance(original, cst.ImportFrom)
            kept = add_names(original, kept, self.import_additions[place])
            assert isinstance(updated, cst.ImportFrom)
            return import_within(updated.with_changes(names=kept), self.line_length - place[1])
        return updated.with_changes(names=kept)

    def _leave_statement(self, original: Statement, updated: cst.CSTNode) -> object:
        key = self.spans[id(original)][0]
        if isinstance(updated, cst.FunctionDef) and key in self.functions:
            updated = self._edit_function(updated, self.functions[key])
            self.pending.discard(("function", key))
        if isinstance(updated, cst.ClassDef) and key in self.without_bases:
            updated = updated.with_changes(bases=[], lpar=cst.MaybeSentinel.DEFAULT, rpar=cst.MaybeSentinel.DEFAULT)
            self.pending.discard(("class", key))
        if isinstance(original, cst.SimpleStatementLine) and self._is_parted(original):
            assert isinstance(updated, cst.SimpleStatementLine)
            if blocks.is_lone_name(original.body[0]):  # a magic of a notebook, which has all of its line
                return self._leave_magic(key, original, updated)
            body = self._each_placed(original, updated)
            return cst.FlattenSentinel(body) if body else cst.RemoveFromParent()
        return self._leave_placed(key, original, updated)

    def _is_parted(self, line: cst.SimpleStatementLine) -> bool:
        """Whether something comes between the statements of a line, or one goes: each gets a line, but for magics."""
        start, *others = (self.spans[id(statement)][0] for statement in line.body)
        first = self.statements.get(start, StatementEdit())
        goes = first.removed or (start in self.moving and not blocks.is_lone_name(line.body[0]))
        alone = goes or first.replacement is not None or first.within is not None or bool(first.after)
        alone = alone or any(other in self.statements or other in self.moving for other in others)
        return bool(others) and alone

    def _leave_magic(self, key: Place, original: Statement, updated: cst.SimpleStatementLine) -> object:
        """The line of a magic such as `%time`, whose statements stay on it, with what comes before and after it."""
        magic, *starts = (self.spans[id(statement)][0] for statement in original.body)  # type: ignore[union-attr]
        edits = [self.statements.get(start, StatementEdit()) for start in starts]
        around, new = of_shared_line(edits), self._statements([edit.replacement for edit in edits if edit.replacement])
        line = blocks.behind_magic(updated, new) if new else updated
        if around is None or line is None or magic in self.statements or any(start in self.moving for start in starts):
            raise blocks.shared_line(starts[0][0])
        self.pending -= {("statement", start) for start in starts}
        return self._leave_edited(key, original, line, around)

    def _each_placed(self, original: blocks.SharedLine, updated: blocks.SharedLine) -> list[cst.BaseStatement]:
        """The statements of a line, each on its own, with what comes before and after them."""
        kept = [statement not in self.without_names for statement in original.body]
        body: list[cst.BaseStatement] = []
        for statement, line in zip(original.body, blocks.lines_of(updated, kept), strict=True):
            result = self._leave_placed(self.spans[id(statement)][0], cst.SimpleStatementLine([statement]), line)
            if result is not cst.RemoveFromParent():
                body += result if isinstance(result, cst.FlattenSentinel) else [result]  # type: ignore[list-item]
        return body

    def _leave_placed(self, key: Place, original: Statement, updated: cst.CSTNode) -> object:
        edit = self.statements.get(key, StatementEdit())
        self.pending.discard(("statement", key))
        result = self._leave_edited(key, original, updated, edit)
        return self._leave_moved(key, edit, result) if key in self.moving else result

    def _leave_suite(self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite) -> cst.BaseSuite:
        """A body on the line of its head; it becomes a block where something comes before or after its statements."""
        starts = [self.spans[id(statement)][0] for statement in original.body]
        if not any(start in self.statements or start in self.moving for start in starts):
            return updated
        body, _ = blocks.handed_down(self._each_placed(original, updated), self.gone, self.new)
        return cst.IndentedBlock(body or [cst.SimpleStatementLine([cst.Pass()])])

    def _leave_moved(self, key: Place, edit: StatementEdit, result: object) -> object:
        """Keeps a statement that moves for its new place, and leaves what comes instead in the old one."""
        left = [] if result is cst.RemoveFromParent() else [result]
        group = list(result) if isinstance(result, cst.FlattenSentinel) else left
        nodes: list[Statement]
        nodes, _ = blocks.handed_down(group, self.gone, self.new)  # type: ignore[arg-type, assignment]
        self.moved[key] = nodes or group  # type: ignore[assignment]  # of what is gone the lines over it
        instead = self._statements(edit.instead)
        self.new.update(instead)
        if not instead and nodes:  # the blank lines set off what stands above
            instead.append(self._placeholder(nodes[0].leading_lines[: blocks.blank_lines(nodes[0])]))
        return cst.FlattenSentinel(instead) if instead else cst.RemoveFromParent()

    def _leave_edited(self, key: Place, original: Statement, updated: cst.CSTNode, edit: StatementEdit) -> object:
        """A statement with what comes before and after it, or in its place."""
        gone = edit.removed or edit.replacement is not None
        if isinstance(updated, cst.SimpleStatementLine):
            gone = gone or not updated.body
        middle = self._statements([edit.replacement] if edit.replacement else []) if gone else [updated]
        if edit.within is not None:
            outer = blocks.within(self._statements([edit.within])[0], [templates.laid_out(s) for s in middle])
            self.enclosing.add(outer)
            middle = [outer]
        before = self._statements(edit.before)
        group = [*before, *middle, *self._statements(edit.after)]
        if gone:
            if before and edit.blank_line:
                group.insert(len(before), self._placeholder([cst.EmptyLine(indent=False)]))
            group = blocks.keep_comments(updated, group)
            if edit.replacement and edit.replacement.blocks and (below := blocks.comments_below(updated)):
                group.append(self._placeholder(below))
        elif before and not blocks.is_definition(before[0]):
            group = blocks.hand_over_blank_lines(
                group,
                middle[0] if edit.within else updated,
                blank_line=edit.blank_line,
                below_comments=edit.below_comments,
            )
        self.new.update(statement for statement in group if statement is not updated)
        lines = updated.leading_lines  # type: ignore[attr-defined]
        # What is removed elsewhere has its comments with what takes its place; an import has no such place. The
        # blank lines set off what stands above, and stay.
        if not (edit.comments_stay or blocks.is_import(original)):
            lines = lines[: blocks.blank_lines(updated)]
        if len(group) > 1:
            return cst.FlattenSentinel(group)
        return group[0] if group else self._placeholder(lines) if lines else cst.RemoveFromParent()

    def _placeholder(self, lines: Sequence[cst.EmptyLine]) -> cst.SimpleStatementLine:
        """A statement that only holds lines for the next one."""
        placeholder = cst.SimpleStatementLine([cst.Pass()], leading_lines=lines)
        self.gone.add(placeholder)
        return placeholder

    def _edit_function(self, function: cst.FunctionDef, edit: FunctionEdit) -> cst.FunctionDef:
        new = self._statements(edit.body_start)
        if new:
            self.new.update(new)
            block = blocks.indented(function.body)
            at = 1 if function.get_docstring() is not None else 0
            body = blocks.spaced([*block.body[:at], *new, *block.body[at:]], self.new, blocks.IN_A_BLOCK)
            function = function.with_changes(body=block.with_changes(body=body))
        return parameters.with_header(function, edit)


def _with_quotes(new: cst.FormattedString, old: cst.BaseExpression) -> cst.FormattedString:
    """An f-string with quotes that its edits leave to it."""
    assert isinstance(old, cst.FormattedString)
    try:
        return fitted(new, old)
    except NotQuotedError as error:
        raise RewriteError(str(error)) from error
