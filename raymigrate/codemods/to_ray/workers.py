"""RM806, RM825, RM829: what the number of workers changes in any training, told once in a script."""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.clock_seeds import tell_seeds_by_time
from raymigrate.codemods.to_ray.launched import LaunchedOutline, is_notebook
from raymigrate.codemods.to_ray.prepared import RM829
from raymigrate.codemods.to_ray.streams import LOADERS
from raymigrate.codemods.to_ray.wrapped import is_called, is_wrapped, where_wrapped
from raymigrate.facts.accelerate.split_batches import splits_batches
from raymigrate.facts.hugging_face.later_settings import later_settings
from raymigrate.facts.hugging_face.spread_models import SPREADING
from raymigrate.facts.projects.environment import VISIBLE, gpus_shown
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.random_draws import shared_seed
from raymigrate.facts.torch.unused_parameters import finds_unused, uses_all_parameters
from raymigrate.facts.values import called_name, keyword_argument, last_name
from raymigrate.facts.values.bindings import reaching

# transformers/trainer.py, 5.23: with a hf_device_map of several devices is_model_parallel is set, and n_gpu is 1.
MODELS = lazy_regex(r"(transformers|peft)\.(\w+\.)*(?!PeftModel)\w*(Model|For[A-Z])\w*\.from_pretrained")
HANDLERS = ("accelerate.DistributedDataParallelKwargs", "accelerate.utils.DistributedDataParallelKwargs")
RATES = ("lr", "learning_rate", "max_lr")
# What a step's rows are, besides the number of workers.
BY_POSITION = "batch_size"  # the second argument of a DataLoader
OF_A_STEP = ("gradient_accumulation_steps", "per_device_train_batch_size")
OF_TABLES = ("map", "filter", "iter", "map_batches")  # methods whose batch_size is that of no step
ROUNDED = ("int", "float", "round", "ceil", "floor", "max", "min")  # what takes numbers, and gives one of them
SIZES = lazy_regex(r"num_processes|world_?size", re.IGNORECASE)
SAME_NUMBERS = "dropout masks and random augmentation of the same step draw the same numbers on each of them"


def tell_rows(
    context: Context, rule: Rule, place: ast.AST, batch: str, workers: str, *, by_loader: bool = True
) -> None:
    """Says what becomes of the batch and of the steps.

    Args:
        context: The module.
        rule: The rule that tells.
        place: Where.
        batch: Which batch size is that of one worker, with its verb.
        workers: What is known of the number of workers, after a semicolon; empty for nothing.
        by_loader: Whether a loader that the script makes says how many rows a step has, and not a Trainer's arguments.
    """
    words = (*OF_A_STEP, BY_POSITION) if by_loader else OF_A_STEP
    if counted := next((word for word in words if _counts_workers(context, word)), None):
        message = f"{batch} that of one worker, and the script works {counted} out of the number of workers"
        context.note(rule, place, f"{message}: both say how many rows a step has.")
        return
    if (is_split := splits_batches(context.module)) is True:
        size = f"{batch} that of all workers together, with split_batches=True: each takes 1/N of its rows"
        context.note(rule, place, f"{size}, in as many steps as before, and it has to be a multiple of N{workers}.")
        return
    workers += "; with split_batches=True the batch is that of all workers together" if is_split else ""
    is_scaled = any(_counts_workers(context, word) for word in RATES)
    rate = "at a learning rate that the script works out of N" if is_scaled else "at the same learning rate"
    context.note(
        rule,
        place,
        f"{batch} that of one worker: N workers see N times the rows in each step and take 1/N of the steps, {rate}"
        f"{workers}.",
    )


def _counts_workers(context: Context, word: str) -> bool:
    """Whether a script works out an argument with the number of processes, `lr=args.lr * dist.get_world_size()`.

    Args:
        word: The name of the argument, or of an attribute: `args.gradient_accumulation_steps //= world_size`.
    """
    module = context.module
    calls = [(call, keyword.value) for call, keyword in module.keywords(word)]
    given = [value for call, value in calls if word != BY_POSITION or last_name(call.func) not in OF_TABLES]
    given += [setting.value for setting in later_settings(module, word) if setting.value is not None]
    if word == BY_POSITION:
        given += [call.args[1] for call in module.calls(*LOADERS) if len(call.args) > 1]
    stored = (module.parent_of[store] for store in module.stores(word))
    given += [
        statement.value
        for statement in stored
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value is not None
    ]
    return any(SIZES.search(ast.unparse(term)) for value in given for term in _terms(module, value))


def _terms(module: Module, value: ast.expr) -> Iterator[ast.expr]:
    """What a number is worked out of: the terms of sums and products, through names, and the names themselves."""
    seen: dict[ast.expr, None] = {}
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen[node] = None
        yield node
        if isinstance(node, ast.Name) and node in module.scope_of:
            changed = (module.parent_of[binding.node] for binding in reaching(module, node))
            waiting += [statement.value for statement in changed if isinstance(statement, ast.AugAssign)]
        if node in module.parent_of:
            waiting += [source.node for source in module.origins(node)]
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
        elif isinstance(node, ast.Call) and last_name(node.func) in ROUNDED:
            waiting += node.args


def tell_gpus_of_python(context: Context, rule: Rule, place: ast.AST) -> None:
    """Says what a Trainer did with several GPUs under python: a model that is spread over them has no DataParallel."""
    maps = [keyword_argument(call, "device_map") for call in context.module.of_type(ast.Call) if _loads(context, call)]
    spread = [given for given in maps if given is not None and context.module.constant(given) in SPREADING]
    if maps and len(spread) == len(maps):
        return
    shown = [are_several for _, are_several in gpus_shown(context.module)]
    if shown and all(are_several is False for are_several in shown):
        return  # one GPU, or none
    unless = ", unless device_map had spread the model over them" if any(maps) else ""
    started = "Run" if is_notebook(context) else "Started with python"
    taken = f"all that {VISIBLE} names" if shown else "all of them"
    message = f"{started} on a machine with several GPUs, the Trainer took {taken} (DataParallel)"
    context.note(
        rule, place, f"{message}{unless}, and its batch was that of one times the GPUs: as many workers keep it."
    )


def _loads(context: Context, call: ast.Call) -> bool:
    """Whether a call loads a model: `AutoModelFor...from_pretrained`, `LlamaForCausalLM.from_pretrained`."""
    return MODELS.fullmatch(called_name(context.module, call)) is not None


def tell_threads(context: Context, rule: Rule, place: ast.AST, outline: LaunchedOutline) -> None:
    """Says why a run on CPU workers may differ in the last digits."""
    if not outline.use_gpu:
        message = (
            "Ray gives each worker one thread, and sums on a CPU depend on it: a run of the original with more differs"
            " in the last digits. OMP_NUM_THREADS=1 for the original makes them equal."
        )
        context.note(rule, place, message)


def tell_seed_of_trainer(context: Context, rule: Rule, place: ast.AST, outline: LaunchedOutline) -> None:
    """Says that the Trainer of each worker sets the same seed, where there were no such processes before."""
    if not tell_seeds_by_time(context, rule, outline) and outline.may_grow:
        context.note(rule, place, f"The Trainer of each worker sets the same seed: {SAME_NUMBERS}.")


def tell_seed(context: Context, rule: Rule, outline: LaunchedOutline) -> None:
    """Says that each worker sets the seed of the script, where there were no such processes before."""
    by_time = tell_seeds_by_time(context, rule, outline)
    call = shared_seed(context.module) if outline.may_grow and not by_time else None
    if call is not None:
        message = f"Every worker sets this seed: {SAME_NUMBERS}."
        context.note(
            rule, call, f"{message} accelerate's set_seed(..., device_specific=True) draws others, for other results."
        )


def tell_unused(context: Context, made: ast.Call, outline: LaunchedOutline) -> None:
    """Says what happens to parameters that a step does not use, where the model was not wrapped before."""
    module = context.module
    if not outline.wraps_anew or not is_wrapped(context, outline) or finds_unused(module):
        return
    calls = [call for call, _ in module.method_calls("prepare", "prepare_model") if call.args]
    models = {call: model for call in calls for model in call.args if is_called(module, model)}
    models = models or {call: call.args[0] for call in calls}
    if models and all(uses_all_parameters(module, model) for model in models.values()):
        return
    flag = "find_unused_parameters=True"
    advice = f"the Accelerator has kwargs_handlers=[DistributedDataParallelKwargs({flag})]"
    if any(module.calls(*HANDLERS)):
        advice = f"its DistributedDataParallelKwargs has {flag}"
    context.note(
        RM829,
        next(iter(models), made),
        f"A step that leaves parameters of the model without a gradient makes the next one raise a"
        f" RuntimeError {where_wrapped(outline)}, unless {advice}. A Trainer sets that by itself.",
    )
