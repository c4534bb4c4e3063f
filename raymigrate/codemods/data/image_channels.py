"""RM513: images of one channel beside those of three.

Measured: a row of read_images() holds (height, width) for a gray image with Ray 2.7.2, and (1, height, width) with 2.60
where others of the block have three dimensions; there a batch of both raised a ValueError, so that scripts that ran
either have no gray images or look at one row at a time.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import argument

RM513 = Rule(
    "RM513",
    "gray images among others",
    "read_images() without mode= gives an image of one channel as (1, height, width) where others have three, and gave"
    " it as (height, width): a filter by the number of dimensions keeps it, and PIL cannot read it.",
    'Give read_images() mode="RGB", which reads each image with three channels, or tell gray ones by shape[0] == 1.',
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.read_images.html",
)

MESSAGE = "A gray image in one block with others has three dimensions, (1, height, width): before, it had two."
ADVICE = 'mode="RGB" in read_images() gives every image three channels; shape[0] == 1 tells a gray one.'
COLUMN = "image"
ROW_METHODS = ("filter", "flat_map", "map")


@codemod("read_images", in_ray_scripts=True)
def image_channels(context: Context) -> None:
    """Reports functions of rows that ask an image for its number of dimensions."""
    module = context.module
    if not any(map(_keeps_channels, module.calls("ray.data.read_images"))):
        return
    for call, _ in module.method_calls(*ROW_METHODS):
        given = argument(call, 0, "fn")
        function = BatchFunction(module, given) if given is not None else None
        if function is None or not function.visible or function.elsewhere:
            continue
        for use in _dimensions(function):
            context.manual(RM513, use, MESSAGE, ADVICE)


def _keeps_channels(call: ast.Call) -> bool:
    """Whether images are read as they are in the files; `**options` may say otherwise."""
    return {keyword.arg for keyword in call.keywords}.isdisjoint({"mode", None})


def _dimensions(function: BatchFunction) -> Iterator[ast.Attribute]:
    """Where a function asks `row["image"]` for `.ndim` or `len(.shape)`, under that or another name."""
    assert function.node is not None
    module = function.module
    images = {image for row in function.uses if (image := _column(module, row)) is not None}
    names = {
        target.id
        for image in images
        if is_assignment(assigned := module.parent_of.get(image))
        for target in targets_of(assigned)
        if isinstance(target, ast.Name)
    }
    for node in module.below(function.node):
        if isinstance(node, ast.Attribute) and _asks_dimensions(module, node):
            owner = node.value
            if owner in images or (isinstance(owner, ast.Name) and owner.id in names):
                yield node


def _column(module: Module, row: ast.Name) -> ast.Subscript | None:
    """The subscript by which a row is asked for its image."""
    parent = module.parent_of.get(row)
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == COLUMN:
        return parent
    return None


def _asks_dimensions(module: Module, node: ast.Attribute) -> bool:
    parent = module.parent_of.get(node)
    if node.attr == "shape" and isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return parent.func.id == "len" and node in parent.args
    return node.attr == "ndim"
