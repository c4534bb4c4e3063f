"""Where a RunConfig says that results go: an absolute path, a URI, or a path that Ray has to be given the rest of."""

import ast

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, called_name, head, is_method_call, is_none, keyword_argument, leading_text
from raymigrate.facts.values.given import may_be_left_out
from raymigrate.facts.values.nothing import is_none_in_some_case

GIVE_ABSOLUTE = frozenset(
    {
        *("os.path.abspath", "os.path.realpath", "os.getcwd"),
        *("pathlib.Path.cwd", "pathlib.Path.home", "tempfile.mkdtemp", "tempfile.gettempdir"),
        *("hydra.utils.to_absolute_path", "hydra.utils.get_original_cwd"),
    }
)
# A folder above an absolute path is absolute too.
ABOVE = "os.path.dirname"
ABOVE_PATH = ("parent", "parents")
FIXTURES = ("tmp_path", "tmpdir")  # of pytest
EXPANDED = "os.path.expanduser"
MAY_GIVE_NONE = ("os.environ.get", "os.getenv")
METHODS = ("resolve", "absolute", "as_uri")


def is_absolute(module: Module, node: ast.expr) -> bool | None:
    """Whether a value is an absolute path or a URI, as Ray >= 2.7 wants it; None where that is not known."""
    found = {_is_absolute(source.module, source.node) for source in module.origins(node)}
    return found.pop() if len(found) == 1 else None


def may_be_relative(module: Module, node: ast.expr) -> bool:
    """Whether a value is known to be a relative path in one of the cases; pyarrow puts the home in place of a `~`."""
    return any(
        _is_absolute(source.module, source.node) is False and not _needs_home(source) for source in module.origins(node)
    )


def is_taken(module: Module, node: ast.expr) -> bool:
    """Whether Ray takes a value as it is in each of the cases: an absolute path, a URI, or one that begins with `~`."""
    return all(_is_absolute(source.module, source.node) or _needs_home(source) for source in module.origins(node))


def filesystem_of(module: Module, config: ast.Call) -> ast.expr | None:
    """The file system on which the storage_path of a RunConfig is: that is no path of this machine then."""
    given = keyword_argument(config, "storage_filesystem")
    return None if given is None or is_none(module.value(given)) else given


def scheme(module: Module, node: ast.expr) -> str | None:
    """What stands before `://` in a value; empty for a path, None where that is not known."""
    found = {_scheme(source.module, source.node) for source in module.origins(node)}
    return found.pop() if len(found) == 1 else None


def _scheme(module: Module, node: ast.expr) -> str | None:
    start = leading_text(module, node)
    if start:
        before, mark, _ = start.partition("://")
        return before if mark and before != "file" else ""
    return "" if _is_absolute(module, node) else None


def may_be_absolute(module: Module, node: ast.expr) -> bool:
    """Whether a value is known to be an absolute path in one of the cases."""
    return any(_is_absolute(source.module, source.node) is True for source in module.origins(node))


def absolute(module: Module, node: ast.expr) -> str:
    """Code that makes a path absolute: a template in which `$value` is the path.

    Args:
        module: The module.
        node: The path, which may be None in some of the cases.
    """
    made = _absolute(module, node)
    return f"{made} if $value else None" if made != "$value" and _may_be_none(module, node) else made


def _may_be_none(module: Module, node: ast.expr) -> bool:
    """Whether a path is None in some of the cases: by the default of an option or parameter, or an unset variable."""
    return is_none_in_some_case(module, node) or any(_may_be_unset(source) for source in module.origins(node))


def _may_be_unset(source: Source) -> bool:
    """Whether a value is a variable of the environment, or an option of the command line, that has no default."""
    node = source.node
    if isinstance(node, ast.Attribute):
        return may_be_left_out(source.module, node.attr)
    is_variable = isinstance(node, ast.Call) and source.module.qualified(node.func) in MAY_GIVE_NONE
    return is_variable and len(node.args) == 1 and not node.keywords  # type: ignore[attr-defined]


def _absolute(module: Module, node: ast.expr) -> str:
    """Code that makes a path absolute, whatever it is."""
    if is_absolute(module, node):
        return "$value"
    homes = {_needs_home(source) for source in module.origins(node)}
    if homes == {True}:
        return "os.path.expanduser($value)"
    if homes == {False}:
        return "os.path.abspath($value)"
    return "os.path.abspath(os.path.expanduser($value))"


@kept
def begins_with(module: Module, path: ast.expr) -> Source:
    """See `head`: many calls may be given one path, as by a parameter of a function that is called often."""
    return head(module, path)


@kept
def _is_absolute(module: Module, node: ast.expr) -> bool | None:
    start = leading_text(module, node)
    if start:
        return start.startswith("/") or "://" in start
    first = _lowest(begins_with(module, node))
    if _is_fixture(first) or _is_of_with(first):
        return True
    if not isinstance(first.node, ast.Call):
        return None
    name = first.module.qualified(first.node.func)
    if name == EXPANDED and first.node.args:
        start = leading_text(first.module, first.node.args[0])
        return start.startswith(("~", "/")) if start else None
    return is_method_call(first.node, *METHODS) or name in GIVE_ABSOLUTE or None


def _lowest(path: Source) -> Source:
    """The path that a path is above of: `folder` of `os.path.dirname(folder)` and of `folder.parent`."""
    seen = set[ast.expr]()
    while path.node not in seen:
        seen.add(path.node)
        node = path.node.value if isinstance(path.node, ast.Subscript) else path.node
        if isinstance(node, ast.Attribute) and node.attr in ABOVE_PATH:
            path = head(path.module, node.value)
        elif isinstance(node, ast.Call) and path.module.qualified(node.func) == ABOVE and node.args:
            path = head(path.module, node.args[0])
    return path


def _is_fixture(path: Source) -> bool:
    """Whether a path is the folder that pytest gives a test."""
    parameter = path.module.definition(path.node)
    function = path.module.function(path.node)
    return (
        isinstance(parameter, ast.arg)
        and parameter.arg in FIXTURES
        and isinstance(function, ast.FunctionDef)
        and function.name.startswith("test")
    )


def _is_of_with(path: Source) -> bool:
    """Whether a path is the folder of `with tempfile.TemporaryDirectory() as folder`."""
    target = path.module.definition(path.node)
    item = path.module.parent_of.get(target) if target is not None else None
    made = item.context_expr if isinstance(item, ast.withitem) else None
    return called_name(path.module, made) == "tempfile.TemporaryDirectory"


def _needs_home(source: Source) -> bool | None:
    """Whether a path begins with `~`; None where that is not known."""
    if called_name(*head(source.module, source.node)) == EXPANDED:
        return False
    start = leading_text(source.module, source.node)
    return start.startswith("~") if start else None
