"""Writes LibCST trees out; on request with the places of their nodes, counted on the way: one pass for both."""

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst.metadata.position_provider import PositionProvidingCodegenState

Place = tuple[int, int]  # line from 1, column in characters from 0
Span = tuple[Place, Place]
Spans = dict[int, Span]  # by the identity of a node: LibCST has that computed in Python, for each look into a dict


NOTHING = nullcontext()
# Python counts their brackets as a part of them.
BRACKETED = frozenset({cst.Tuple, cst.GeneratorExp})


class _Plain(CodegenState):
    """Writes without positions; LibCST's own class takes a third of its time to make generators that note none."""

    def record_syntactic_position(self, *_: object, **__: object) -> AbstractContextManager[None]:  # type: ignore[override]
        """Nothing is noted."""
        return NOTHING


def code_of(node: cst.CSTNode, module: cst.Module | None = None) -> str:
    """The code of a node, as `Module.code_for_node` gives it.

    Args:
        node: The node.
        module: The module that tells line ends and indentation.
    """
    module = cst.Module([]) if module is None else module
    state = _Plain(module.default_indent, module.default_newline)
    node._codegen(state)
    return "".join(state.tokens)


class Writing(PositionProvidingCodegenState):
    """Writes out the code of a module and notes where each node of it stands, as `ast` would say.

    That is what `PositionProvider` would give, but for tuples and generators in brackets.

    The provider itself visits the module once more for nothing and makes objects of what are pairs here, which takes a
    third of the time of a conversion.

    Args:
        module: The module to write out.

    Attributes:
        spans: Start and end of each node, without the whitespace that means nothing there.
    """

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline, provider=None)  # type: ignore[arg-type]
        self.spans: Spans = {}
        self._starts: list[Place] = []
        module._codegen(self)

    @property
    def code(self) -> str:
        """The code, as `Module.code` gives it."""
        return "".join(self.tokens)

    def add_token(self, value: str) -> None:
        """Takes the next piece of code."""
        self.tokens.append(value)
        if value.isalnum():
            self.column += len(value)
        else:
            self._update_position(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        """Notes where a node starts."""
        self._starts.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        """Notes where a node ends, unless it told more exactly by itself."""
        start, key = self._starts.pop(), id(node)
        if key not in self.spans:
            self.spans[key] = start, (self.line, self.column)
        elif node.__class__ in BRACKETED and node.lpar:
            self.spans[key] = self.spans[id(node.lpar[-1])][0], self.spans[id(node.rpar[0])][1]

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[None]:
        """What a node writes in this context is where it stands; LibCST makes a generator of it, which is slow."""
        return _Recording(self, node, start_node, end_node)


class _Recording(AbstractContextManager[None]):
    def __init__(
        self, writing: Writing, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self.writing = writing
        self.node = node
        self.start_node = start_node
        self.end_node = end_node
        self.start = writing.line, writing.column

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:  # Ctrl-C: the children may have no places yet
            return
        spans = self.writing.spans
        start = self.start if self.start_node is None else spans[id(self.start_node)][0]
        end = (self.writing.line, self.writing.column) if self.end_node is None else spans[id(self.end_node)][1]
        spans[id(self.node)] = start, end
