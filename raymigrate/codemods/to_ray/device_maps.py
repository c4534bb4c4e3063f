"""RM806: device_map="auto" in code of the workers.

The first message is of accelerate, which refuses to prepare a model on more than one device (accelerator.py,
prepare_model). A model that nobody trains is not prepared; Ray lets each worker see the GPUs of all workers on its
machine (ray/train/torch/config.py, share_cuda_visible_devices), so that it is spread over these.
"""

from __future__ import annotations

import ast
import re

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.hf_models import PIPELINES
from raymigrate.facts.module import Module
from raymigrate.facts.pickling import sent_with
from raymigrate.facts.values import argument, has_unpacking

LOADS = ("from_pretrained", "from_config")
OTHER_MODELS = re.compile(r"(?:ref|reward|teacher|value|judge)_?(?:model|funcs)?")  # that a Trainer of trl prepares
REFUSED = 'device_map="auto" spreads one model over all GPUs; transformers refuses that on several workers.'
SPREAD = 'device_map="auto" spreads a model of each worker over the GPUs of all workers on its machine.'
ADVICE = 'Write device_map={"": ray.train.torch.get_device()}: each worker has its model on its own GPU.'


def tell_device_maps(context: Context, rule: Rule, outline: Outline, training: Training) -> None:
    """Tells what becomes of models on the workers that are to be spread over GPUs.

    Args:
        context: The module.
        rule: The rule that tells of such settings.
        outline: What becomes of the script.
        training: What trains in it.
    """
    module = context.module
    given = [word for word in module.of_type(ast.keyword) if word.arg == "device_map"]
    given = [word for word in given if module.constant(word.value) == "auto"]
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
            context.manual(rule, word, SPREAD if is_idle else REFUSED, ADVICE)


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
