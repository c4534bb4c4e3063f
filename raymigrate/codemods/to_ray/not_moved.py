"""RM802: scripts that train, but in a way, or by a class, that `--to-ray` does not see as a training."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_ray.beside_ray import tell_beside_ray
from raymigrate.codemods.to_ray.refusals import leave
from raymigrate.codemods.to_ray.trainer_calls import (
    Training,
    is_trainer,
    makes_arguments,
    makes_trainer,
    makes_trainer_by_partial,
    training_of,
)
from raymigrate.facts.projects.indirect import partial_calls
from raymigrate.facts.ray_train.trainers import is_named_as_trainer, library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import import_bindings
from raymigrate.facts.values import all_arguments, called_name, class_named, methods_of_object, origins
from raymigrate.facts.values.members import is_empty
from raymigrate.knowledge.legacy import ACCELERATORS

# Packages whose Trainers are made from that of transformers, or train with one, without naming it in a script.
DERIVED = frozenset(
    {
        *("sentence_transformers", "setfit", "optimum", "adapters", "span_marker", "pylate", "unsloth", "gliner"),
        *("FlagEmbedding", "intel_extension_for_transformers", "llm2vec", "tevatron"),
    }
)
COPIES = frozenset({"paddlenlp", "mindnlp", "mindformers"})  # of other frameworks, with arguments of the same name
NATIVE = "A native PyTorch loop: --to-ray moves what trains with a Trainer or an Accelerator."
OTHER_LOOPS = {  # which --to-accelerate does not convert either
    "deepspeed.initialize": "an engine of DeepSpeed",
    "torch_xla.core.xla_model.optimizer_step": "torch_xla",
}
BY_HAND = "Move the loop by hand: TorchTrainer runs it as train_loop_per_worker, in the process group that Ray makes."
LOOPS = (ast.For, ast.While)
OPTIMIZERS = ("torch.optim.", "transformers.AdamW", "transformers.Adafactor", "transformers.optimization.Ada")


@codemod("backward", r"\w*Trainer", phase=Phase.POSITIONS, option="to_ray")
def tell(context: Context) -> None:
    """Tells why nothing of a script moves that surely trains."""
    module = context.module
    training = training_of(module)
    if training.trains or training.searches or any(module.calls(*ACCELERATORS)):
        return
    if context.imports_ray:
        if (loop := _native_loop(module)) is not None:
            tell_beside_ray(context, loop)
        return
    for read in module.attributes("train"):
        if isinstance(read.ctx, ast.Load) and module.calling(read) is None and is_trainer(module, read.value):
            message = f"{module.source(read)} is handed on here, not called: nothing of the script moves."
            leave(context, read, message, "Call it in a statement of its own and run raymigrate again; or by hand.")
            return
    if _tell_given_trainer(context, training) or training.makes or _tell_partials(context):
        return
    for call, function in module.method_calls("train"):
        for source in origins(module, function.value):
            name = _unknown_trainer(source.module, source.node)
            if name:
                home, _, own = name.rpartition(".")
                message = f"{own} comes from {home}, which was not found below the paths: nothing of the script moves."
                advice = "If it is made from transformers.Trainer, name its file too; else convert the script by hand."
                leave(context, call, message, advice)
                return
    loop = _native_loop(module)
    if loop is not None:
        leave(context, loop, NATIVE, "Run raymigrate with --to-accelerate --to-ray.")
    elif not _tell_own_trainer(context):
        _tell_other_loop(context)


def _tell_partials(context: Context) -> bool:
    """Tells of a Trainer or an Accelerator whose class goes through partial(), so that its arguments are spread."""
    module = context.module
    calls = [call for call, _ in partial_calls(module, frozenset(ACCELERATORS))]
    for _, method in module.method_calls("train"):
        made = ((end.module, end.node) for end in origins(module, method.value) if isinstance(end.node, ast.Call))
        calls += [call for home, call in made if home is module and makes_trainer_by_partial(home, call)]
    if calls:
        advice = (
            "Call the class itself with all its arguments, and run raymigrate again; or convert the script by hand."
        )
        leave(context, calls[0], "What partial() makes of a class is called here: nothing of the script moves.", advice)
    return bool(calls)


def _tell_other_loop(context: Context) -> None:
    """Tells of a loop in which something else than an optimizer of PyTorch takes the steps."""
    module = context.module
    for name, what in OTHER_LOOPS.items():
        call = next(module.calls(name), None)
        if call is not None and any(module.method_calls("backward")):
            message = f"A loop that trains with {what}: --to-ray moves what trains with a Trainer or an Accelerator."
            leave(context, call, message, BY_HAND)
            return


def _tell_given_trainer(context: Context, training: Training) -> bool:
    """Tells of a function that trains what it is given, where no call in the file gives it a Trainer."""
    module = context.module
    for call, method in module.method_calls("train"):
        given = module.definition(method.value)
        if not isinstance(given, ast.arg) or not isinstance(method.value, ast.Name):
            continue
        declared = module.qualified(given.annotation) if given.annotation is not None else None
        is_of_library = bool(training.makes) or "transformers" in _packages(module)
        if is_named_as_trainer(declared or "") or (declared is None and is_of_library and _is_called_trainer(given)):
            message = f"{given.arg} is a parameter, and no call in this file gives it a Trainer: nothing here moves."
            advice = "Make the Trainer in the function that trains it and run raymigrate again; or convert it by hand."
            leave(context, call, message, advice)
            return True
    return False


def _is_called_trainer(parameter: ast.arg) -> bool:
    return parameter.arg.lower().endswith("trainer")


def _unknown_trainer(module: Module, node: ast.AST) -> str:
    """The class outside of the project, as far as it is seen, that may be a Trainer and makes a value; else empty."""
    if not isinstance(node, ast.Call) or makes_trainer(module, node):
        return ""
    definition = module.definition(node.func)
    if isinstance(definition, ast.ClassDef):
        name = next(iter(library_bases(module, definition)), "")
    else:
        name = called_name(module, node) if module.elsewhere(node.func) is None else ""
    root = name.partition(".")[0]
    is_named = name.endswith("Trainer") and (root in DERIVED or "transformers" in _packages(module))
    return name if "." in name and root not in COPIES and (is_named or _is_given_arguments(module, node)) else ""


def _tell_own_trainer(context: Context) -> bool:
    """Tells of a Trainer that the project writes itself, by a copy of that of transformers, and that trains here."""
    module = context.module
    for call, function in module.method_calls("train"):
        for source in origins(module, function.value):
            found = _own_trainer(source.module, source.node)
            if found is None:
                continue
            (home, definition), (other, base) = found
            name = definition.name if home is module else f"{definition.name} ({home.path})"
            what = f"{name} is a Trainer" if base is definition else f"{name} has its train() from {base.name}"
            what += "" if base is definition else f" of {other.path}, a Trainer"
            message = f"{what} of this project, not that of transformers: nothing of the script moves."
            advice = "If it is a copy, make it from transformers.Trainer with what differs; else convert it by hand."
            leave(context, call, message, advice)
            return True
    return False


def _own_trainer(
    module: Module, made: ast.AST
) -> tuple[tuple[Module, ast.ClassDef], tuple[Module, ast.ClassDef]] | None:
    """The class of the project that makes a Trainer of its own, not one of a library, and the one with its train()."""
    found = class_named(module, made.func) if isinstance(made, ast.Call) else None
    if found is None or not isinstance(made, ast.Call) or _is_of_library(*found):
        return None
    methods = methods_of_object(module, made, "train") or []
    homes = [(home, home.parent_of[method]) for home, method in methods]
    is_named = found[1].name.endswith("Trainer") and "transformers" in _packages(module)
    if len(homes) != 1 or not isinstance(homes[0][1], ast.ClassDef):
        return None
    return (found, homes[0]) if is_named or _is_given_arguments(module, made) else None  # type: ignore[return-value]


def _is_of_library(module: Module, definition: ast.ClassDef) -> bool:
    """Whether a class is made from one outside of the project, as far as that matters."""
    waiting, seen = [(module, definition)], set[ast.ClassDef]()
    while waiting:
        home, current = waiting.pop()
        seen.add(current)
        for base in current.bases:
            found = class_named(home, base)
            if found is None and not is_empty(home, base):
                return True
            waiting += [found] if found is not None and found[1] not in seen else []
    return False


def _is_given_arguments(module: Module, made: ast.Call) -> bool:
    """Whether a call is given TrainingArguments: those of transformers, or of a package that calls its own so."""
    ends = [source for value in all_arguments(made) for source in origins(module, value)]
    calls = [(end.module, end.node) for end in ends if isinstance(end.node, ast.Call)]
    names = (called_name(home, call) for home, call in calls)
    return any(makes_arguments(*call) for call in calls) or any(name.endswith("TrainingArguments") for name in names)


def _packages(module: Module) -> set[str]:
    """The packages that a module imports something of."""
    bound = (binding.qualified or "" for statement in module.imports for _, binding in import_bindings(statement))
    return {name.partition(".")[0] for name in bound}


def _native_loop(module: Module) -> ast.AST | None:
    """The loop, or else the step in a function, in which a script works out gradients and lets an optimizer step."""
    if "torch" not in _packages(module) or module.references_within(*ACCELERATORS):
        return None
    stepped = [call for call, function in module.method_calls("step") if _is_optimizer(module, function.value)]
    for call in (call for call, _ in module.method_calls("backward") if not call.args):  # else of an Accelerator
        for around in module.ancestors(call):
            if isinstance(around, LOOPS) and any(module.inside(step, around) for step in stepped):
                return around
        function = module.function(call)  # the loop may be in the one that calls it
        if function is not None and any(module.function(step) is function for step in stepped):
            return module.statement(call)
    return None


def _is_optimizer(module: Module, node: ast.expr) -> bool:
    """Whether something steps weights: an optimizer, or the GradScaler that lets one step."""
    if any(ast.unparse(cleared.value) == ast.unparse(node) for cleared in module.attributes("zero_grad")):
        return True
    names = [called_name(s.module, s.node) for s in origins(module, node) if isinstance(s.node, ast.Call)]
    names = [name for name in names if not name.startswith("torch.optim.lr_scheduler.")]
    return any(name.startswith(OPTIMIZERS) or name.endswith(".GradScaler") for name in names)
