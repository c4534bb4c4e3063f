"""The files that use what a job hands on: its trainers, their results, and functions that make or fit them.

A Trainer of transformers is one of them: a test calls the init function, and looks at what it gives. So is a class that
a script makes of a predictor of Ray.

They are found by names: of each file the definitions that speak of a trainer or of fit(), or of such a definition; then
the files that import those, or that import the file and call fit(), and so on. What a name there really is, is asked
where it is read.
"""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.handed_on import KNOWN
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import importing_modules, is_imported
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.knowledge.legacy import HF_TRAINERS

FIT = ".fit()"
PREDICTOR = lazy_regex(r"ray\.(?:\w+\.)*\w*Predictor")


def users(project: Project, jobs: Iterable[str]) -> Iterator[Module]:
    """The modules that use what jobs hand on, each once, whatever lies between.

    Args:
        project: The files.
        jobs: The paths of the jobs.
    """
    handed: dict[str, set[str]] = {}  # the names of a file that hand something on
    waiting = list(dict.fromkeys(jobs))
    found = set[str]()
    while waiting:
        path = waiting.pop()
        module = project.module(path) if is_imported(project, path) else None
        if module is None:
            continue
        trainers = [reference.node for reference in module.references_within(*KNOWN)]
        own = _handing(module, [*trainers, *module.calls(*HF_TRAINERS), *_own_predictors(module)])
        names = own | handed.get(module.path, set())
        for other in importing_modules(module, FIT, *sorted(names)):
            uses = _uses(other, names)
            is_user = any(not isinstance(use, ast.alias) for use in uses) or _fits(other)
            if is_user and other.path not in found:
                found.add(other.path)
                yield other
            more = _handing(other, uses) | (names if other.star_imports else set())
            if not more <= handed.setdefault(other.path, set()):
                handed[other.path] |= more
                waiting.append(other.path)


def _own_predictors(module: Module) -> Iterator[ast.ClassDef]:
    """The classes of a module that inherit from a predictor of Ray."""
    for made in module.of_type(ast.ClassDef) if "Predictor" in module.text else ():
        if any(PREDICTOR.fullmatch(module.qualified(base) or "") for base in made.bases):
            yield made


def _fits(module: Module) -> bool:
    """Whether a module calls fit() as trainers of Ray have it: without arguments."""
    return any(not call.args and not call.keywords for call, _ in module.method_calls("fit"))


def _uses(module: Module, names: Iterable[str]) -> list[ast.AST]:
    """Where a module imports or reads these names, under whatever name: `from job import run as go`, `job.run`."""
    imported = [node for name in names for node in module.spelling(name) if isinstance(node, ast.alias)]
    words = {*names, *(alias.asname for alias in imported if alias.asname)}
    spelled = [node for word in words for node in module.spelling(word) if isinstance(node, (ast.Name, ast.Attribute))]
    return [*imported, *spelled]


def _handing(module: Module, nodes: Iterable[ast.AST]) -> set[str]:
    """The names at the top of a module whose definitions hold one of these nodes, a call of fit(), or such a name."""
    waiting = [*nodes, *module.attributes("fit")]
    found = set[str]()
    while waiting:
        for name in _bound_around(module, waiting.pop()):
            if name not in found:
                found.add(name)
                waiting += module.reads(name)
    return found


def _bound_around(module: Module, node: ast.AST) -> Iterator[str]:
    """The names that the definition, import or assignment binds at the top of a module which a node is part of."""
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
        return
    around = [node, *module.ancestors(node)]
    for outer in around:
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if module.scope_of[outer] is module.scope_of[module.tree]:
                yield outer.name
                return
        elif isinstance(outer, (ast.Assign, ast.AnnAssign)) and module.scope_of[outer] is module.scope_of[module.tree]:
            targets = targets_of(outer)
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            return
