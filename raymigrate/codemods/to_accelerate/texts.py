"""Parts of a batch that are texts: they have no device, and processes gather them as objects.

A loader makes a list of the texts of its rows. gather_for_metrics() takes such a list beside tensors for objects as a
whole, and gives the parts of all processes one after the other in place of a tuple; `.cpu()` is an AttributeError.
A tensor that is gathered as an object becomes a list of its rows, which has none of the methods of a tensor.
"""

import ast

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.random_draws import ROWS
from raymigrate.facts.values import free_name, is_call_by_name, is_method_call

# What a part is called that is a text by all likelihood. Where it is a tensor all the same, and no method of one is
# called, a list of its rows fits as well.
CALLED = frozenset(
    {
        *("answer", "caption", "context", "filename", "headline", "paragraph", "passage", "path", "prompt", "question"),
        *("response", "sentence", "summary", "text", "title", "tweet", "url", "utterance"),
    }
)
GIVE_TEXT = frozenset({"capitalize", "format", "join", "lower", "removeprefix", "replace", "strip", "title", "upper"})


def is_text(module: Module, part: ast.expr) -> bool:
    """Whether a part of a batch is the texts of its rows.

    Args:
        module: The module.
        part: The part: `batch["text"]`, or a name for it.
    """
    if isinstance(rows := _gone_through(module, part), ast.expr):
        return is_text(module, rows)
    whole = module.value(part)
    if _is_tensor(module, part) or _is_tensor(module, whole):
        return False
    key = module.constant(whole.slice) if isinstance(whole, ast.Subscript) else None
    if not isinstance(key, str):
        key = None
    given = _given(module).get(key, []) if key is not None else []
    if given:
        return all(_makes_text(module, value) for value in given)
    names = {key, part.id if isinstance(part, ast.Name) else None} - {None}
    return any(_is_called_text(str(name)) for name in names)


def _gone_through(module: Module, part: ast.expr) -> ast.expr | None:
    """What a loop in the file goes through, of which a name is one item: `batch["text"]` of `for row in batch["text"]`.

    Only what a batch may have under a key or a number is asked: a loop over a loader gives whole parts.
    """
    target = module.definition(part) if isinstance(part, ast.Name) else None
    loop = module.parent_of.get(target) if target is not None else None
    place = 0
    if isinstance(loop, ast.Tuple) and target in loop.elts:
        place, loop = loop.elts.index(target), module.parent_of[loop]
    if not isinstance(loop, (ast.For, ast.comprehension)):
        return None
    rows = loop.iter
    if is_call_by_name(rows, "zip", "enumerate"):
        place -= is_call_by_name(rows, "enumerate")
        rows = rows.args[place] if 0 <= place < len(rows.args) else rows
    elif target is not loop.target:
        return None
    return rows if isinstance(module.value(rows), ast.Subscript) else None


def _is_tensor(module: Module, part: ast.expr) -> bool:
    """Whether the file takes an attribute of a part that texts and lists lack: `batch["text"].to(device)`."""
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Attribute) and _is_of_tensors(part.func.attr)
    if isinstance(part, ast.Subscript) and _moves_all(module.value(part.value)):
        return True
    return any(map(_is_of_tensors, _attributes(module).get(_spelled(module, part), ())))


def _is_of_tensors(attribute: str) -> bool:
    return not (hasattr(str, attribute) or hasattr(list, attribute))


def _moves_all(batch: ast.expr) -> bool:
    """Whether a method of tensors is called on each part of a batch: `{k: v.to(device) for k, v in batch.items()}`."""
    value = batch.value if isinstance(batch, ast.DictComp) and not batch.generators[0].ifs else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and _is_of_tensors(value.func.attr)


def _spelled(module: Module, part: ast.expr) -> tuple[str, ast.AST | None]:
    """A part as it is written; a name means the same in one function alone."""
    return ast.unparse(part), module.function(part) if isinstance(part, ast.Name) else None


@kept
def _attributes(module: Module) -> dict[tuple[str, ast.AST | None], set[str]]:
    """The attributes that a file takes of names and items."""
    found: dict[tuple[str, ast.AST | None], set[str]] = {}
    for node in module.of_type(ast.Attribute):
        if isinstance(node.value, (ast.Name, ast.Subscript)):
            found.setdefault(_spelled(module, node.value), set()).add(node.attr)
    return found


def _is_called_text(name: str) -> bool:
    """Whether the last word of a name is that of a text: `review_texts`, and neither `text_ids` nor `context_mask`."""
    last = name.lower().rpartition("_")[2]
    return last in CALLED or last.removesuffix("s") in CALLED


@kept
def _given(module: Module) -> dict[str, list[ast.expr]]:
    """What the rows of the file's datasets hold, by their keys."""
    found: dict[str, list[ast.expr]] = {}
    for node in module.of_type(ast.Dict):
        function = module.function(node)
        if getattr(function, "name", "") not in ROWS:
            continue
        for name, value in zip(node.keys, node.values, strict=True):
            key = module.constant(name) if name is not None else None
            if isinstance(key, str):
                found.setdefault(key, []).append(value)
    return found


def _makes_text(module: Module, value: ast.expr) -> bool:
    """Whether a value is a text on each way by which it gets there."""
    sources = module.origins(value)
    return bool(sources) and all(
        isinstance(source.node, ast.JoinedStr)
        or isinstance(source.module.constant(source.node), str)
        or free_name(source.module, getattr(source.node, "func", source.node)) in ("str", "repr")
        or is_method_call(source.node, *GIVE_TEXT)
        for source in sources
    )
