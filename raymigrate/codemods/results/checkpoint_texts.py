"""RM606: the text of a checkpoint, where a script takes it apart or compares it.

It was the name of the class with what the checkpoint was made from, `TorchCheckpoint(local_path=/run)` (Ray 2.6.3
air/checkpoint.py:231). Today it begins with "Checkpoint(" for every class (Ray 2.60 train/_checkpoint.py:145).
"""

import ast
from collections.abc import Iterator
from itertools import chain

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import RM303, RM308
from raymigrate.facts.ray_train.framework_checkpoints import framework_class
from raymigrate.facts.ray_train.results import is_any_checkpoint
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_arguments, sources

RM606 = Rule(
    "RM606",
    "the text of a checkpoint",
    "The text of a checkpoint is Checkpoint(filesystem=local, path=/run) today, whatever its class is; before, it was"
    " the name of the class with local_path=, uri= or data_dict=.",
    "Ask the checkpoint itself: its path is checkpoint.path, and type(checkpoint).__name__ the name of its class. A"
    " test of the text alone can go.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.Checkpoint.html",
)
MESSAGE = "The text of a checkpoint is Checkpoint(filesystem=..., path=...) today, whatever its class; "
COMPARED = "here it is compared with what it was before."
TAKEN_APART = "here it is taken apart as it was before."
FUNCTIONS = ("repr", "str", "format")
METHODS = ("__repr__", "__str__")
# Methods of a str that look into it, and of patterns, of re and of unittest that get one.
AROUND = ("removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition")
OF_TEXT = frozenset((*AROUND, "startswith", "endswith", "find", "rfind", "index", "rindex"))
ASSERTIONS = ("assertEqual", "assertEquals", "assertIn", "assertRegex")
WITH_TEXT = frozenset(("match", "fullmatch", "search", "findall", "finditer", *ASSERTIONS))


@codemod("repr", "str", "checkpoint", *METHODS, phase=Phase.RESULTS)
def checkpoint_texts(context: Context) -> None:
    """Reports what a legacy script does with the text of a checkpoint, other than to show it."""
    module = context.module
    if not _is_legacy(context):
        return
    texts = {text for text, checkpoint in _texts(module) if _is_checkpoint(module, checkpoint)}
    if not texts:
        return
    for node in chain(module.of_type(ast.Compare), module.of_type(ast.Call), module.of_type(ast.Subscript)):
        looked_at = _looked_at(node)
        of_checkpoint = [part for part in looked_at if not texts.isdisjoint(sources(module, part))]
        if 0 < len(of_checkpoint) < len(looked_at):  # the texts of two checkpoints can still be compared
            context.manual(RM606, node, MESSAGE + (COMPARED if isinstance(node, ast.Compare) else TAKEN_APART))


def _is_legacy(context: Context) -> bool:
    """Whether the text was that of old Ray: by the names of the script, or by how it makes its checkpoints."""
    return context.of_legacy_job or any(finding.code in (RM303.code, RM308.code) for finding in context.found)


def _texts(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The expressions that make a text of something, with that."""
    for call in module.named_calls(*FUNCTIONS):
        if len(call.args) == 1:
            yield call, call.args[0]
    for call, method in module.method_calls(*METHODS):
        yield call, method.value
    for call, method in module.method_calls("format"):
        if isinstance(module.constant(method.value), str):
            yield from ((call, part) for part in all_arguments(call))
    for filled in module.of_type(ast.BinOp):
        if isinstance(filled.op, ast.Mod) and isinstance(module.constant(filled.left), str):
            parts = filled.right.elts if isinstance(filled.right, ast.Tuple) else [filled.right]
            yield from ((filled, part) for part in parts)
    for text in module.of_type(ast.JoinedStr):
        for part in text.values:
            if isinstance(part, ast.FormattedValue):
                yield text, part.value


def _is_checkpoint(module: Module, node: ast.expr) -> bool:
    """Whether a value is a checkpoint of some class, in one of the ways to it at least."""
    if is_any_checkpoint(module, node):
        return True
    return any(is_any_checkpoint(module, source) or framework_class(module, source) for source in sources(module, node))


def _looked_at(node: ast.expr) -> list[ast.expr]:
    """The values into whose text an expression looks, if they have one, and what they are held against."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value, node]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    if node.func.attr in WITH_TEXT:
        return [node.func.value, *node.args]
    return [node.func.value, node] if node.func.attr in OF_TEXT else []
