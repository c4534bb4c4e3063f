"""RM806: device_map="auto" in code of the workers, or one that names a GPU by its number.

The first message is of accelerate, which refuses to prepare a model on more than one device (accelerator.py,
prepare_model). A model that nobody trains is not prepared; Ray lets each worker see the GPUs of all workers on its
machine (ray/train/torch/config.py, share_cuda_visible_devices), so that it is spread over these. A number
is that of the same GPU for all of them; "cuda" is the worker's own, which Ray sets.
"""

from __future__ import annotations

import ast
import re

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.codemods.to_ray.workers import SPREADING
from raymigrate.facts.hf_models import PIPELINES
from raymigrate.facts.module import Module
from raymigrate.facts.pickling import sent_with
from raymigrate.facts.values import argument, has_unpacking

LOADS = ("from_pretrained", "from_config")
OTHER_MODELS = re.compile(r"(?:ref|reward|teacher|value|judge)_?(?:model|funcs)?")  # that a Trainer of trl prepares
REFUSED = 'device_map="{}" spreads one model over all GPUs; transformers refuses that on several workers.'
SPREAD = 'device_map="{}" spreads a model of each worker over the GPUs of all workers on its machine.'
SAME_GPU = (
    "device_map={} loads the model of every worker on the same GPU of a machine: its memory has to hold all of them."
)
NUMBERED = re.compile(r"(?:cuda:)?\d+")
ADVICE = 'Write device_map={"": ray.train.torch.get_device()}: each worker has its model on its own GPU.'


def tell_device_maps(context: Context, rule: Rule, outline: LaunchedOutline, training: Training) -> None:
    """Tells what becomes of models on the workers that are to be spread over GPUs.

    Args:
        context: The module.
        rule: The rule that tells of such settings.
        outline: What becomes of the script.
        training: What trains in it.
    """
    module = context.module
    given = [word for word in module.of_type(ast.keyword) if word.arg == "device_map"]
    several = outline.may_be_several
    given = [word for word in given if _spread(module, word) or (several and _is_numbered(module, word.value))]
    if not given or not outline.use_gpu:
        return
    sent = sent_with(module, outline.roles.moved())
    trained = _trained(module, training)
    for word in given:
        step = outline.script.step_of(word)
        moves = step is not None and outline.roles.of[step].moves
        if moves or any(module.inside(word, function) for function in sent):
            call = module.parent_of[word]
            is_idle = trained is not None and _loads(module, call) and call not in trained
            message = (SPREAD if is_idle else REFUSED).format(_spread(module, word))
            if not _spread(module, word):
                message = SAME_GPU.format(module.source(word.value))
            context.manual(rule, word, message, ADVICE)


def _spread(module: Module, word: ast.keyword) -> str:
    """The word that lets accelerate spread a model; empty for any other map."""
    given = module.constant(word.value)
    return given if isinstance(given, str) and given in SPREADING else ""


def _is_numbered(module: Module, given: ast.expr) -> bool:
    """Whether a map sends all of a model to the GPU with a number: `{"": 0}`, `"cuda:0"`, `0`."""
    whole = (module.entries(given) or {}).get("")
    value = module.constant(whole if whole is not None else given)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and NUMBERED.fullmatch(value) is not None)


def _loads(module: Module, call: ast.AST) -> bool:
    """Whether a call loads a model, or a pipeline with one."""
    if not isinstance(call, ast.Call):
        return False
    return module.qualified(call.func) in PIPELINES or (
        isinstance(call.func, ast.Attribute) and call.func.attr in LOADS
    )


def _trained(module: Module, training: Training) -> set[ast.AST] | None:
    """What the models of the Trainers are made of; None where that is not seen."""
    found = set[ast.AST]()
    waiting: list[ast.expr] = []
    for call in training.makes:
        model = argument(call, 0, "model")
        if model is None or has_unpacking(call):
            return None
        waiting.append(model)
        waiting += [word.value for word in call.keywords if OTHER_MODELS.search(word.arg or "")]
    while waiting:
        for source in module.origins(waiting.pop()):
            node = source.node
            if isinstance(node, (ast.List, ast.Tuple)):
                waiting += node.elts
                continue
            if not isinstance(node, ast.Call) or source.module is not module:
                return None
            if node not in found:
                found.add(node)
                if not _loads(module, node):  # what wraps a model: get_peft_model(model, config)
                    waiting += node.args[:1]
                    waiting += [word.value for word in node.keywords if word.arg == "model"]
                elif (module.qualified(node.func) or "").startswith("peft."):
                    waiting += node.args[:1]
    return found if training.makes else None
