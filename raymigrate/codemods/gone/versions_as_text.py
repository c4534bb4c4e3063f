"""RM690: Ray's version, compared as a text: "2.51.0" comes before "2.7", so that the branch for older versions runs.

Python compares texts letter by letter, so `ray.__version__ >= "2.7"` is False with Ray 2.10 to 2.69, and with all that
the converted code runs on but the last of them. The same goes for its parts, and for a number that is made of the first
two: 2.51 is less than 2.7.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

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
    'Texts are compared letter by letter: "2.51.0" comes before "2.7". As a number, too, 2.51 is less than 2.7. So what'
    " is for older versions of Ray runs on current ones.",
    'Compare versions: packaging.version.parse(ray.__version__) >= packaging.version.parse("2.7").',
    "https://packaging.pypa.io/en/stable/version.html",
    unproven="Python alone shows it: a test compares the texts.",
)
MESSAGE = (
    "This compares texts, letter by letter, and is {answer} with Ray {first} to {last}:"
    " {example} comes {order} {bound}."
)
OF_NUMBERS = (
    "This compares decimal numbers, not versions, and is {answer} with Ray {first} to {last}:"
    " {example} is {order} {bound}."
)
MADE: dict[str, Callable[[Any], Any]] = {"str": str, "int": int, "float": float, "tuple": tuple, "list": list}
VERSION, ASKS = "ray.__version__", ("importlib.metadata.version", "importlib_metadata.version")


@codemod("version", "__version__", phase=Phase.LIBRARIES)
def versions_as_text(context: Context) -> None:
    """Reports comparisons of Ray's version that come out wrong today, as they are of texts or decimal numbers."""
    module = context.module
    for compare in module.of_type(ast.Compare):
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
    if not isinstance(written, (str, float, list, tuple)):
        return None
    compare = OPERATORS[kind]
    try:
        shown = {ray: _shown(module, version, ray) for ray in RAYS}
        meant = {ray: compare(*_as_meant(ray, shown[ray], written)) for ray in RAYS}
        wrong = [ray for ray in RAYS if compare(shown[ray], written) is not meant[ray]]
    except (ValueError, TypeError, IndexError, AttributeError):  # no version, not seen, or an error of the script's own
        return None
    if not wrong:
        return None
    first, last = (ray.rpartition(".")[0] for ray in (wrong[0], wrong[-1]))
    example, is_number = shown[wrong[0]], isinstance(written, float)
    before, after = ("less than", "not less than") if is_number else ("before", "after")
    return (OF_NUMBERS if is_number else MESSAGE).format(
        answer=not meant[wrong[0]],
        first=first,
        last=last,
        example=_written(example),
        order=before if example < written else after,
        bound=_written(written),
    )


def _as_meant(ray: str, shown: object, written: object) -> tuple[Any, Any]:
    """What a comparison is meant to compare: versions, or numbers where each side is one part, as `"51"` and `"7"`."""
    seen, bound = (
        ".".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value) for value in (shown, written)
    )
    if seen.isdigit() and bound.isdigit():
        return int(seen), int(bound)
    return read_version(ray if ray.startswith(seen) else seen), read_version(bound)


def _written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _shown(module: Module, node: ast.expr, ray: str) -> Any:
    """What an expression is with a version of Ray.

    Raises:
        TypeError: If it is not made of Ray's version, or in a way that is not seen.
    """
    module, node = module.followed(node)
    match node:
        case ast.Subscript():
            return _shown(module, node.value, ray)[_place(module, node.slice)]
        case ast.JoinedStr(values=[ast.FormattedValue(value=inner, conversion=-1, format_spec=None)]):
            return _shown(module, inner, ray)
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=("int" | "str") as name), inner], keywords=[]):
            return [MADE[name](part) for part in _shown(module, inner, ray)]
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in MADE:
            return MADE[name](_shown(module, inner, ray))
        case ast.Call(func=ast.Attribute(value=inner, attr="split"), args=[ast.Constant(value=".")], keywords=[]):
            return _shown(module, inner, ray).split(".")
        case ast.Call(func=ast.Attribute(value=ast.Constant(value="."), attr="join"), args=[inner], keywords=[]):
            return ".".join(_shown(module, inner, ray))
    if not _is_ray_version(module, node):
        raise TypeError
    return ray


def _place(module: Module, node: ast.expr) -> Any:
    """What a subscript asks for: a number, or `:3`."""
    if isinstance(node, ast.Slice):
        ends = [None if end is None else module.constant(end) for end in (node.lower, node.upper, node.step)]
        return slice(*ends)
    return module.constant(node)


def _is_ray_version(module: Module, node: ast.expr) -> bool:
    """Whether a value is the text of Ray's version: the attribute, or what the metadata of the package says."""
    if isinstance(node, ast.Call):
        return called_name(module, node) in ASKS and len(node.args) == 1 and module.constant(node.args[0]) == "ray"
    return module.qualified(node) == VERSION
