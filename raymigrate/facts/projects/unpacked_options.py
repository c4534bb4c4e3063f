"""What a function is given for its `**` parameter by callers in other files: `build(2, local_dir="/runs")`."""

import ast

from raymigrate.facts.projects.project_uses import Uses, uses_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source
from raymigrate.facts.values.carried import Carried, Entry, carried
from raymigrate.facts.values.keys import places_taken_out

MOST_FUNCTIONS = 6  # that hand on what they are given


def carried_from_callers(module: Module, unpacked: ast.expr, above: frozenset[ast.AST] = frozenset()) -> Carried:
    """The entries that a dict may have where it is unpacked, those that other files give as well.

    Args:
        module: The module.
        unpacked: The dict.
        above: The functions whose callers are being asked.
    """
    found = carried(module, unpacked)
    for home, node in dict.fromkeys((Source(module, unpacked), *found.ends)):
        function = _that_takes_all(home, node)
        if function is None or function in above or len(above) >= MOST_FUNCTIONS:
            continue
        if home.project is None or not home.path:
            continue
        given, is_seen = _given(home, function, above | {function}, found.whole)
        out = places_taken_out(home, node)
        entries = (*found.entries, *(entry for entry in given if entry.name not in out))
        # Where it is handed on as it came, its callers have all of it; else something else may be in the dict too.
        whole = is_seen and (found.whole or (node is unpacked and _is_only_unpacked(home, node)))
        found = Carried(tuple(dict.fromkeys(entries)), whole, () if whole else found.ends)
    return found


def _that_takes_all(module: Module, node: ast.AST) -> ast.FunctionDef | None:
    """The function at the top of a module, or the constructor of a class there, whose `**` parameter a name is."""
    parameter = module.definition(node)
    function = module.parent_of[module.parent_of[parameter]] if isinstance(parameter, ast.arg) else None
    if not isinstance(function, ast.FunctionDef) or function.args.kwarg is not parameter:
        return None
    owner = module.parent_of[function]
    is_constructor = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    return function if module.parent_of[owner if is_constructor else function] is module.tree else None


def _given(
    module: Module, function: ast.FunctionDef, above: frozenset[ast.AST], is_known_here: bool
) -> tuple[list[Entry], bool]:
    """What the calls in all files give by names that are no parameters, and whether these are all of them.

    Where it is known already what the function is given in its own file, as by a trainer that it is handed to, only
    the other files are asked whether they do more than call it.
    """
    uses = _uses(module, function)
    named = {one.arg for one in by_name(function)}
    entries, whole = list[Entry](), not uses.unclear
    for user, read in uses.reads:
        call = user.calling(read)
        if call is None:
            whole = whole and is_known_here and user is module
            continue
        for keyword in call.keywords:
            if keyword.arg is None:
                behind = carried_from_callers(user, keyword.value, above)
                entries += (entry for entry in behind.entries if entry.name not in named)
                whole = whole and behind.whole
            elif keyword.arg not in named:
                entries.append(Entry(user, keyword.arg, keyword, keyword.value))
    return entries, whole and bool(uses.reads)


@kept  # one function may make many configurations
def _uses(module: Module, function: ast.FunctionDef) -> Uses:
    """What the project does with a function, or with the class whose constructor it is."""
    if module.project is None or not module.path:
        return Uses()
    owner = module.parent_of[function]
    called = owner if isinstance(owner, ast.ClassDef) else function
    module.project.read_others(module.path)
    return uses_of(module.project, Definition(module, called, called.name))


def _is_only_unpacked(module: Module, node: ast.AST) -> bool:
    """Whether a dict is only handed on with `**` wherever its name stands."""
    outer = (module.parent_of[use] for use in module.uses_of(node))
    return all(isinstance(parent, ast.keyword) and parent.arg is None for parent in outer)
