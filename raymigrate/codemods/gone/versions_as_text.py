"""RM690: Ray's version, compared as a text: "2.51.0" comes before "2.7", so that the branch for older versions runs.

Python compares texts letter by letter, so `ray.__version__ >= "2.7"` is False with Ray 2.10 to 2.69, and with all that
the converted code runs on but the last of them.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.optional_imports import OPERATORS, RAYS, TURNED
from raymigrate.facts.values import called_name
from raymigrate.knowledge.versions import read_version

RM690 = Rule(
    "RM690",
    "Ray's version, compared as a text",
    'Texts are compared letter by letter: "2.51.0" comes before "2.7". So what is for older versions of Ray runs on'
    " current ones.",
    'Compare versions: packaging.version.parse(ray.__version__) >= packaging.version.parse("2.7").',
    "https://packaging.pypa.io/en/stable/version.html",
    unproven="Python alone shows it: a test compares the texts.",
)
MESSAGE = (
    "This compares texts, letter by letter, and is {answer} with Ray {first} to {last}: {example} comes before {bound}."
)
VERSION, ASKS = "ray.__version__", ("importlib.metadata.version", "importlib_metadata.version")


@codemod("version", "__version__", phase=Phase.LIBRARIES)
def versions_as_text(context: Context) -> None:
    """Reports comparisons of Ray's version that come out wrong today, as they are of texts."""
    module = context.module
    for compare in module.of_type(ast.Compare):
        assert isinstance(compare, ast.Compare)
        for left, kind, right in _pairs(compare):
            if (message := _told(module, left, kind, right)) is not None:
                context.manual(RM690, compare, message)


def _pairs(compare: ast.Compare) -> Iterator[tuple[ast.expr, type[ast.cmpop], ast.expr]]:
    """The comparisons of a chain, both ways round: `"2.5" <= version < "2.7"`."""
    for (left, right), compares in zip(pairwise([compare.left, *compare.comparators]), compare.ops, strict=True):
        yield left, type(compares), right
        if type(compares) in TURNED:
            yield right, TURNED[type(compares)], left


def _told(module: Module, version: ast.expr, kind: type[ast.cmpop], bound: ast.expr) -> str | None:
    """What to say of a comparison; None where it is right today, or none of Ray's version with a text."""
    written = module.constant(bound) if kind in OPERATORS else None
    if not isinstance(written, str) or not _is_ray_version(*module.followed(version)):
        return None
    compare = OPERATORS[kind]
    try:
        meant = {ray: compare(read_version(ray), read_version(written)) for ray in RAYS}
    except ValueError:
        return None
    wrong = [ray for ray in RAYS if compare(ray, written) is not meant[ray]]
    if not wrong:
        return None
    first, last = (ray.rpartition(".")[0] for ray in (wrong[0], wrong[-1]))
    return MESSAGE.format(
        answer=not meant[wrong[0]], first=first, last=last, example=f'"{wrong[0]}"', bound=f'"{written}"'
    )


def _is_ray_version(module: Module, node: ast.expr) -> bool:
    """Whether a value is the text of Ray's version: the attribute, or what the metadata of the package says."""
    if isinstance(node, ast.Call):
        return called_name(module, node) in ASKS and len(node.args) == 1 and module.constant(node.args[0]) == "ray"
    return module.qualified(node) == VERSION
