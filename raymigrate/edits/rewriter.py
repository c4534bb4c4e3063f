"""Carries out a plan with LibCST, in one parse and one visit; more where an edit wants a part that stands below it."""

import libcst as cst

from raymigrate.edits.excerpt import Excerpt, NotFilled
from raymigrate.edits.imports import place_imports
from raymigrate.edits.plan import Plan, RewriteError
from raymigrate.edits.positions import Place, Span, Writing, code_of
from raymigrate.edits.stand_ins import MAX_NODES, NothingHidden, untouched
from raymigrate.edits.visit import TO_COME, Statement, Visit
from raymigrate.facts.syntax.module import Module

VISITS = 4


def rewrite(module: Module, plan: Plan) -> str:
    """Applies a plan to a module.

    Args:
        module: The module whose tree the plan was made on.
        plan: What to change.

    Returns:
        The new source text.

    Raises:
        RewriteError: If LibCST does not read the text as it is, or an edit has no place in it.
        NotRenamedError: If a name of new code is perhaps the script's own.
    """
    place_imports(module, plan)
    code = _with_code_changed(module, plan)
    for old, new in plan.comments.items():
        if old not in code:
            raise RewriteError("a block of comments is not there")
        code = code.replace(old, new, 1)  # the first one counts: a later one may be part of a text
    return code


def _with_code_changed(module: Module, plan: Plan) -> str:
    """The text with all edits but those of comments."""
    try:
        hidden = untouched(module, plan)
        return _rewritten(Excerpt(module, hidden), plan)
    except (NothingHidden, NotFilled, RewriteError) as error:
        if isinstance(error, RewriteError) and not hidden:
            raise
        if len(module.nodes) > MAX_NODES:  # LibCST has no memory for the whole of it
            raise RewriteError(f"of a part of it, as it is long: {error}") from error
    return _rewritten(Excerpt(module), plan)  # so the lines of an error are those of the module


def _rewritten(excerpt: Excerpt, plan: Plan) -> str:
    try:
        parsed = cst.parse_module(excerpt.text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise RewriteError(f"LibCST cannot parse it: {error}") from error
    written = Writing(parsed)
    if written.code != excerpt.text:
        raise RewriteError("LibCST does not give it back byte for byte")
    if excerpt.hidden and parsed.default_indent != excerpt.first_indent:
        raise NotFilled("its first block, after which LibCST indents new code, is hidden")
    edited: dict[Span, cst.BaseExpression] = {}
    moved: dict[Place, list[Statement]] = {}
    for _ in range(VISITS):
        visit = Visit(excerpt, plan, written.spans, edited, moved)
        result = parsed.visit(visit)
        code = code_of(result, result)
        if not visit.early and (not edited or TO_COME not in code):
            break
        # Every part was reached now: again, for the edits that came before theirs.
        edited, moved = visit.edited, visit.moved
    else:
        raise RewriteError("parts of edits wait for each other")
    if visit.pending:
        line = min(start[0] for _, start in visit.pending)
        raise RewriteError("an edit of this line found no place", line)
    return excerpt.filled(code)
