"""On what condition a loop over epochs saves its state, where the end of the epoch can ask the same again."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_ray.trackers import is_asked_rank
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.values import last_name

Loop = ast.For | ast.While
JOINED = (ast.BoolOp, ast.IfExp)  # what needs parentheses beside `and`
# What may come out otherwise when it is worked out a second time.
EACH_TIME = (ast.Call, ast.NamedExpr, ast.Await, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


def save_condition(module: Module, loop: Loop, savings: list[ast.Call]) -> tuple[str | None, list[ast.Call]]:
    """The condition on which an epoch saves its state, as source.

    Args:
        module: The module.
        loop: The loop over epochs.
        savings: The calls that save the state.

    Returns:
        The condition, empty where every epoch saves; what asks for the rank is left out, since all workers take part in
        a checkpoint. None where no call is made on one that the end of the epoch can ask again. And the calls whose
        condition is not in it for that reason.
    """
    asked = {saving: _asked(module, loop, saving) for saving in savings}
    known = {saving: tests for saving, tests in asked.items() if tests is not None}
    if not known:
        return None, []
    parts = [
        " and ".join(_source(module, test, holds, alone=len(tests) == len(savings) == 1) for test, holds in tests)
        for tests in known.values()
    ]
    if not all(parts):
        return "", []
    return " or ".join(dict.fromkeys(parts)), [call for call in savings if call not in known]


def _asked(module: Module, loop: Loop, saving: ast.Call) -> list[tuple[ast.expr, bool]] | None:
    """The tests around a call, besides those for the rank; None if one may come out otherwise at the epoch's end."""
    tests = [(test, holds) for test, holds in _tests(module, loop, saving) if not _asks_for_rank(module, test)]
    if any(_may_change(module, loop, saving, test) or _is_of_one_rank(module, loop, test) for test, _ in tests):
        return None
    return tests[::-1]


def _is_of_one_rank(module: Module, loop: Loop, test: ast.expr) -> bool:
    """Whether a test reads what one rank alone is given in the loop: below `if accelerator.is_main_process:`."""
    read = names_in(test)
    stored = (n for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in read)
    branches = (around for name in stored for around in module.ancestors(name) if isinstance(around, ast.If))
    return any(module.inside(branch, loop) and _asks_for_rank(module, branch.test) for branch in branches)


def _tests(module: Module, loop: Loop, saving: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of the test of each `if` around a call, the last first, with whether they hold where it is made."""
    child: ast.AST = saving
    for around in module.ancestors(saving):
        if around is loop:
            return
        if isinstance(around, ast.If) and child is not around.test:
            holds, test = child in around.body, around.test
            parts = test.values if holds and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
            yield from ((part, holds) for part in reversed(parts))
        child = around


def _asks_for_rank(module: Module, test: ast.expr) -> bool:
    return any(is_asked_rank(module, part) for part in ast.walk(test))


def _may_change(module: Module, loop: Loop, saving: ast.Call, test: ast.expr) -> bool:
    """Whether a test may come out otherwise at the end of the epoch: `if loss < best`, and `best = loss` below it."""
    if any(isinstance(part, EACH_TIME) for part in ast.walk(test)):
        return True
    read = {name for part in ast.walk(test) if (name := _name(part))}
    number = next(n for n, statement in enumerate(loop.body) if module.inside(saving, statement))
    rest = [part for statement in loop.body[number:] for part in ast.walk(statement)]
    stored = {name for part in rest if isinstance(getattr(part, "ctx", None), ast.Store) and (name := _name(part))}
    changed = {part.func.value.id for part in rest if _calls_method_of_name(part)}  # type: ignore[attr-defined]
    owners = {
        part.value.id for part in ast.walk(test) if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
    }
    return not read.isdisjoint(stored) or not (read - owners).isdisjoint(changed)


def _name(part: ast.AST) -> str:
    """The name, the attribute, or the owner of the entry that an expression is."""
    if isinstance(part, ast.Subscript):
        return _name(part.value)
    return last_name(part)


def _calls_method_of_name(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and isinstance(part.func.value, ast.Name)


def _source(module: Module, test: ast.expr, holds: bool, *, alone: bool) -> str:
    source = module.source(test)
    source = ast.unparse(test) if "\n" in source else source
    if not holds:
        return f"not ({source})"
    return f"({source})" if isinstance(test, JOINED) and not alone else source
