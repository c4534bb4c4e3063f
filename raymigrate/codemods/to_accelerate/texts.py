"""Parts of a batch that are texts: they have no device, and processes gather them as objects.

A loader makes a list of the texts of its rows. gather_for_metrics() takes such a list beside tensors for objects as a
whole, and gives the parts of all processes one after the other in place of a tuple; `.cpu()` is an AttributeError.
"""

import ast

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.random_draws import ROWS
from raymigrate.facts.values import free_name, is_method_call

# What a part is called that is a text by all likelihood. Where it is a tensor all the same, gathered rows fit as well.
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
    whole = module.value(part)
    key = module.constant(whole.slice) if isinstance(whole, ast.Subscript) else None
    if not isinstance(key, str):
        key = None
    given = _given(module).get(key, []) if key is not None else []
    if given:
        return all(_makes_text(module, value) for value in given)
    names = {key, part.id if isinstance(part, ast.Name) else None} - {None}
    return any(_is_called_text(str(name)) for name in names)


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
