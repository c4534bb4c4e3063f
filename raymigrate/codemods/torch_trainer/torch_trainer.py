"""RM104, RM110 and RM203 for scripts that came to TorchTrainer by hand, while their libraries were still the old ones.

Such a script trained on CPU workers together, and with the loss of transformers 4: see `cpu_workers` and `loss_scale`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from raymigrate.codemods import codemod
from raymigrate.codemods.accelerate_trainer.accelerate_settings import RM203
from raymigrate.codemods.accelerate_trainer.loop_elsewhere import report_loss_scale
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import has_late_arguments, has_old_arguments, has_old_losses
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.cpu_workers import ALONE, RM104, VARIABLE, is_told, set_cpu, set_use_cpu, states_before
from raymigrate.codemods.shared.loss_scale import ARGUMENT, MESSAGE, RM110, average_on_each_worker, report_loss_mean
from raymigrate.codemods.shared.plain_callbacks import is_converted_plain_script
from raymigrate.facts.ray_train.scaling import has_one_worker, same_gpus
from raymigrate.facts.ray_train.trainers import TrainerCall, trainer_calls
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.wrapped_models import strategy_of
from raymigrate.facts.values import is_method_call, keyword_argument
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.knowledge.legacy import ACCELERATORS, PARTIAL_STATES, TORCH_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.pins.written_for import averages_tokens

FIRST = "train_loop_per_worker"
PREPARE_MODEL = "ray.train.torch.prepare_model"
SAYS_CPU = ("use_cpu", "no_cuda")
PERHAPS = "where this makes TrainingArguments"
JOINED_SINCE = (2, 4)
AS_BEFORE = (
    "prepare_model() of Ray joins the workers, as before: without cpu=True this Accelerator is one process of its own,"
    " whose prepare() keeps all rows and does not wrap the model, as on Ray < 2.4."
)
TWICE = (
    "Beside prepare_model() of Ray, an Accelerator was one process of its own on Ray < 2.4, with all rows on each"
    " worker. Since then it joins the workers too, on CPU workers with cpu=True: its prepare() wraps the model a second"
    " time, and gives each worker a part of the rows."
)
ONE_OF_THEM = (
    "Leave out prepare_model(), and what reads .module of its model, to train on a part of the rows each; or leave the"
    " model and the loader out of prepare() of the Accelerator, to train as on Ray < 2.4."
)


@dataclass(frozen=True)
class Run:
    """What the workers of a trainer run.

    Args:
        call: The trainer call.
        functions: Its training function, with the functions that this calls.
    """

    call: TrainerCall
    functions: set[ast.AST]


@codemod("TorchTrainer", phase=Phase.TRAINERS)
def torch_trainers(context: Context) -> None:
    """Keeps CPU workers together and the loss what it was, in training functions for older libraries."""
    is_old = context.is_legacy_script or has_old_arguments(context.module)
    if not is_old and not has_old_losses(context.module):
        return
    runs = []
    for call in trainer_calls(context.module, TORCH_TRAINERS, FIRST):
        if call.functions:
            runs.append(Run(call, set[ast.AST]().union(*map(context.places.reached_from, call.functions))))
        elif call.imported is not None and context.is_legacy_script:
            report_loss_scale(context, call)
    training = [run for run in runs if _trains(run.functions)]
    if is_old:
        _join_accelerators(context, runs)
        _join_trainers(context, training)
    _keep_loss_scale(context, training)


def _made_by(
    context: Context, names: frozenset[str], runs: list[Run], *, perhaps: bool = False
) -> Iterator[tuple[ast.Call, TrainerCall]]:
    """The calls of these classes that several workers make, each with the trainer that starts them.

    With `perhaps` those of a name that may stand for such a class, and for another one.
    """
    module = context.module
    by_function: dict[ast.AST, list[TrainerCall]] = {}
    for run in runs:
        for function in run.functions:
            by_function.setdefault(function, []).append(run.call)
    named = () if perhaps else module.calls(*names)
    for made in (*named, *_called_by_another_name(module, names, perhaps)):
        calls = [call for around in module.ancestors(made) for call in by_function.get(around, ())]
        if not all(has_one_worker(module, call.node) for call in calls):
            differ = not all(same_gpus(calls[0].gpus, call.gpus) for call in calls)
            yield made, replace(calls[0], other_workers=differ)


@kept
def _called_by_another_name(module: Module, names: frozenset[str], perhaps: bool) -> list[ast.Call]:
    """The calls of these classes by a name that a function got them under: `def make(cls, **given): cls(**given)`."""
    if not any(_is_handed_on(module, reference.node) for reference in module.references_within(*names)):
        return []
    found = []
    for call in module.of_type(ast.Call):
        if isinstance(call.func, ast.Name) and module.qualified(call.func) is None:
            are = {end.module.qualified(end.node) in names for end in module.origins(call.func)}
            if are == ({True, False} if perhaps else {True}):
                found.append(call)
    return found


def _is_handed_on(module: Module, reference: ast.AST) -> bool:
    """Whether a class is named to be given to something, or stored, and not to be called or derived from."""
    outer = module.parent_of[reference]
    if isinstance(outer, ast.Call):
        return outer.func is not reference
    return isinstance(outer, (ast.keyword, ast.Assign, ast.IfExp, ast.Dict))


def _trains(functions: set[ast.AST]) -> bool:
    """Whether functions that a worker runs call train() on something, as on a Trainer made with TrainingArguments."""
    calls = (call for function in functions for call in ast.walk(function) if isinstance(call, ast.Call))
    return any(is_method_call(call, "train") for call in calls)


def _join_trainers(context: Context, runs: list[Run]) -> None:
    if not context.module.texts(VARIABLE):
        for arguments, call in _made_by(context, TRAINING_ARGUMENTS, runs):
            if call.use_gpu is not True:
                set_use_cpu(context, call, arguments)
        for arguments, call in _made_by(context, TRAINING_ARGUMENTS, runs, perhaps=True):
            held = is_unpacked(context.module, arguments, *SAYS_CPU)
            if not held and not is_told(context, call, arguments, *SAYS_CPU):
                unless = ", unless what is unpacked there says use_cpu=True" if held is None else ""
                context.manual(RM104, arguments, f"{ALONE}, {PERHAPS}{unless}.", "Give it use_cpu=True for these.")


def _join_accelerators(context: Context, runs: list[Run]) -> None:
    if context.module.texts(VARIABLE):
        return
    joined = [run for run in runs if _is_joined_by_ray(context, run)]
    twice = {accelerator for accelerator, _ in _made_by(context, ACCELERATORS, joined)}
    for accelerator, call in _made_by(context, ACCELERATORS, runs):
        if accelerator in twice and context.from_ray.lowest < JOINED_SINCE:
            _tell_of_two_wrappers(context, accelerator, call)
        elif not is_told(context, call, accelerator, "cpu"):
            set_cpu(context, RM203, call, accelerator, "cpu")
    first = set(states_before(context.module, context.module.calls(*ACCELERATORS, *TRAINING_ARGUMENTS)))
    for state, call in _made_by(context, PARTIAL_STATES, runs):
        if state in first and not is_told(context, call, state, "cpu"):
            set_cpu(context, RM203, call, state, "cpu")


def _is_joined_by_ray(context: Context, run: Run) -> bool:
    """Whether prepare_model() of Ray wraps a model, so that the workers train one model without accelerate."""
    module = context.module
    calls = (call for call in module.calls(PREPARE_MODEL) if not run.functions.isdisjoint(module.ancestors(call)))
    return any(not _is_unwrapped(context, call) for call in calls)


def _is_unwrapped(context: Context, call: ast.Call) -> bool:
    """Whether prepare_model() only moves a model to its device: wrap_ddp=False, as it was until 2.2, is None today."""
    given = strategy_of(call)
    return given is not None and context.module.constant(given) in (None, False)


def _tell_of_two_wrappers(context: Context, accelerator: ast.Call, call: TrainerCall) -> None:
    """Tells of an Accelerator beside prepare_model(), which on Ray < 2.4 was one process of its own.

    The workers of a TorchTrainer have LOCAL_RANK and WORLD_SIZE since then (2.4.0 train/torch/config.py:136; 2.3.1 has
    none). Today, without cpu=True, an Accelerator on CPU workers takes no notice of them: as before.
    """
    if context.from_ray.surely_before(JOINED_SINCE) and call.use_gpu is False:
        context.note(RM203, accelerator, AS_BEFORE)
    else:
        context.manual(RM203, accelerator, TWICE, ONE_OF_THEM)


def _keep_loss_scale(context: Context, runs: list[Run]) -> None:
    """Keeps the loss of scripts that trained on several workers before, which one that was a plain script did not."""
    module = context.module
    if not context.current_transformers or module.stores(ARGUMENT) or is_converted_plain_script(module):
        return
    is_late = has_late_arguments(module) or averages_tokens(module, context.path)
    if is_late and not context.is_legacy_script:
        return
    for arguments, _ in _made_by(context, TRAINING_ARGUMENTS, runs):
        report_loss_mean(context, arguments)
        average_on_each_worker(context, arguments)
    for arguments, _ in _made_by(context, TRAINING_ARGUMENTS, runs, perhaps=True):
        if keyword_argument(arguments, ARGUMENT) is None and not is_unpacked(context.module, arguments, ARGUMENT):
            context.manual(RM110, arguments, f"{MESSAGE[:-1]}, {PERHAPS}.", f"Give it {ARGUMENT}=False there.")
