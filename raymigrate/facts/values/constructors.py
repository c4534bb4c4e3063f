"""Which constructors a call runs, and whether an argument of it reaches that of a library's class.

`Own(x=1)` may give `x` to a class of the project, which takes it itself, hands it on with what it does not know, or has
no constructor of its own. The classes may be in other files.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Sequence

from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import class_named
from raymigrate.facts.values.arguments import is_method_call, last_name
from raymigrate.facts.values.keys import keys_of
from raymigrate.facts.values.members import is_empty

LOOKS = (ast.Subscript, ast.Compare, ast.Attribute)  # kwargs["key"], "key" in kwargs, kwargs.pop("key")
Made = tuple[Module, ast.ClassDef]
Line = Sequence[Made | str]


def derived_calls(
    module: Module, is_of_library: Callable[[str], bool], old: Collection[str], all_taken: Collection[str]
) -> Iterator[tuple[ast.Call, Line]]:
    """The calls of constructors of the project's classes that are made from some class of a library.

    Args:
        module: The module.
        is_of_library: Tells of the name of a library's class whether it is one of those.
        old: Arguments that say enough: whatever is called with one of them is looked at.
        all_taken: All arguments of those classes. With another call it is no matter what it calls, and other files need
            not be read for it.

    Returns:
        The calls, each with the classes whose constructors it may run; see `constructors`.
    """
    for call in may_call_own_class(module):
        given = {keyword.arg for keyword in call.keywords}
        is_worth_a_look = not given.isdisjoint(old) or (
            _is_called_class(call) and (None in given or len(call.args) > 1 or not given.isdisjoint(all_taken))
        )
        line = constructors(module, call) if is_worth_a_look else []
        if any(isinstance(found, str) and is_of_library(found) for found in line):
            yield call, line


@kept
def may_call_own_class(module: Module) -> list[ast.Call]:
    """The calls that may be of a class of the project, or of its constructor; no other file is read for it."""
    return [call for call in module.of_type(ast.Call) if _may_be_own_class(module, call.func)]


def _may_be_own_class(module: Module, function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and function.attr == "__init__":
        return True
    root = root_of_chain(function)
    is_of_file = root is not None and not module.names_of_files.isdisjoint((root.id, "*"))
    return is_of_file or isinstance(module.definition(function), ast.ClassDef)


def _is_called_class(call: ast.Call) -> bool:
    """Whether what is called has a name as classes have, or is the constructor of one."""
    name = last_name(call.func)
    return name == "__init__" or name.lstrip("_")[:1].isupper()


def constructors(module: Module, call: ast.Call) -> Line:
    """The classes whose constructors a call may run, in their order; those of libraries by name.

    `Own(...)` runs its own, `super().__init__(...)` those after it, `Base.__init__(self, ...)` those of the base.
    """
    if not is_method_call(call, "__init__"):
        made = class_named(module, call.func)
        return list(_line(*made, set())) if made is not None else []
    owner = call.func.value
    if isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super":
        around = module.class_around(call)
        return list(_line(module, around, set()))[1:] if around is not None else []
    made = class_named(module, owner)
    return list(_line(*made, set())) if made is not None else [module.qualified(owner) or ""]


def is_given_object(call: ast.Call) -> bool:
    """Whether a call of a constructor is given the object before its arguments: `Base.__init__(self, ...)`."""
    return is_method_call(call, "__init__") and not isinstance(call.func.value, ast.Call)


def line_of(module: Module, node: ast.ClassDef) -> Line:
    """The classes whose constructors run where a class is called, in their order; those of libraries by name."""
    return list(_line(module, node, set()))


def _line(module: Module, node: ast.ClassDef, seen: set[ast.ClassDef]) -> Iterator[Made | str]:
    """A class and its bases, in the order in which their constructors call each other; those of libraries by name."""
    seen.add(node)
    yield module, node
    for base in node.bases:
        parent = class_named(module, base)
        if parent is None and not is_empty(module, base):
            yield module.qualified(base) or ""
        elif parent is not None and parent[1] not in seen:
            yield from _line(*parent, seen)


def reaches(line: Line, argument: str, is_of_library: Callable[[str], bool]) -> bool | None:
    """Whether an argument reaches the class of a library as it is, when constructors run one after the other.

    Args:
        line: The classes whose constructors run, with the library's among them.
        argument: The argument.
        is_of_library: Tells of the name of a library's class whether it is the one.

    Returns:
        False where a constructor takes it, and may do with it what it wants; None where that cannot be seen.
    """
    for place, found in enumerate(line):
        if isinstance(found, str):
            return is_of_library(found) or None
        module, node = found
        init = constructor_of(node)
        if init is None and is_dataclass(node):  # its constructor takes the fields of all classes, and calls no other
            return all(isinstance(one, str) or argument not in fields(one[1]) for one in line[place:])
        if init is not None and argument in {parameter.arg for parameter in parameters(init)}:
            return False
        if init is not None and not hands_on(module, init, argument):
            return None
    return None


def constructor_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The constructor that a class has itself."""
    own = (method for method in node.body if isinstance(method, ast.FunctionDef) and method.name == "__init__")
    return next(own, None)


def is_dataclass(node: ast.ClassDef) -> bool:
    """Whether a decorator makes a dataclass of a class."""
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def fields(node: ast.ClassDef) -> list[str]:
    """The fields that the body of a class declares, in their order."""
    return [n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]


def hands_on(module: Module, init: ast.FunctionDef, argument: str) -> bool:
    """Whether a constructor gives the next one what it does not know, `super().__init__(..., **kwargs)`, untouched."""
    name = init.args.kwarg.arg if init.args.kwarg is not None else ""
    uses = module.uses(name, module.scope(init)) if name else []
    handed = [use for use in uses if _is_handed_on(module, use)]
    held = [keys_of(module, use) for use in handed]
    own = {key for keys in held for key, _ in (*keys.reads, *keys.strings)}
    own |= {keyword.arg or "" for keys in held for _, keyword in keys.keywords}
    own |= {keyword.arg or "" for use in handed for keyword in _call_of(module, use).keywords}
    given_away = any(use not in handed and not isinstance(module.parent_of[use], LOOKS) for use in uses)
    return bool(handed) and not given_away and argument not in own


def _call_of(module: Module, unpacked: ast.expr) -> ast.Call:
    """The call that something is unpacked into: `function(**unpacked)`."""
    call = module.parent_of[module.parent_of[unpacked]]
    assert isinstance(call, ast.Call)
    return call


def _is_handed_on(module: Module, use: ast.Name) -> bool:
    keyword = module.parent_of[use]
    call = module.parent_of[keyword]
    if not isinstance(keyword, ast.keyword) or keyword.arg is not None or not isinstance(call, ast.Call):
        return False
    return is_method_call(call, "__init__")
