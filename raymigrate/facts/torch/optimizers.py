"""The optimizers that a script makes, and whose parameters they get."""

import ast
from collections.abc import Iterator

from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import Source, argument, class_named, is_call_by_name, is_method_call
from raymigrate.facts.values.constructors import may_call_own_class

LIBRARIES = ("torch.optim.", "bitsandbytes.optim.")
NO_OPTIMIZERS = ("torch.optim.lr_scheduler.", "torch.optim.swa_utils.")
OF_TRANSFORMERS = frozenset(
    f"transformers.{module}{name}" for module in ("", "optimization.") for name in ("AdamW", "Adafactor")
)
PARAMETERS = ("parameters", "named_parameters")
PREPARES = ("prepare", "prepare_model")
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


@kept
def optimizers(module: Module) -> list[ast.Call]:
    """The constructions of optimizers, also of classes of the project, in source order."""
    own = set(may_call_own_class(module))
    calls = (call for call in module.of_type(ast.Call) if call in own or module.qualified(call.func) is not None)
    return [call for call in calls if _is_optimizer(module, call.func)]


def is_scheduler(name: str) -> bool:
    """Whether a function or class of a library makes a scheduler of the learning rate."""
    return ".lr_scheduler." in name or (name.startswith("transformers.") and "schedule" in name)


def are_of_prepared_models(module: Module) -> bool:
    """Whether a file makes optimizers, and all of them from models that `accelerator.prepare` has returned."""
    made = optimizers(module)
    return bool(made) and all(is_of_prepared_model(module, optimizer) for optimizer in made)


def is_of_prepared_model(module: Module, optimizer: ast.Call) -> bool:
    """Whether an optimizer gets the parameters of a model that `accelerator.prepare` has returned for sure."""
    given = argument(optimizer, 0, "params")
    models = list(_models(module, given)) if given is not None else []
    return bool(models) and all(is_prepared(source) for model in models for source in module.origins(model))


def has_groups(module: Module, optimizer: ast.Call) -> bool | None:
    """Whether an optimizer gets groups of parameters, each a dict; None where that cannot be seen."""
    given = argument(optimizer, 0, "params")
    answers = {_are_groups(source) for source in module.origins(given)} if given is not None else {None}
    return answers.pop() if len(answers) == 1 else True in answers or None


def _is_optimizer(module: Module, function: ast.expr) -> bool:
    found = class_named(module, function)
    names = list(library_bases(*found)) if found is not None else [module.qualified(function) or ""]
    return any(
        (name.startswith(LIBRARIES) and not name.startswith(NO_OPTIMIZERS)) or name in OF_TRANSFORMERS for name in names
    )


def _models(module: Module, given: ast.expr) -> Iterator[ast.expr]:
    """What the parameters are asked of in an expression, and in what its names stand for: `model.parameters()`."""
    waiting, seen = [given], set[ast.AST]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if is_method_call(node, *PARAMETERS):
            yield node.func.value
        elif isinstance(node, ast.Name):
            waiting += [source.node for source in module.origins(node, elsewhere=False)]
        else:
            waiting += ast.iter_child_nodes(node)  # type: ignore[arg-type]


def is_prepared(source: Source) -> bool:
    """Whether a value is what `prepare` returned, or one of several that it did."""
    module, node = source.module, source.node
    target = module.definition(node)
    if target is not None and is_assignment(statement := module.statement(target)):
        node = statement.value
    return is_method_call(node, *PREPARES)


def _are_groups(source: Source) -> bool | None:
    module, node = source.module, source.node
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [item.node for element in node.elts for item in module.origins(element)]
        return any(isinstance(item, ast.Dict) for item in items) or None
    if isinstance(node, COMPREHENSIONS):
        return isinstance(node.elt, ast.Dict)
    if not isinstance(node, ast.Call):
        return None
    is_filter = is_call_by_name(node, "filter")
    return False if is_filter or is_method_call(node, *PARAMETERS) else None
