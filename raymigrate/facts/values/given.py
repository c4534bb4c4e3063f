"""Which attributes something in a file gives a value at all. Of most, such as those of libraries, nothing is known.

To follow the owner of such an attribute, and all that it comes from, would cost more than all else that is asked.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.values.arguments import keyword_argument

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module


def may_be_given(module: Module, name: str, *, elsewhere: bool) -> bool:
    """Whether an attribute may have a value that is seen; what other files give may be called anything.

    Args:
        module: The module.
        name: The attribute.
        elsewhere: Whether other files are looked into.
    """
    names = _given(module)
    return names is None or name in names or (elsewhere and bool(module.names_of_files))


def may_be_member(module: Module, name: str, *, elsewhere: bool) -> bool:
    """Whether the body of a class may bind a name; for the arguments see `may_be_given`."""
    return name in _members(module) or (elsewhere and bool(module.names_of_files))


@kept
def _members(module: Module) -> frozenset[str]:
    """The names that the bodies of the module's classes bind."""
    return frozenset(name for scope in module.scopes if isinstance(scope.node, ast.ClassDef) for name in scope.bindings)


@kept
def _given(module: Module) -> frozenset[str] | None:
    """The attributes that the module gives a value: in classes, from outside, by keywords, as options.

    None where the name of an option of the command line is not written out.
    """
    calls = [call for call, _ in module.method_calls("add_argument")]
    given = [[*call.args, *([dest] if (dest := keyword_argument(call, "dest")) else [])] for call in calls]
    texts = [text for each in given for text in each]
    if not all(isinstance(text, ast.Constant) for text in texts):
        return None
    options = (str(text.value).lstrip("-").replace("-", "_") for text in texts if isinstance(text, ast.Constant))
    stored = (node.attr for node in module.of_type(ast.Attribute) if isinstance(node.ctx, ast.Store))
    return _members(module).union(options, stored, (word.arg for word in module.of_type(ast.keyword) if word.arg))


def options(module: Module, name: str) -> list[ast.Call]:
    """The calls that add an option of the command line whose value an attribute holds."""
    return [call for call, _ in module.method_calls("add_argument") if _option(module, call) == name]


def may_be_left_out(module: Module, name: str) -> bool:
    """Whether an attribute holds an option that is None unless the command line gives it."""
    return any(_may_be_left_out(module, call) for call in options(module, name))


def _may_be_left_out(module: Module, option: ast.Call) -> bool:
    """Whether an option has no default, and need not be given: `add_argument("--out")`, `("out", nargs="?")`."""
    given = {keyword.arg: keyword.value for keyword in option.keywords}
    flags = [module.constant(flag) for flag in option.args]
    has_flag = any(isinstance(flag, str) and flag.startswith("-") for flag in flags)
    is_optional = has_flag or ("nargs" in given and module.constant(given["nargs"]) == "?")
    is_stored = "action" not in given or module.constant(given["action"]) == "store"
    is_required = "required" in given and module.constant(given["required"]) is not False
    has_default = "default" in given and module.constant(given["default"]) is not None
    return is_optional and is_stored and not is_required and not has_default and None not in given


def _option(module: Module, call: ast.Call) -> str | None:
    """The attribute that holds an option."""
    given = keyword_argument(call, "dest")
    if given is not None:
        name = module.constant(given)
        return name if isinstance(name, str) else None
    flags = [module.constant(flag) for flag in call.args]
    names = [flag for flag in flags if isinstance(flag, str)]
    long = next((name for name in names if name.startswith("--")), names[0] if names else "")
    return long.lstrip("-").replace("-", "_") or None
