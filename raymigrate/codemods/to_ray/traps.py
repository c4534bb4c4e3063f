"""RM828: what an Accelerate script does that means something else on Ray, or once several workers train."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared import second_backwards
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.early_writes import is_to_own_path
from raymigrate.codemods.to_ray.epoch_ends import leaves
from raymigrate.codemods.to_ray.epochs import Epochs
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.prepared import tell_prepared
from raymigrate.codemods.to_ray.trackers import is_for_one_process
from raymigrate.codemods.to_ray.training_ends import end_last
from raymigrate.facts.accelerate.split_batches import splits_batches
from raymigrate.facts.folders.opened_files import SAVE, written_files
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.wrapped_models import is_wrapped_by_accelerate
from raymigrate.facts.values import called_name, origins

RM828 = Rule(
    "RM828",
    "what several processes change in an Accelerate loop",
    "Some things change the training as soon as several processes take part, under accelerate launch as on Ray.",
    "Read the message; with one worker nothing changes. end_training() comes last, since it ends the process group."
    " Streaming data needs batches of one shape, or"
    " DataLoaderConfiguration(dispatch_batches=False) as dataloader_config= of the Accelerator.",
    "https://huggingface.co/docs/accelerate/basic_tutorials/migration",
    errors=(
        "You can't use batches of different size with `dispatch_batches=True`",
        "Default process group has not been initialized, please make sure to call init_process_group",
    ),
)
PEFT_MODELS = ("peft.get_peft_model", "peft.PeftModel", "peft.AutoPeftModel")
GATHERED = {"gather", "gather_for_metrics", "reduce", "all_reduce", "compute", "check_trigger"}
PER_EPOCH = ("StepLR", "MultiStepLR", "ExponentialLR", "ReduceLROnPlateau", "CosineAnnealingLR")


def tell_traps(context: Context, outline: Outline, epochs: Epochs) -> None:
    """Tells what a person should look at, in a script that is converted.

    Args:
        context: The module.
        outline: What becomes of it.
        epochs: Its loop over epochs.
    """
    module = context.module
    tell_prepared(context)
    for call in module.of_type(ast.Call):
        if isinstance(call.func, ast.Attribute):
            _tell_method(context, call, call.func)
    for test in _early_ends(epochs):
        message = (
            "Each worker decides by a loss of its own whether the loop ends here: one may leave it while others wait"
            " for it in the next step, for good."
        )
        advice = (
            "Decide by a value that all workers share: accelerator.gather(loss).mean(), or set_trigger() and"
            " check_trigger()."
        )
        context.manual(RM828, test, message, advice)
    for call in _second_backwards(module):
        context.manual(RM828, call, second_backwards.MESSAGE, second_backwards.ADVICE)
    for call in _unguarded_saves(module, outline):
        message = (
            "Every process writes this file, one over the other; it belongs below `if accelerator.is_main_process:`."
        )
        writes_once = ", or use accelerator.save, which writes once" if module.qualified(call.func) == SAVE else ""
        context.manual(RM828, call, message, f"Guard it{writes_once}.")
    for call in _saved_adapters(module):
        message = "A PeftModel writes its files in every process, one over the other."
        context.manual(RM828, call, message, "Give it is_main_process=accelerator.is_main_process.")


def _tell_method(context: Context, call: ast.Call, function: ast.Attribute) -> None:
    module = context.module
    if function.attr == "backward" and not call.args and not call.keywords:
        message = "loss.backward() bypasses accelerate: no scaling with fp16, no division by the accumulation steps."
        context.manual(RM828, call, message, "Use accelerator.backward(loss), if the script should have these.")
    if function.attr == "end_training":
        end_last(context, RM828, call)
    if function.attr == "prepare" and splits_batches(module) is not True:
        for prepared in call.args:
            if _is_per_epoch(module, prepared):
                message = (
                    "A scheduler that steps once an epoch is prepared: it steps once for each worker then, and the"
                    " learning rate falls N times too fast."
                )
                context.manual(RM828, prepared, message, "Leave it out of prepare(); its steps are counted in epochs.")


def _early_ends(epochs: Epochs) -> Iterator[ast.expr]:
    """The conditions on which the loop over epochs ends early, where they rest on a value of one worker."""
    if epochs.loop is None:
        return
    if isinstance(epochs.loop, ast.While) and _is_of_one_worker(epochs.module, epochs.loop.test, set()):
        yield epochs.loop.test
    for node in (part for statement in epochs.loop.body for part in ast.walk(statement)):
        if isinstance(node, ast.If) and leaves(node) and not any(isinstance(part, ast.Continue) for part in node.body):
            inner = [a for a in epochs.module.ancestors(node) if isinstance(a, (ast.For, ast.While))]
            if inner and inner[0] is epochs.loop and _is_of_one_worker(epochs.module, node.test, set()):
                yield node.test


def _is_of_one_worker(module: Module, node: ast.AST, seen: set[ast.AST]) -> bool:
    """Whether a value comes from `.item()` of a tensor that was not gathered."""
    parts = list(ast.walk(node))
    called = {part.func.attr for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)}
    if called & GATHERED:
        return False
    if "item" in called:
        return not any(_is_gathered(module, part) for part in parts if isinstance(part, ast.Name))
    for value in (value for part in parts if isinstance(part, ast.Name) for value in _given(module, part)):
        if value not in seen:
            seen.add(value)
            if _is_of_one_worker(module, value, seen):
                return True
    return False


def _is_gathered(module: Module, name: ast.Name) -> bool:
    return any(
        isinstance(part, ast.Call) and getattr(part.func, "attr", "") in GATHERED
        for value in _given(module, name)
        for part in ast.walk(value)
    )


def _given(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What a name is given, wherever that is."""
    for binding in module.bindings_of(name):
        statement = module.statement(binding.node)
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
            yield statement.value


def _is_per_epoch(module: Module, node: ast.expr) -> bool:
    """Whether this is a scheduler that the script steps outside of the loop over batches."""
    if not isinstance(node, ast.Name):
        return False
    made = [source.node for source in origins(module, node)]
    names = [called_name(module, call) for call in made if isinstance(call, ast.Call)]
    if not any(name.startswith("torch.optim.lr_scheduler.") and name.rpartition(".")[2] in PER_EPOCH for name in names):
        return False
    methods = module.method_calls("step")
    steps = [call for call, step in methods if isinstance(step.value, ast.Name) and step.value.id == node.id]
    return bool(steps) and all(_loops(module, call) < 2 for call in steps)


def _loops(module: Module, node: ast.AST) -> int:
    return sum(isinstance(around, (ast.For, ast.While)) for around in module.ancestors(node))


def _unguarded_saves(module: Module, outline: Outline) -> Iterator[ast.Call]:
    """Calls that write a file in every process, without asking for the rank, also not for its path."""
    of_workers = run_by_workers(outline)
    for call in (*module.calls(SAVE), *written_files(module)):
        if outline.script.step_of(call) not in of_workers:
            continue
        if not is_for_one_process(module, call) and not is_to_own_path(module, call):
            yield call


def _second_backwards(module: Module) -> Iterator[ast.Call]:
    """The second backward() through one run of a prepared model."""
    losses = {call: call.args[0] for call, _ in module.method_calls("backward") if call.args}

    def models(called: ast.expr) -> list[str]:
        return [module.source(called)] if is_wrapped_by_accelerate(module, called) else []

    return second_backwards.second_backwards(module, losses, models)


def _saved_adapters(module: Module) -> Iterator[ast.Call]:
    """Calls of save_pretrained of models of peft that all processes make; a model of transformers asks for its rank.

    peft 0.21.2, peft_model.py:297, writes unless is_main_process is False. RM707 gives it for a save_function.
    """
    for call, method in module.method_calls("save_pretrained"):
        is_said = len(call.args) > 4 or any(k.arg in ("is_main_process", "save_function", None) for k in call.keywords)
        if not is_said and not is_for_one_process(module, call) and _is_of_peft(module, method.value, set()):
            yield call


def _is_of_peft(module: Module, node: ast.expr, seen: set[str]) -> bool:
    """Whether something is a model of peft, also behind `unwrap_model` and what the model's name got before."""
    if isinstance(node, ast.Call):
        if called_name(module, node).startswith(PEFT_MODELS):
            return True
        is_unwrapped = getattr(node.func, "attr", "") == "unwrap_model" and node.args
        return bool(is_unwrapped) and _is_of_peft(module, node.args[0], seen)
    if not isinstance(node, ast.Name) or node.id in seen:
        return False
    return any(_is_of_peft(module, value, {*seen, node.id}) for value in _given(module, node))
