"""RM827: which process it is, asked on the driver: no launcher has told it, and every worker gets what it finds."""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_ray.driver_environment import called_functions
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.step_kinds import RANKS
from raymigrate.codemods.to_ray.trainer_calls import is_idle_rank
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.given import options

NUMBER = lazy_regex(r"rank|world_?size|n(?:um)?_(?:procs?|processes|replicas)", re.IGNORECASE)
OPTION = "local_rank"
ASKS = frozenset({"os.environ", "os.environ.get", "os.getenv"})


def numbers_of_driver(outline: Outline) -> tuple[ast.Attribute | None, list[str]]:
    """What the workers read of the numbers of processes that the driver asks its environment for.

    `args.rank = int(os.environ["RANK"])` where the command line is parsed, in this file or in another one.

    Args:
        outline: What becomes of a script.

    Returns:
        Where the workers' part of the file reads the first, if it does itself, and the names of all that are read.
    """
    module, asking = outline.module, dict[ast.AST, None]()
    for step in outline.roles.staying(Role.DRIVER):
        blocks = [(module, step), *((home, function) for home, function, _ in called_functions(module, step))]
        if any(_asks(home, block) for home, block in blocks):
            asking.update((block, None) for _, block in blocks)
    given = {name for block in asking for name in _set(block)}
    if not given:
        return None, []
    here = [node for node in module.attributes(*given) if _is_read(node) and outline.is_for_workers(node)]
    read = {node.attr for node in here} | {node.attr for node in _elsewhere(outline) if node.attr in given}
    return (here[0] if here else None), sorted(read)


def ranks_of_option(outline: Outline) -> list[ast.Attribute]:
    """Where the workers read an option `--local_rank`, which a launcher gave each process and Ray gives none.

    None where they write what their environment says into it: `args.local_rank = int(os.environ["LOCAL_RANK"])`.

    Args:
        outline: What becomes of a script.
    """
    module = outline.module
    if not options(module, OPTION) or any(_is_of_worker(outline, node) for node in module.stores(OPTION)):
        return []
    here = [node for node in module.attributes(OPTION) if _is_read(node) and outline.is_for_workers(node)]
    return [node for node in here if not is_idle_rank(module, node)]


def _is_of_worker(outline: Outline, store: ast.Attribute) -> bool:
    """Whether a worker gives an attribute its own rank."""
    module = outline.module
    value = module.assigned(store) if outline.is_for_workers(store) else None
    return value is not None and any(_asks(source.module, source.node) for source in module.origins(value))


@kept
def _asks(module: Module, block: ast.AST) -> bool:
    """Whether some code asks the environment for the place of its process among the others."""
    parts = list(ast.walk(block))
    return any(map(_names_variable, parts)) and any(
        isinstance(part, ast.Attribute) and module.qualified(part) in ASKS for part in parts
    )


def _set(block: ast.AST) -> Iterator[str]:
    """The attributes that may be set to such a number, by their names; those of options with one as their default."""
    for part in ast.walk(block):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and NUMBER.search(part.attr):
            yield part.attr
        elif isinstance(part, ast.Call):
            texts = [given.value for given in part.args if isinstance(given, ast.Constant)]
            names = [text.lstrip("-").replace("-", "_") for text in texts if isinstance(text, str)]
            if getattr(part.func, "id", "") == "setattr":
                yield from (name for name in names if NUMBER.search(name))
            elif getattr(part.func, "attr", "") == "add_argument" and any(map(_names_variable, ast.walk(part))):
                yield from names


def _names_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in RANKS


def _elsewhere(outline: Outline) -> Iterator[ast.Attribute]:
    """Attributes that functions read which the workers call."""
    for step in outline.roles.moved_or_makers():
        for _, function, _ in called_functions(outline.module, step):
            yield from (node for node in ast.walk(function) if isinstance(node, ast.Attribute) and _is_read(node))


def _is_read(node: ast.Attribute) -> bool:
    """Whether an attribute is read of another object than the one whose method does so."""
    return isinstance(node.ctx, ast.Load) and getattr(node.value, "id", "") != "self"
