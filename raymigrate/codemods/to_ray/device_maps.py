"""RM806: device_map="auto" in code of the workers, or one that names a GPU by its number.

The first message is of accelerate, which refuses to prepare a model on more than one device (accelerator.py,
prepare_model). A model that nobody trains is not prepared; Ray lets each worker see the GPUs of all workers on its
machine (ray/train/torch/config.py, share_cuda_visible_devices), so that it is spread over these. A number
is that of the same GPU for all of them; "cuda" is the worker's own, which Ray sets.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.hugging_face.spread_models import loads_model, makers_of, spread_by
from raymigrate.facts.ray_train.pickling import sent_with
from raymigrate.facts.ray_train.ranks import rank_condition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, has_unpacking, is_method_call

OTHER_MODELS = lazy_regex(r"(?:ref|reward|teacher|value|judge)_?(?:model|funcs)?")  # that a Trainer of trl prepares
REFUSED = 'device_map="{}" spreads one model over all GPUs; {} refuses that on several workers.'
SPREAD = 'device_map="{}" spreads a model of each worker over the GPUs of all workers on its machine.'
SAME_GPU = "{}={} {} the model of every worker on the same GPU of a machine: its memory has to hold all of them."
NUMBER_OF_ALL = (
    "`{}` counts the workers of all machines, and a machine has only its own GPUs: on a second one there is no GPU of"
    " that number. ray.train.torch.get_device() is the worker's own everywhere."
)
TAKES_DEVICE = ("torch.device", "torch.cuda.set_device")
MOVES = ("to", "cuda", "to_empty")
MEMBERS = (ast.Attribute, ast.Subscript)
NUMBERED = lazy_regex(r"(?:cuda:)?\d+")
ADVICE = 'Write device_map={"": ray.train.torch.get_device()}: each worker has its model on its own GPU.'
OF_PIPELINE = "Write device=ray.train.torch.get_device(): each worker has its model on its own GPU."


def tell_device_maps(
    context: Context, rule: Rule, outline: LaunchedOutline, trained: set[ast.AST] | None, refuses: str
) -> None:
    """Tells what becomes of models on the workers that are to be spread over GPUs.

    Args:
        context: The module.
        rule: The rule that tells of such settings.
        outline: What becomes of the script.
        trained: What the models that train are made of; None where that is not seen.
        refuses: The library that refuses to train such models.
    """
    module = context.module
    given = [word for word in module.of_type(ast.keyword) if word.arg == "device_map"]
    several = outline.may_be_several
    given += [word for word in module.of_type(ast.keyword) if word.arg == "device" and _is_of_pipeline(module, word)]
    if several and outline.use_gpu:
        _tell_numbers_of_all(context, rule, outline)
    given = [word for word in given if spread_by(module, word) or (several and _is_numbered(module, word.value))]
    if not given or not outline.use_gpu:
        return
    sent = sent_with(module, outline.roles.moved())
    for word in given:
        step = outline.script.step_of(word)
        moves = step is not None and outline.roles.of[step].moves
        if moves or any(module.inside(word, function) for function in sent):
            call = module.parent_of[word]
            is_idle = trained is not None and loads_model(module, call) and call not in trained
            is_alone = rank_condition(module, module.statement(word)) is not None
            if is_alone and (is_idle or not spread_by(module, word)):
                continue  # one worker has it, as one process had before
            message = (SPREAD if is_idle else REFUSED).format(spread_by(module, word), refuses)
            if not spread_by(module, word):
                message = SAME_GPU.format(
                    word.arg, module.source(word.value), "puts" if word.arg == "device" else "loads"
                )
            context.manual(rule, word, message, OF_PIPELINE if word.arg == "device" else ADVICE)


def _tell_numbers_of_all(context: Context, rule: Rule, outline: LaunchedOutline) -> None:
    """Tells of GPUs that workers take by their numbers among those of all machines."""
    module, sent = context.module, sent_with(context.module, outline.roles.moved())
    for call in module.of_type(ast.Call):
        place = next((value for value in _devices(module, call) if _is_number_of_all(module, value)), None)
        step = outline.script.step_of(call) if place is not None else None
        moves = step is not None and outline.roles.of[step].moves
        if place is not None and (moves or any(module.inside(call, function) for function in sent)):
            context.note(rule, place, NUMBER_OF_ALL.format(module.source(place)))


def _devices(module: Module, call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given as a device, or as a map of devices."""
    yield from (word.value for word in call.keywords if word.arg in ("device", "device_map", "device_ids"))
    name = module.qualified(call.func)
    if name in TAKES_DEVICE or (name is None and is_method_call(call, *MOVES)):
        yield from call.args[:2]


def _is_number_of_all(module: Module, given: ast.expr) -> bool:
    """Whether a device is named by the number of the process among all: `accelerator.process_index`, `get_rank()`."""
    for home, node in module.origins(given):
        if called_name(home, node) == "torch.device":
            continue  # it is told itself
        for part in _parts(node):
            owner = home.parent_of.get(part)
            is_owner = isinstance(owner, MEMBERS) and owner.value is part  # whose other members do not count
            named = home.origins(part) if isinstance(part, (ast.Name, *MEMBERS)) and not is_owner else []
            if _reads_number(part) or any(_reads_number(source.node) for source in named):
                return True
    return False


def _starts_anew(node: ast.AST) -> bool:
    """Whether a number is counted on each machine: `rank % gpus`, and spelled out, `rank - gpus * (rank // gpus)`."""
    if not isinstance(node, ast.BinOp) or isinstance(node.left, ast.Constant):
        return False
    parts = [part for part in ast.walk(node.right) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)]
    is_rest = isinstance(node.op, ast.Sub) and any(ast.dump(part.left) == ast.dump(node.left) for part in parts)
    return is_rest or isinstance(node.op, ast.Mod)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a device, less tests and what counts anew on each machine, which numbers the machine's own."""
    if not _starts_anew(node) and not isinstance(node, ast.Compare):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _parts(child)


def _reads_number(node: ast.AST) -> bool:
    """Whether an expression is, or is made of, such a number."""
    parts = list(_parts(node))
    texts = {part.value for part in parts if isinstance(part, ast.Constant)}
    names = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return bool(names & {"process_index", "get_rank"}) or ("RANK" in texts and bool(names & {"environ", "getenv"}))


def _is_of_pipeline(module: Module, word: ast.keyword) -> bool:
    """Whether a device is that of a pipeline, whose model is moved there: `pipeline(task, model=model, device=0)`."""
    return called_name(module, module.parent_of[word]) in PIPELINES


def _is_numbered(module: Module, given: ast.expr) -> bool:
    """Whether a map sends all of a model to the GPU with a number: `{"": 0}`, `"cuda:0"`, `0`."""
    whole = (module.entries(given) or {}).get("")
    value = module.constant(whole if whole is not None else given)
    is_number = type(value) is int and value >= 0  # -1 is the CPU of a pipeline
    return is_number or (isinstance(value, str) and NUMBERED.fullmatch(value) is not None)


def trained_by(module: Module, training: Training) -> set[ast.AST] | None:
    """What the models of the Trainers are made of; None where that is not seen."""
    models: list[ast.expr] = []
    for call in training.makes:
        model = argument(call, 0, "model")
        if model is None or has_unpacking(call):
            return None
        models.append(model)
        models += [word.value for word in call.keywords if OTHER_MODELS.search(word.arg or "")]
    return makers_of(module, models) if models else None
