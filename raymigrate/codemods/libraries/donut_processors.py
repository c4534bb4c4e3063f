"""RM765: what the image processor of Donut is told of sizes and paddings.

transformers 5.23, models/donut/image_processing_donut.py. 4.30.2 turned a size around that was a pair, wherever it
came from (`preprocess`: "Previous feature extractor had size in (width, height) format"); 5.23 does so where the
processor is made or called, and not where its attribute is set: for a page of 60 x 30 and `size = (20, 40)` the pixels
were 40 x 20 then and are 20 x 40 (run). random_padding= is a TypeError in a call of the image processor, and in one of
DonutProcessor it is passed over with a warning: 20 calls gave the same padding (run).
"""

import ast
import re

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, has_starred
from raymigrate.knowledge.processors import AUTO, IMAGES, SOUNDS

RM765 = Rule(
    "RM765",
    "sizes and paddings of Donut's images",
    "transformers >= 5 reads a pair that is set as the size of a Donut image processor as (height, width), which was"
    " (width, height), without an error: the images are resized to the wrong shape. random_padding= has no effect,"
    " or raises a TypeError.",
    'Set a dict, {"height": ..., "width": ...}; pad at random before the processor gets the image, or leave'
    " random_padding= out.",
    "https://huggingface.co/docs/transformers/model_doc/donut",
)
MESSAGE = "The image processor of Donut reads a pair that is set as its size as (height, width) today"
NOW = f"{MESSAGE}; now a dict of what were width and height."
ADVICE = 'If it is a pair of width and height, set {"height": ..., "width": ...}.'
HEIGHT_FIRST = '{"height": $height, "width": $width}'
WIDTH_FIRST = '{"width": $width, "height": $height}'  # the order of a pair, in which calls in it are run
AT_ANY_TIME = (ast.Constant, ast.Name, ast.Attribute)
SIZE, PADDING = "size", "random_padding"
OF_DONUT = lazy_regex(
    r"transformers(?:\.\w+)*\.Donut(?:ImageProcessor\w*|FeatureExtractor|Processor)(?:\.from_pretrained)?"
)
WHOLE = lazy_regex(r"\.DonutProcessor(?:\.from_pretrained)?$")
DONUT = lazy_regex("donut", re.IGNORECASE)


@codemod("Donut", "donut", PADDING, phase=Phase.LIBRARIES)
def donut_processors(context: Context) -> None:
    """Turns pairs that are set as sizes into dicts, and reports paddings at random."""
    module = context.module
    for node in module.attributes(SIZE):
        statement = module.parent_of[node]
        if not isinstance(node.ctx, ast.Store) or not _is_image_processor(module, node.value):
            continue
        if isinstance(statement, ast.Assign) and statement.targets == [node]:
            _size(context, node, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is None:
            continue
        elif not _is_no_pair(module, module.assigned(node)):
            context.manual(RM765, node, f"{MESSAGE}, which was (width, height).", ADVICE)
    for call, keyword in module.keywords(PADDING):
        of_whole = _is_of_donut(module, call.func, whole=True)
        if module.constant(keyword.value) is not False and (of_whole or _is_image_processor(module, call.func)):
            whole = of_whole and _is_whole(module, call.func)
            passed = "is ignored today: the image is always centred."
            message = f"{PADDING}= {passed if whole else 'raises a TypeError today.'}"
            advice = "Pad the image at random before, such as with PIL.ImageOps.expand(), or leave the argument out."
            context.manual(RM765, keyword, message, advice)


def _size(context: Context, node: ast.Attribute, value: ast.expr) -> None:
    """Writes out which number is which, or tells of a size that is not seen."""
    module = context.module
    pair = module.value(value)
    starred = isinstance(pair, (ast.Tuple, ast.List)) and has_starred(pair.elts)
    if isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) == 2 and pair is value and not starred:
        if context.converts(RM765, node, NOW):
            width, height = pair.elts
            is_simple = isinstance(width, AT_ANY_TIME) and isinstance(height, AT_ANY_TIME)
            context.plan.replace(value, HEIGHT_FIRST if is_simple else WIDTH_FIRST, height=height, width=width)
    elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and _is_turned(value):
        if context.converts(RM765, node, NOW):
            context.plan.replace(value, '{"height": $size[0], "width": $size[1]}', size=value.value)
    elif isinstance(pair, (ast.Tuple, ast.List)) or _is_turned(pair):
        if context.converts(RM765, node, NOW):
            context.plan.replace(value, 'dict(zip(("width", "height"), $size))', size=value)
    elif not _is_no_pair(module, value):
        context.manual(RM765, node, f"{MESSAGE}, which was (width, height).", ADVICE)


def _is_no_pair(module: Module, value: ast.expr | None) -> bool:
    """Whether a value is seen to be a dict, or one number."""
    if value is None:
        return False
    return isinstance(module.value(value), ast.Dict) or isinstance(module.constant(value), int)


def _is_turned(node: ast.expr) -> bool:
    """Whether a value is a sequence from its end: `image_size[::-1]`."""
    part = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(part, ast.Slice) and part.step is not None and ast.unparse(part.step) == "-1"


def _is_image_processor(module: Module, node: ast.expr) -> bool:
    """Whether an object prepares the images of Donut: `processor.image_processor`, or one that is made alone."""
    if isinstance(node, ast.Attribute) and node.attr in (IMAGES, SOUNDS):
        return _is_of_donut(module, node.value, whole=True)
    return _is_of_donut(module, node, whole=False)


def _is_of_donut(module: Module, node: ast.expr, *, whole: bool) -> bool:
    """Whether an object is made by one of Donut's classes; with `whole` by DonutProcessor or AutoProcessor too."""
    for source in module.origins(node):
        if not isinstance(source.node, ast.Call):
            continue
        name = called_name(source.module, source.node)
        is_auto = whole and name.startswith("transformers.") and f".{AUTO}." in f"{name}."
        if OF_DONUT.fullmatch(name) and (whole or not WHOLE.search(name)):
            return True
        if is_auto and _names_donut(source.module, source.node):
            return True
    return False


def _is_whole(module: Module, node: ast.expr) -> bool:
    """Whether what is called is a DonutProcessor, and not the image processor that it has."""
    names = [called_name(*source) for source in module.origins(node) if isinstance(source.node, ast.Call)]
    return any(WHOLE.search(name) or f".{AUTO}." in f"{name}." for name in names)


def _names_donut(module: Module, call: ast.Call) -> bool:
    """Whether a checkpoint is one of Donut, by its name."""
    given = argument(call, 0, "pretrained_model_name_or_path")
    name = module.constant(given)
    return isinstance(name, str) and DONUT.search(name) is not None
