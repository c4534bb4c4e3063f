"""RM701 for image processors: arguments of transformers 4 that they ignore today.

Measured on transformers 5.23: `SegformerImageProcessor.from_pretrained(name, reduce_labels=True)` gives one that does
not reduce labels, and `DetrImageProcessor.from_pretrained(name, pad_and_return_pixel_mask=False)` one that pads; the
call of a processor raises a TypeError for reduce_labels=.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RENAMED = {"reduce_labels": "do_reduce_labels", "pad_and_return_pixel_mask": "do_pad"}
MAKES_ONE = lazy_regex(
    r"transformers\.(?:\w+\.)*\w*(?:ImageProcessor(?:Fast|Pil)?|FeatureExtractor)(?:\.from_pretrained)?"
)


@codemod(*RENAMED, phase=Phase.LIBRARIES)
def image_processors(context: Context) -> None:
    """Renames the arguments where an image processor is made or called."""
    for call, keyword in context.module.keywords(*RENAMED):
        if not (_makes_one(context.module, call) or _calls_one(context.module, call)):
            continue
        happens = "is ignored or refused by image processors today"
        rename_argument(context, call, keyword, RENAMED[str(keyword.arg)], happens)


def rename_argument(context: Context, call: ast.Call, keyword: ast.keyword, new: str, happens: str) -> None:
    """Gives an argument its name of today, where that is not given as well; `happens` is what becomes of the old."""
    message = f"{keyword.arg}= {happens}"
    if new in {other.arg for other in call.keywords}:
        context.manual(RM701, keyword, f"{message}; {new}= took its place.", "Keep the one that is meant.")
    elif context.converts(RM701, keyword, f"{message}; now {new}=."):
        context.plan.call(call).rename[str(keyword.arg)] = new


def _makes_one(module: Module, call: ast.Call) -> bool:
    return MAKES_ONE.fullmatch(called_name(module, call)) is not None


def _calls_one(module: Module, call: ast.Call) -> bool:
    """Whether an image processor is called: `processor(images, reduce_labels=True)`."""
    made = module.origins(call.func)
    return any(isinstance(source.node, ast.Call) and _makes_one(source.module, source.node) for source in made)
