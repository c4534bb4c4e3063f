"""Whether a preprocessor that one file of a project defines is given to trainers and used for nothing else."""

import ast

from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import Uses, answer, uses_of
from raymigrate.facts.ray_data.preprocessors import CHAINS
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import called_name
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS


def may_become_function(project: Project | None, definition: Definition) -> bool:
    """Whether all that a project does with a preprocessor of BatchMappers is to give it to trainers."""
    if project is None or not project.may_ask(definition.module.path) or not has_place(definition):
        return False

    called = definition.function is not None

    def only_for_trainers(uses: Uses) -> bool:
        return not uses.unclear and all(
            project.may_ask(module.path) and _goes_to_trainers(module, node, called=called)
            for module, node in uses.reads
        )

    return answer(project, "only for trainers", definition, only_for_trainers)


def other_readers(maker: Definition) -> list[str]:
    """The other files of the project that do more with what a function makes than give it to trainers."""
    home = maker.module
    if home.project is None or not home.path or not has_place(maker):
        return []
    reads = [read for read in uses_of(home.project, maker).reads if read[0].path != home.path]
    found = {user.path for user, node in reads if not _goes_to_trainers(user, node, called=True)}
    return sorted(map(home.project.name, found))


def is_missed_elsewhere(definition: Definition) -> bool:
    """Whether other files of the project need a preprocessor of this one under its name, for more than trainers."""
    home = definition.module
    if home.project is None or not home.path:
        return False
    uses = uses_of(home.project, definition)
    reads = [(user, node) for user, node in uses.reads if user.path != home.path]
    if uses.named or not reads:
        return bool(uses.named) or any(user.path != home.path for user, _ in uses.imports)
    # A name that is given to trainers alone becomes a function, where it has a place for one.
    return not has_place(definition) or not all(_goes_to_trainers(user, node, called=False) for user, node in reads)


def has_place(definition: Definition) -> bool:
    """Whether a definition is at the top of its file, alone in its statement."""
    module = definition.module
    if definition.function is not None:
        return isinstance(module.parent_of[definition.function], ast.Module)
    statement = module.parent_of[definition.node]
    return only_target(statement) is not None and isinstance(module.parent_of[statement], ast.Module)


def _goes_to_trainers(module: Module, node: ast.expr, *, called: bool) -> bool:
    """Whether a preprocessor, or the call of the function that makes it, is given to trainers and nothing else."""
    if called:
        call = module.calling(node)
        if call is None:
            return False
        node = call
    return goes_to_trainers(module, node)


def goes_to_trainers(module: Module, node: ast.expr) -> bool:
    """Whether an expression is the preprocessor= of a trainer, or gets a name that is nothing else, however often."""
    if is_preprocessor_argument(module, node):
        return True
    name = module.name_of(node)
    uses = module.uses_of(name) if module.is_bound_once(name) else []
    return bool(uses) and all(goes_to_trainers(module, use) for use in uses)


def is_preprocessor_argument(module: Module, use: ast.expr) -> bool:
    """Whether an expression is the preprocessor= of a trainer that is converted."""
    parent = module.parent_of[use]
    if not isinstance(parent, ast.keyword) or parent.arg != "preprocessor":
        return False
    return called_name(module, module.parent_of[parent]) in TRAINERS | TORCH_TRAINERS


def trainers_given(module: Module, node: ast.expr) -> list[ast.Call] | None:
    """The trainers that get a preprocessor, by itself, under a name or in a Chain; None where it has another use."""
    if is_preprocessor_argument(module, node):
        return [module.parent_of[module.parent_of[node]]]  # type: ignore[list-item]
    outer = module.parent_of[node]
    if isinstance(outer, ast.Call) and node in outer.args and module.qualified(outer.func) in CHAINS:
        return trainers_given(module, outer)
    name = module.name_of(node)
    if not module.is_bound_once(name):
        return None
    found = [trainers_given(module, use) for use in module.uses_of(name)]
    if not found or None in found:
        return None
    return [trainer for part in found for trainer in part or ()]
