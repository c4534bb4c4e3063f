"""RM607: the URI of a checkpoint, which was "file://" and a path, or that of the storage: "s3://bucket/..."."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.checkpoint_dicts import may_be_checkpoint
from raymigrate.codemods.results.checkpoint_readers import DEEPER, IN_NEW_RUNS, RM602, reads_deeper
from raymigrate.codemods.results.results import is_placed, is_shown
from raymigrate.codemods.shared.checkpoint_files import layout_after
from raymigrate.facts.ray_train.checkpoint_storage import LOCAL, schemes
from raymigrate.facts.ray_train.framework_checkpoints import is_of_any_class, may_be_of_result
from raymigrate.facts.ray_train.results import CHECKPOINT_CLASSES, CHECKPOINTS, Layout
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RM607 = Rule(
    "RM607",
    "the URI of a checkpoint",
    "ray.train.Checkpoint has no uri: it raises an AttributeError.",
    "Use checkpoint.path. It has no scheme in front: where the storage is a bucket of S3, its URI is"
    ' "s3://" + checkpoint.path, and for pyarrow it goes with checkpoint.filesystem.',
    "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html",
    errors=("'Checkpoint' object has no attribute 'uri'",),
)
NO_URI = "Checkpoint.uri raises an AttributeError on Ray >= 2.7"
FILE = "file://"
# Storage whose URIs are the scheme and the path, as pyarrow gives it: of others they have a host or an account.
BUCKETS = frozenset({"s3", "gs"})
LACKS_SCHEME = (
    "Where the storage is not a folder of this machine, Checkpoint.path lacks what stood in front:"
    ' "s3://" + checkpoint.path is the URI on S3.'
)
NEVER_READ = (
    "A checkpoint of Ray >= 2.7 has no uri: this is not read any more, and what is in its place lacks the scheme"
    " where that is Checkpoint.path."
)
INSIDE = {Layout.NESTED: DEEPER, Layout.UNKNOWN: IN_NEW_RUNS}
ITSELF = "Take the checkpoint itself: it knows its path and its file system."


@codemod("uri", phase=Phase.RESULTS)
def checkpoint_uris(context: Context) -> None:
    """`checkpoint.uri.split("file://")[-1]`, and a URI that is only shown, become the path of the checkpoint."""
    for node in context.module.attributes("uri"):
        place = layout_after(context, node.value)
        if is_asked_for(context.module, node, "uri"):
            if place is not None and schemes(context.module, node.value) != {LOCAL}:
                context.note(RM607, node, NEVER_READ)
        elif place is not None or is_of_any_class(context.module, node.value):
            _convert(context, node, place)
        elif may_be_of_result(context.module, node.value) or _is_called_one(context, node.value):
            advice = _advice(context.module, node, set())
            context.manual(RM607, node, f"If this is a checkpoint of Ray: {NO_URI}.", advice)


def _is_called_one(context: Context, node: ast.expr) -> bool:
    """Whether something is called a checkpoint, and no call of something else gave it: `load().checkpoint`."""
    owner = node.value if isinstance(node, ast.Attribute) else node
    return may_be_checkpoint(context, node) and not isinstance(context.module.value(owner), ast.Call)


def _convert(context: Context, node: ast.Attribute, place: Layout | None) -> None:
    module = context.module
    whole, found = _without_scheme(module, node), schemes(module, node.value)
    if (whole is node and not is_shown(module, node)) or not is_placed(module, node):
        advice, inside = _advice(module, node, found), INSIDE.get(place) if place is not None else None
        reads_files = inside is not None and advice != ITSELF and not is_shown(module, node)
        context.manual(RM607, node, f"{NO_URI}.", f"{advice} {inside}." if reads_files else advice)
        return
    scheme = next(iter(found)) if whole is node and len(found) == 1 else LOCAL
    keeps = scheme in BUCKETS and not isinstance(module.parent_of[node], ast.FormattedValue)
    now = f'now "{scheme}://" and Checkpoint.path' if keeps else "now Checkpoint.path"
    if not context.converts(RM607, node, f"{NO_URI}; {now}."):
        return
    template = f'"{scheme}://" + $checkpoint.path' if keeps else "$checkpoint.path"
    is_operand = isinstance(module.parent_of[whole], ast.BinOp)
    context.plan.replace(whole, f"({template})" if keeps and is_operand else template, checkpoint=node.value)
    if whole is node and not keeps and found != {LOCAL}:
        context.note(RM607, node, LACKS_SCHEME)
    if place not in (None, Layout.ROOT) and not reads_deeper(context, whole, place):
        context.manual(RM602, whole, f"{DEEPER}.")


def _advice(module: Module, node: ast.Attribute, found: set[str | None]) -> str:
    """What to write for a URI that something works with."""
    name = called_name(module, module.taking(node))
    if name.removesuffix(".from_uri") in (*CHECKPOINTS, *CHECKPOINT_CLASSES):
        return ITSELF
    if found == {LOCAL}:
        return f'Use checkpoint.path, or "{FILE}" + checkpoint.path where a URI is needed.'
    scheme = next(iter(found)) if len(found) == 1 else None
    if scheme in BUCKETS:
        return f'Use "{scheme}://" + checkpoint.path, or checkpoint.path with checkpoint.filesystem.'
    return RM607.fix


def _without_scheme(module: Module, uri: ast.Attribute) -> ast.expr:
    """The expression around a URI that cuts `file://` off; the URI itself where there is none."""
    parent = module.parent_of[uri]
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice):
        start = parent.slice.lower
        by_length = isinstance(start, ast.Call) and len(start.args) == 1 and module.constant(start.args[0]) == FILE
        cut = module.constant(start) == len(FILE) or by_length
        return parent if cut and parent.slice.upper is None and parent.slice.step is None else uri
    call = module.parent_of[parent]
    if called_name(module, parent) == "urllib.parse.urlparse":
        return call if isinstance(call, ast.Attribute) and call.attr == "path" else uri
    if not isinstance(parent, ast.Attribute) or not isinstance(call, ast.Call) or not call.args:
        return uri
    arguments = [module.constant(argument) for argument in call.args]
    if (parent.attr, arguments) in (("replace", [FILE, ""]), ("removeprefix", [FILE])):
        return call
    item = module.parent_of[call]
    if parent.attr == "split" and arguments[0] == FILE and isinstance(item, ast.Subscript):
        return item if module.constant(item.slice) in (1, -1) else uri
    return uri
