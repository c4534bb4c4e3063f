"""New code says a module by the name under which the script has it: `train.report()` after `from ray import train`."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from raymigrate.edits.import_names import NotRenamedError, texts_of, tree_of, uses_in
from raymigrate.edits.import_runs import root_of
from raymigrate.edits.plan import Code, Plan
from raymigrate.facts.syntax.module import Module


def say_own_names(module: Module, plan: Plan) -> None:
    """Uses imports of the script in place of new ones of the same modules."""
    for source in dict.fromkeys(source for source, name, _ in plan.needed_imports if name is None):
        for alias, line in _imported(module, plan, source):
            if alias != source and _can_say(module, plan, source, alias, line):
                plan.change_codes(lambda _, code, source=source, alias=alias: _said(code, source, alias))  # type: ignore[misc]
                plan.needed_imports = dict.fromkeys(n for n in plan.needed_imports if n[:2] != (source, None))
                break


def _imported(module: Module, plan: Plan, source: str) -> Iterator[tuple[str, int]]:
    """The names that stand for a module at the top level, and for nothing else, with the lines of their imports."""
    top = module.scope_of[module.tree]
    for statement in module.tree.body:
        for alias in statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else ():
            name = alias.asname or alias.name
            bindings = top.bindings.get(name, ())
            stays = alias not in plan.dropped_imports and statement not in plan.dissolved
            if stays and len(bindings) == 1 and bindings[0].qualified == source and bindings[0].node is alias:
                yield name, statement.lineno


def _can_say(module: Module, plan: Plan, source: str, alias: str, line: int) -> bool:
    """Whether all new code that says a module can say it by another name, and nothing else needs the import."""
    root = root_of(source)
    if module.reads(root) and not any(name == root for name, _ in _imported(module, plan, root)):
        return False
    try:
        for place, code in plan.places():
            for text in texts_of(code):
                if root not in text:
                    continue
                if any(alias in _bound(node) for node in ast.walk(tree_of(text)[0])):
                    return False
                says = any(_is_within(use.said, source) for use in uses_in(text, root))
                if says and not (getattr(place, "lineno", 0) > line and _is_meant(module, place, alias)):
                    return False
    except NotRenamedError:  # within an f-string
        return False
    return True


def _is_meant(module: Module, place: ast.AST, alias: str) -> bool:
    """Whether a name of the top level is that of the top level at a place, and in the function that begins there."""
    body = getattr(place, "body", None)
    scopes = [module.scope_of.get(node) for node in (place, *(body[:1] if isinstance(body, list) else ()))]
    return all(scope is not None and scope.find(alias) is module.scope_of[module.tree] for scope in scopes)


def _bound(node: ast.AST) -> tuple[str | None, ...]:
    """The names of a node that could be those of variables."""
    return tuple(getattr(node, field, None) for field in ("id", "arg", "name", "asname"))


def _said(code: Code, source: str, alias: str) -> Code:
    """Code that says a module by another name."""
    parts = {
        key: _text_said(part, source, alias) if isinstance(part, str) else part for key, part in code.parts.items()
    }
    return replace(code, template=_text_said(code.template, source, alias), parts=parts)


def _text_said(text: str, source: str, alias: str) -> str:
    for use in reversed(uses_in(text, root_of(source))):
        if _is_within(use.said, source):
            start, end = use.spans[source.count(".")]
            text = text[:start] + alias + text[end:]
    return text


def _is_within(said: str, module: str) -> bool:
    return f"{said}.".startswith(f"{module}.")
