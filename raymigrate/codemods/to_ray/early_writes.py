"""RM806: what all workers write or remove before they train, which one process did before.

Behind the training the first worker writes alone (`results.py`). Before it the others may need what is written, so that
no condition on the rank is enough: they have to wait for it too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.arrivals import around, arrivals, places
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.script import DEFINITIONS, executed
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.folders.downloads import is_in_turn
from raymigrate.facts.folders.opened_files import COPIERS, SAVE, WRITERS, writes_by_method
from raymigrate.facts.ray_train.ranks import tests_rank
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, origins

REMOVES = (
    *("os.remove", "os.unlink", "os.rmdir", "os.rename", "os.replace", "os.removedirs"),
    *("shutil.rmtree", "shutil.move"),
)
WRITES = (SAVE, *WRITERS, *COPIERS)
SHELLS = ("os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
REMOVES_PATH = ("unlink", "rmdir", "rename", "replace")  # of a pathlib.Path
PATH = "pathlib.Path"
SAVE_TO_PATHS = ("save_to_disk", "save_pretrained")
OWN_FOLDER = ("tempfile.", "uuid.")
DEPTH = 3  # functions that call each other
ADVICE = (
    "Do it above the training function, on the driver; or below `if ray.train.get_context().get_world_rank() == 0:`,"
    " with ray.train.collective.barrier() behind it for all."
)


def tell_early_writes(context: Context, rule: Rule, outline: LaunchedOutline, training: Training) -> None:
    """Tells of files that all workers write or remove before the training.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
        training: What trains in it.
    """
    if not outline.may_grow:
        return
    module = context.module
    for call in dict.fromkeys(_before(outline, training)):
        what = what_it_does(module, call)
        guarded = context.plan.statement(module.statement(call)).within is not None
        if what and not guarded and not is_for_one(module, call):
            message = f"Every worker {what} before it trains, the same as the others and at the same time:"
            context.manual(rule, call, f"{message} one may find it half done, or gone.", ADVICE)


def _before(outline: LaunchedOutline, training: Training) -> Iterator[ast.Call]:
    """The calls that workers come to before the training, those of each step once."""
    module, moved, seen = outline.context.module, outline.roles.moved(), set[ast.stmt]()
    followed = dict[ast.AST, int]()
    for place in places(outline.script, moved, training.trains):
        for before in moved[:place]:
            if not isinstance(before, DEFINITIONS) and before not in seen:
                seen.add(before)
                yield from called_by(module, before, followed=followed)
    for call in arrivals(module, training.trains):
        for statement in around(outline.script, call):
            if statement.lineno < call.lineno:
                yield from called_by(module, statement, followed=followed)


def called_by(
    module: Module, code: ast.AST, depth: int = DEPTH, followed: dict[ast.AST, int] | None = None
) -> Iterator[ast.Call]:
    """The calls in some code, and in the functions of the module that it calls.

    Args:
        module: The module.
        code: The code.
        depth: How many functions may still call each other.
        followed: The functions whose calls were given, with the depth then: each is followed once, from where it is
            nearest.
    """
    followed = {} if followed is None else followed
    for node in executed(module, code):
        if isinstance(node, ast.Call):
            yield node
            function = module.definition(node.func) if depth else None
            if isinstance(function, ast.FunctionDef) and followed.get(function, 0) < depth:
                followed[function] = depth
                for statement in function.body:
                    yield from called_by(module, statement, depth - 1, followed)


def what_it_does(module: Module, call: ast.Call) -> str:
    """What a call does with files, as words; empty for nothing."""
    name = module.qualified(call.func) or ""
    if name in REMOVES:
        return "removes or moves a file"
    if name in SHELLS and _removes(module, call):
        return "removes or moves a file"
    if name in WRITES:
        return "writes this file"
    if name or not isinstance(call.func, ast.Attribute):
        return ""
    if call.func.attr in REMOVES_PATH and _is_path(module, call.func.value):
        return "removes or moves a file"
    return "writes this" if call.func.attr in SAVE_TO_PATHS or writes_by_method(call) else ""


def _removes(module: Module, call: ast.Call) -> bool:
    """Whether a program that is called removes or moves files: `os.system("rm -rf out")`."""
    given = call.args[0] if call.args else None
    first = given.elts[0] if isinstance(given, (ast.List, ast.Tuple)) and given.elts else given
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    text = module.constant(first) if first is not None else ""
    return isinstance(text, str) and text.split(" ")[0] in ("rm", "mv", "rmdir", "unlink")


def _is_path(module: Module, node: ast.expr) -> bool:
    """Whether an object is a pathlib.Path, as far as it is seen where it was made."""
    ends = (source for source in origins(module, node))
    return any(PATH in _names(end.module, end.node) for end in ends)


def is_for_one(module: Module, call: ast.Call) -> bool:
    """Whether one worker does it alone or before the others, or each to a path of its own."""
    return is_in_turn(module, call) or is_to_own_path(module, call)


def is_to_own_path(module: Module, call: ast.Call) -> bool:
    """Whether a call writes or removes what each process has for itself, by the rank or in a temporary folder."""
    path = argument(call, 1 if what_it_does(module, call) == "writes this file" else 0, "path", "dst")
    given = [value for value in (path, *call.args) if value is not None]
    if isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    return any(tests_rank(module, value) or _is_own(module, value) for value in given)


def _is_own(module: Module, path: ast.expr) -> bool:
    """Whether a path begins with a folder that each process makes for itself."""
    parts = [part for part in ast.walk(path) if isinstance(part, (ast.Name, ast.Call))]
    ends = [end for part in parts for end in origins(module, part)]
    bound = [module.definition(part) for part in parts if isinstance(part, ast.Name)]
    opened = [item.context_expr for node in bound if (item := _opened(module, node)) is not None]
    names = [name for end in ends for name in _names(end.module, end.node)]
    names += [name for node in opened for name in _names(module, node)]
    return any(name.startswith(OWN_FOLDER) for name in names)


def _opened(module: Module, bound: ast.AST | None) -> ast.withitem | None:
    """What `with ... as name` opens for a name."""
    parent = module.parent_of.get(bound) if bound is not None else None
    return parent if isinstance(parent, ast.withitem) else None


def _names(module: Module, node: ast.AST) -> list[str]:
    """The names of libraries in an expression."""
    parts = (part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
    return [name for part in parts if (name := module.qualified(part))]
