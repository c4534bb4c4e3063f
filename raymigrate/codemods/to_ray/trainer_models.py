"""RM829 in methods of a Trainer's class, which get the model in the wrapper that accelerate put around it.

transformers 5.23 hands the wrapped model to `training_step`, and that to `compute_loss`; `self.model` is the model
itself, and an evaluation gets it as it is (transformers/trainer.py, `_wrap_model` and `evaluation_loop`).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.prepared import RM829
from raymigrate.codemods.to_ray.trainer_calls import makes_arguments, training_of
from raymigrate.codemods.to_ray.wrapped import (
    OUT_OF_REACH,
    TRAINED_BY,
    asked,
    calls_for_value,
    is_wrapped,
    of_wrapper,
    unwrap,
    where_wrapped,
)
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, is_none, lineage, origins, reaching

SHARDED = ("fsdp", "deepspeed")
WITH_MODEL = ("training_step", "compute_loss")
Given = dict[ast.arg, ast.FunctionDef]  # parameters that hold the wrapped model, each with its method


def unwrap_in_trainers(context: Context, outline: LaunchedOutline) -> None:
    """Reaches through the wrapper of the model in the methods that a Trainer calls in training.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module = context.module
    if not is_wrapped(context, outline) or (outline.use_gpu and _is_sharded(module)):
        return
    for model, name, method in _wrapped(module, outline):
        trainer = parameters(method)[0].arg
        seen = module.scope_of[model].find(trainer) is module.scope(method)
        advice = "" if seen else OUT_OF_REACH
        advice = TRAINED_BY if calls_for_value(module, model) else advice
        unwrap(context, outline, model, name, f"{trainer}.accelerator", advice)
    for call in training_of(module).makes:
        found = module.elsewhere(call.func)
        if found is not None and isinstance(found.node, ast.ClassDef):
            _tell_of_class(context, outline, call, found.module, found.node)


def _tell_of_class(
    context: Context, outline: LaunchedOutline, call: ast.Call, home: Module, definition: ast.ClassDef
) -> None:
    """Tells of a Trainer's class in another file whose methods ask the wrapped model for what its wrapper lacks."""
    classes = lineage(home, definition)
    for model, name, method in _wrapped(home, outline):
        if home.parent_of[method] in classes:
            what = f".{name}" if name else "its class"
            context.manual(
                RM829,
                call,
                f"{method.name}() in {home.path} asks its model for {what}."
                f" It is wrapped in DistributedDataParallel {where_wrapped(outline)}, which does not have that.",
                f"Ask {parameters(method)[0].arg}.accelerator.unwrap_model({ast.unparse(model)}) there.",
            )
            return


def _wrapped(module: Module, outline: LaunchedOutline) -> Iterator[tuple[ast.expr, str, ast.FunctionDef]]:
    """Where methods ask the wrapped model for what its wrapper lacks: the model, the attribute and the method."""
    given = _given(module)
    for model, name in asked(module, of_wrapper(outline)) if given else ():
        ends = [source.node for source in origins(module, model, elsewhere=False)]
        bound = [binding.node for end in ends if isinstance(end, ast.Name) for binding in reaching(module, end)]
        methods = [given[parameter] for parameter in bound if isinstance(parameter, ast.arg) and parameter in given]
        if methods:
            yield model, name, methods[0]


def _is_sharded(module: Module) -> bool:
    """Whether the arguments of a Trainer ask for FSDP or DeepSpeed."""
    return any(makes_arguments(module, call) and not is_none(k.value) for call, k in module.keywords(*SHARDED))


def _given(module: Module) -> Given:
    """The parameters of methods that hold the wrapped model: those of the Trainer's own, and what they hand it to."""
    found: Given = {}
    for definition in module.of_type(ast.ClassDef):
        if is_transformers_trainer(module, definition):
            methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
            waiting = [(methods[name], 1) for name in WITH_MODEL if name in methods]
            while waiting:
                method, place = waiting.pop()
                taken = parameters(method)
                if len(taken) > place and taken[place] not in found and not method.decorator_list:
                    found[taken[place]] = method
                    waiting += _handed_on(module, methods, method, taken[place])
    return found


def _handed_on(
    module: Module, methods: dict[str, ast.FunctionDef], method: ast.FunctionDef, model: ast.arg
) -> Iterator[tuple[ast.FunctionDef, int]]:
    """The methods to which a method of the same object hands the model, with the place of it among their parameters."""
    for call in (node for node in module.below(method) if isinstance(node, ast.Call)):
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            continue
        other = methods.get(function.attr)
        if other is None or function.value.id != parameters(method)[0].arg:
            continue
        for place, parameter in enumerate(parameters(other)):
            value = argument(call, place - 1, parameter.arg) if place else None
            if isinstance(value, ast.Name) and module.definition(value) is model:
                yield other, place
