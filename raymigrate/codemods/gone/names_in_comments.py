"""RM696: comments and docstrings that name what the code no longer uses, or takes from elsewhere.

They are in people's words, and are not rewritten.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from raymigrate.base.families import Family
from raymigrate.base.findings import Kind, Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import gone_names
from raymigrate.codemods.gone.names_in_strings import LEGACY, successor
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_data.preprocessors import BATCH_MAPPERS
from raymigrate.facts.ray_train.results import CHECKPOINT_CLASSES
from raymigrate.facts.syntax.comments import comments_in
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.legacy import TRAINERS

RM696 = Rule(
    "RM696",
    "words on a class that is gone",
    "Nothing changes at run time. But a comment or docstring speaks of a class that the converted code does not use,"
    " or by a name that it had before.",
    "Reword it.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html",
)
PREDICTORS = frozenset({"BatchPredictor", "HuggingFacePredictor", "TransformersPredictor"})
NAMES = PREDICTORS | {name.rpartition(".")[2] for name in (*TRAINERS, *CHECKPOINT_CLASSES, *BATCH_MAPPERS)}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Words:
    """A docstring or a comment.

    Args:
        kind: Which of the two it is.
        lines: The number of each line, how far into it the text begins, and the text.
    """

    kind: str
    lines: list[tuple[int, int, str]]


@codemod(*sorted(NAMES), "ray[.]air", phase=Phase.GONE, after=[gone_names])
def names_in_comments(context: Context) -> None:
    """Notes where words still name a class, once nothing else in the file does."""
    converted, left = set[str](), set[str]()
    moved = any(told.family is Family.RAY_AIR and told.kind is Kind.CONVERTED for told in context.findings)
    for reference in context.module.references:
        found = NAMES.intersection(reference.qualified.split("."))
        (converted if reference.root in context.rewritten else left).update(found)
    if not converted - left and not moved:
        return
    words = list(_words(context.module))
    for name in sorted(converted - left):
        _note(context, words, name, "the code no longer uses")
    for name in sorted({found.group() for text in _texts(words) for found in LEGACY.finditer(text)}) if moved else ():
        new = successor(name)
        if new is not None and not NAMES.intersection(name.split(".")):
            _note(context, words, name, f"the code takes from {_home(context, name, new)} now")


def _home(context: Context, name: str, successor: str) -> str:
    """Where the code takes from now what has another name: what Tune's functions and Tuners use is in ray.tune."""
    of_tune = context.tuned - context.undecided
    last = name.rpartition(".")[2]
    calls = context.module.calls_if(lambda name: name.startswith("ray.") and name.rpartition(".")[2] == last)
    tunes = [call for call in calls if call in of_tune or context.place_of(call) is Place.TRIAL]
    home = successor.rpartition(".")[0]
    if not tunes or home != "ray.train":
        return home
    return "ray.tune" if len(tunes) == len(calls) else "ray.train or ray.tune"


def _note(context: Context, words: list[_Words], name: str, outcome: str) -> None:
    """Notes the first of the words that name something, and how many do."""
    places = sorted(_places(words, name), key=itemgetter(0))
    if not places:
        return
    (line, column), kind = places[0]
    before = context.module.lines[line - 1][:column]
    node = ast.Constant(name, lineno=line, col_offset=len(before.encode()))
    what = f"{len(places)} comments or docstrings name" if places[1:] else f"This {kind} names"
    first = "; this is the first" if places[1:] else ""
    context.note(RM696, node, f"{what} {name}, which {outcome}{first}.")


def _words(module: Module) -> Iterator[_Words]:
    """The docstrings and comments of a module."""
    for kind in DOCUMENTED:
        for owner in module.of_type(kind):
            if ast.get_docstring(owner, clean=False) is not None:  # type: ignore[arg-type]
                text = owner.body[0]  # type: ignore[attr-defined]
                numbers = range(text.lineno, (text.end_lineno or text.lineno) + 1)
                yield _Words("docstring", [(number, 0, module.lines[number - 1]) for number in numbers])
    for comment in comments_in(module):
        yield _Words("comment", [(comment.line, comment.column - 1, comment.text)])


def _texts(words: list[_Words]) -> Iterator[str]:
    return (text for part in words for _, _, text in part.lines)


def _places(words: list[_Words], name: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Where docstrings and comments first name something: line and column, and which of the two it is."""
    whole = re.compile(rf"\b{re.escape(name)}\b")
    for part in words:
        for line, column, text in part.lines:
            if found := whole.search(text):
                yield (line, column + found.start()), part.kind
                break
