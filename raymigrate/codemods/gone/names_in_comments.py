"""RM696: comments and docstrings that name a class which the code no longer uses."""

import ast
import re
from collections.abc import Iterator
from operator import itemgetter

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
    for name in sorted(converted - left):
        places = sorted(_places(context.module, name), key=itemgetter(0))
        if places:
            (line, column), kind = places[0]
            before = context.module.lines[line - 1][:column]
            node = ast.Constant(name, lineno=line, col_offset=len(before.encode()))
            what = f"{len(places)} comments or docstrings name" if places[1:] else f"This {kind} names"
            first = "; this is the first" if places[1:] else ""
            context.note(RM696, node, f"{what} {name}, which the code no longer uses{first}.")


def _places(module: Module, name: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Where docstrings and comments first name a class: line and column, and which of the two it is."""
    word = re.compile(rf"\b{name}\b")
    for kind in DOCUMENTED:
        for owner in module.of_type(kind):
            if ast.get_docstring(owner, clean=False) is not None:  # type: ignore[arg-type]
                text = owner.body[0]  # type: ignore[attr-defined]
                for line in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                    if found := word.search(module.lines[line - 1]):
                        yield (line, found.start()), "docstring"
                        break
    for comment in comments_in(module):
        if found := word.search(comment.text):
            yield (comment.line, comment.column - 1 + found.start()), "comment"
