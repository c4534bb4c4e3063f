"""Where a plain script makes a transformers.Trainer and trains with it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from raymigrate.facts.ray_train.trainers import classes_behind, is_named_as_trainer, is_transformers_trainer
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import argument, is_method_call, method_of, methods_of_object, origins
from raymigrate.facts.values.partials import functions_of_partials
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RESUME = "resume_from_checkpoint"


@dataclass(frozen=True)
class Training:
    """What a module does with Trainers.

    Args:
        makes: Calls that make one.
        trains: Calls of its method `train`.
        searches: Calls of its method `hyperparameter_search`.
    """

    makes: list[ast.Call]
    trains: list[ast.Call]
    searches: list[ast.Call]


def training_of(module: Module) -> Training:
    """The Trainers of a module."""
    makes = [call for call in module.of_type(ast.Call) if makes_trainer(module, call)]
    trains, searches = (
        [call for call, method in module.method_calls(name) if is_trainer(module, method.value)]
        for name in ("train", "hyperparameter_search")
    )
    return Training(makes, trains, searches)


def is_trainer(module: Module, node: ast.expr) -> bool:
    """Whether an object may be a transformers.Trainer: something that can be one is assigned to its name."""
    return any(
        isinstance(source.node, ast.Call) and makes_trainer(source.module, source.node)
        for source in origins(module, node)
    )


def makes_trainer(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a transformers.Trainer: one of the library, of trl, or of a class made from one.

    Where the script chooses the class, one that is a Trainer is enough: it is then a training, to move or to refuse.
    """
    return _is_trainer_class(module, call.func)


def makes_trainer_by_partial(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a Trainer of what partial() made of its class."""
    return any(_is_trainer_class(source.module, source.node) for source in functions_of_partials(module, call))


def _is_trainer_class(module: Module, function: ast.expr) -> bool:
    return any(
        is_named_as_trainer(made) if isinstance(made, str) else is_transformers_trainer(*made)
        for made in classes_behind(module, function)
    )


def resume_keyword(module: Module, trainer: ast.expr) -> str:
    """The parameter of a Trainer's `train` that takes a checkpoint; empty where a class of the project has none there.

    Such a class hands on what it is given: `super().train(resume_from_checkpoint=model_path)`.
    """
    own = methods_of_object(module, trainer, "train")
    methods = list(_chosen_methods(module, trainer)) if own is None else [method for _, method in own]
    keywords = {_taken_to_resume(method) if method is not None else RESUME for method in methods} or {RESUME}
    return keywords.pop() if len(keywords) == 1 else ""


def _chosen_methods(module: Module, trainer: ast.expr) -> Iterator[ast.FunctionDef | None]:
    """The methods `train` of the classes among which a script chooses; None for that of a library."""
    for source in module.origins(trainer):
        made = source.node
        for found in classes_behind(source.module, made.func) if isinstance(made, ast.Call) else ():
            methods = method_of(*found, "train") if not isinstance(found, str) else []
            yield from methods
            if not methods:
                yield None


def _taken_to_resume(method: ast.FunctionDef) -> str:
    names = {parameter.arg for parameter in by_name(method)}
    if RESUME in names or method.args.kwarg is not None:
        return RESUME
    for node in ast.walk(method):
        if is_method_call(node, "train"):
            given = argument(node, 0, RESUME)
            if isinstance(given, ast.Name) and given.id in names:
                return given.id
    return ""


def arguments_made(module: Module) -> list[ast.Call]:
    """The calls that make TrainingArguments, in source order."""
    return [call for call in module.of_type(ast.Call) if makes_arguments(module, call)]


def makes_arguments(module: Module, call: ast.Call) -> bool:
    """Whether a call makes TrainingArguments: those of the library, of trl, or of a class made from them."""
    if is_arguments_class(module, call.func):
        return True
    definition = module.definition(call.func)
    return isinstance(definition, ast.ClassDef) and defines_arguments(module, definition)


def is_idle_rank(module: Module, read: ast.Attribute) -> bool:
    """Whether a rank is handed to TrainingArguments alone, which ask the process: `local_rank=` does nothing there.

    Nothing in transformers 5.23 reads that field (training_args.py:1508).
    """
    keyword = module.parent_of[read]
    call = module.parent_of[keyword] if isinstance(keyword, ast.keyword) and keyword.arg == "local_rank" else None
    return isinstance(call, ast.Call) and makes_arguments(module, call)


def defines_arguments(module: Module, definition: ast.ClassDef) -> bool:
    """Whether a class of the module is made from TrainingArguments, directly or through another class of it."""
    bases = [module.definition(base) for base in definition.bases]
    return any(is_arguments_class(module, base) for base in definition.bases) or any(
        isinstance(base, ast.ClassDef) and base is not definition and defines_arguments(module, base) for base in bases
    )


def is_arguments_class(module: Module, node: ast.expr) -> bool:
    """Whether a name stands for TrainingArguments or one of trl's classes of them."""
    name = module.qualified(node) or ""
    return name in TRAINING_ARGUMENTS or (
        name.startswith("trl.") and name.endswith("Config") and name != "trl.ModelConfig"
    )


def given_arguments(call: ast.Call) -> ast.expr | None:
    """The TrainingArguments that a Trainer is given."""
    return argument(call, 1, "args")


def common_branch(module: Module, trains: Sequence[ast.Call]) -> ast.If | None:
    """The `if` in whose branches the same Trainer trains, in each at most once; None if that is not so."""
    receivers = {module.source(call.func.value) for call in trains}  # type: ignore[attr-defined]
    if len(trains) < 2 or len(receivers) > 1:
        return None
    ways = [_branches(module, call) for call in trains]
    shared = [branch for branch in ways[0] if all(branch in way for way in ways)]
    if not shared or any(_is_same_way(one, other) for one, other in combinations(ways, 2)):
        return None
    outermost = module.statement(shared[0])
    return outermost if isinstance(outermost, ast.If) else None


def may_both_run(module: Module, one: ast.AST, other: ast.AST) -> bool:
    """Whether two calls of a function may both be carried out: no `if` sends them into different branches."""
    return _is_same_way(_branches(module, one), _branches(module, other))


def _branches(module: Module, node: ast.AST) -> dict[ast.AST, bool]:
    """The `if`s around a node in its function, from the nearest on, and whether it is in the else of each."""
    found: dict[ast.AST, bool] = {}
    child = node
    for ancestor in module.ancestors(node):
        if isinstance(ancestor, FUNCTIONS):
            break
        if isinstance(ancestor, ast.If):
            found[ancestor] = child in ancestor.orelse
        child = ancestor
    return found


def _is_same_way(one: dict[ast.AST, bool], other: dict[ast.AST, bool]) -> bool:
    """Whether two calls may both be carried out: no `if` sends them into different branches."""
    return all(other.get(branch, way) == way for branch, way in one.items())
