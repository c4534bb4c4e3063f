"""Native loops in files that use accelerate: which of them are loops of their own, and what they may use of it."""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_accelerate.obstacles import mentions_accelerator
from raymigrate.codemods.to_accelerate.rules import RM851
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import DEFINITIONS
from raymigrate.knowledge.legacy import ACCELERATORS

BESIDE = (
    "The training loop stays native: another one of this file has an Accelerator, and of such a file none is converted."
)


@codemod("backward", phase=Phase.POSITIONS, option="to_accelerate")
def tell(context: Context) -> None:
    """Tells of a native loop in a file that has an Accelerator somewhere else."""
    if not context.module.references_within(*ACCELERATORS):
        return
    training = Training(context.module)
    for call in training.backwards:
        region = _around(context.module, call)
        if not call.args and _trains_alone(training, region):
            context.stays = True
            advice = "Put it into a file of its own and run raymigrate again, or move the loop by hand."
            context.manual(RM851, call, BESIDE, advice)
            return


def _trains_alone(training: Training, region: ast.stmt) -> bool:
    """Whether a statement of the module trains with what no Accelerator of the file has prepared."""
    steps = [call for call in training.method_calls("step") if training.module.inside(call, region)]
    if not steps or mentions_accelerator([region]):
        return False
    if not isinstance(region, DEFINITIONS):
        return not any(mentions_accelerator([bound]) for bound in _last_bindings(training.module, region, steps))
    makers = [maker for optimizer in training.optimizers for maker in training.variables.makers(optimizer)]
    if any(training.module.inside(maker, region) for maker in makers):
        return True
    return not mentions_accelerator(_users(training.module, region))


def _around(module: Module, node: ast.AST) -> ast.stmt:
    """The statement of the module that a node is in."""
    return next(parent for parent in (node, *module.ancestors(node)) if module.parent_of[parent] is module.tree)  # type: ignore[return-value]


def _last_bindings(module: Module, region: ast.stmt, steps: Iterable[ast.Call]) -> Iterator[ast.stmt]:
    """The statements of the module that last bound what takes steps, before a statement of it."""
    for call in steps:
        stepped = call.func.value if isinstance(call.func, ast.Attribute) else None
        named = module.spelling(stepped.id) if isinstance(stepped, ast.Name) else ()
        stores = (node for node in named if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        places = {_around(module, node) for node in stores}
        before = [place for place in places if place.lineno < region.lineno and not isinstance(place, DEFINITIONS)]
        yield from sorted(before, key=lambda place: place.lineno)[-1:]


def _users(module: Module, region: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of the module that use what one of them defines, and those that use these."""
    waiting, seen = [region], set[ast.stmt]()
    while waiting:
        statement = waiting.pop()
        if statement in seen or not isinstance(statement, DEFINITIONS):
            continue
        seen.add(statement)
        for use in module.uses_of(statement):
            waiting.append(_around(module, use))
            yield waiting[-1]
