"""Keys that a script puts into a dict itself."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import reaching
from raymigrate.facts.values.arguments import is_call_by_name, is_method_call


class WrittenKeys:
    """The places where a module writes a key into a dict: `d["key"] = 1`, `d.update(key=1)`, `d = {"key": 1}`.

    Args:
        module: The module.
        key: The key.
    """

    def __init__(self, module: Module, key: str) -> None:
        self.module = module
        # For each dict and each function that writes to it, where the first statement ends that does.
        self._written = dict[object, dict[ast.AST | None, tuple[int, int]]]()
        for node, of in _writes(module, key):
            function = module.function(node)
            for dictionary in self._identities(of):
                ends = self._written.setdefault(dictionary, {})
                ends[function] = min(ends.get(function, module.end(node)), module.end(node))

    def has(self, read: ast.AST, of: ast.expr) -> bool:
        """Whether the key is written to a dict before it is read there, or in another function.

        Args:
            read: The node that reads it.
            of: The dict.
        """
        function = self.module.function(read)
        return any(
            writer is not function or end <= self.module.start(read)
            for dictionary in self._identities(of)
            for writer, end in self._written.get(dictionary, {}).items()
        )

    def _identities(self, dictionary: ast.expr) -> set[object]:
        """What uses of one dict have in common: where it is made, where its name is bound, or its spelling."""
        if isinstance(dictionary, ast.Name) and not isinstance(dictionary.ctx, ast.Load):
            return {dictionary}
        found: set[object] = {source.node for source in self.module.origins(dictionary)}
        if isinstance(dictionary, ast.Name):
            return found | {binding.node for binding in reaching(self.module, dictionary)}
        return {*found, ast.unparse(dictionary)}


def _writes(module: Module, key: str) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The nodes that write a key, each with the dict."""
    for node in module.spelling(key):
        parent = module.parent_of[node]
        match parent:
            case ast.Subscript(value=of, slice=written, ctx=ast.Store()) if written is node:
                yield module.statement(parent), of
            case ast.Call(func=ast.Attribute(value=of, attr="setdefault"), args=[written, *_]) if written is node:
                yield parent, of
            case ast.Dict(keys=keys) if node in keys:
                yield from _given(module, parent)
    for call, keyword in module.keywords(key):
        if is_method_call(call, "update"):
            yield call, call.func.value
        elif is_call_by_name(call, "dict") and keyword.arg == key:
            yield from _given(module, call)


def _given(module: Module, made: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The dicts that a dict is given to: the name that it gets, or what it is merged into."""
    match module.parent_of[made]:
        case ast.Assign(targets=targets) as statement:
            yield from ((statement, target) for target in targets)
        case ast.AnnAssign(target=target) | ast.AugAssign(op=ast.BitOr(), target=target) as statement:
            yield statement, target
        case ast.Call(func=ast.Attribute(value=of, attr="update")) as call:
            yield call, of
