"""RM696: comments and docstrings that name a class which the code no longer uses."""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import gone_names
from raymigrate.codemods.phases import Phase
from raymigrate.facts.comments import comments_in
from raymigrate.facts.legacy import TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.preprocessors import BATCH_MAPPERS
from raymigrate.facts.results import CHECKPOINT_CLASSES

RM696 = Rule(
    "RM696",
    "words on a class that is gone",
    "Nothing changes at run time. But a comment or docstring speaks of a class that the converted code does not use.",
    "Reword it.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html",
)
PREDICTORS = frozenset({"BatchPredictor", "HuggingFacePredictor", "TransformersPredictor"})
NAMES = PREDICTORS | {name.rpartition(".")[2] for name in (*TRAINERS, *CHECKPOINT_CLASSES, *BATCH_MAPPERS)}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@codemod(*sorted(NAMES), phase=Phase.GONE, after=[gone_names])
def names_in_comments(context: Context) -> None:
    """Notes where words still name a class, once nothing else in the file does."""
    converted, left = set[str](), set[str]()
    for reference in context.module.references:
        found = NAMES.intersection(reference.qualified.split("."))
        (converted if reference.root in context.rewritten else left).update(found)
    if not converted - left:
        return
    texts = sorted(_texts(context.module), key=lambda found: context.module.start(found[0]))
    for name in sorted(converted - left):
        places = [node for node, text in texts if re.search(rf"\b{name}\b", text)]
        if places:
            where = f"{len(places)} comments or docstrings, the first one here, name" if places[1:] else "This names"
            context.note(RM696, places[0], f"{where} {name}, which the code no longer uses.")


def _texts(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The docstrings and comments of a module, each with a node at its place."""
    for kind in DOCUMENTED:
        for owner in module.of_type(kind):
            text = ast.get_docstring(owner, clean=False)  # type: ignore[arg-type]
            if text is not None:
                yield owner.body[0], text  # type: ignore[attr-defined]
    for comment in comments_in(module):
        before = module.lines[comment.line - 1][: comment.column - 1]
        yield ast.Constant(comment.text, lineno=comment.line, col_offset=len(before.encode())), comment.text
