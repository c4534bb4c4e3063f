"""RM763: what the trainers and configurations of trl refuse today, although they have an argument for it.

trl 1.16 (trainer/sft_trainer.py:673, 816; the others have the same) and its GRPOConfig (trainer/grpo_config.py:1131).
SFTTrainer and RewardTrainer (0.8.6, 0.16.1) passed peft_config= over beside a PeftModel; DPOTrainer and others merged
the adapter into the model, and made another.
"""

import ast
from collections.abc import Mapping

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRL_CHANGES
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.ray_train.removed_trackers import INIT
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    class_named,
    every_origin,
    is_call_by_name,
    is_method_call,
    is_none,
    keyword_argument,
    keyword_named,
    named_arguments,
    unpacked_dicts,
    written,
)
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS, TRANSFORMERS_TRAINERS
from raymigrate.knowledge.libraries import constructor, look_up, takes

RM763 = Rule(
    "RM763",
    "what the trainers of trl refuse",
    "trl >= 1 raises a ValueError for a PeftModel with peft_config= beside it, an AttributeError for"
    " TrainingArguments in the place of its configurations but for SFTTrainer, a TypeError for a train_dataset that is"
    " not a Dataset of datasets, such as a list, and a ValueError where the completions of a step do not make whole"
    " groups of num_generations. A formatting_func gets one row and gives its text, no longer a"
    " batch and a list of texts.",
    "Give the model without an adapter or leave out peft_config=; make the rows a Dataset with Dataset.from_list();"
    " choose the batch size as a multiple of num_generations.",
    "https://huggingface.co/docs/trl/index",
    unproven="trl is not among the libraries that the tests run with.",
)
PEFT_MODEL = lazy_regex(r"peft(?:\.\w+)*\.(?:get_peft_model|(?:Auto)?PeftModel\w*\.from_pretrained)")
PEFT_CONFIG = "peft_config"
# trl 1.16: SFTTrainer alone makes its configuration of TrainingArguments (trainer/sft_trainer.py:654); the others read
# args.model_init_kwargs or args.trust_remote_code first of all (trainer/dpo_trainer.py:577).
MAKES_ITS_OWN = "SFTTrainer"
# trl 1.16, trainer/base_config.py and the configurations; with those of TrainingArguments of transformers 5.23.
OTHER_DEFAULTS = (
    " Where TrainingArguments left them open, write out bf16=False, gradient_checkpointing=False, learning_rate=5e-5"
    " and logging_steps=500: its defaults are others."
)
TRAINER = lazy_regex(r"trl(?:\.\w+)*\.\w+Trainer")
PASSED_OVER = ("SFTTrainer", "RewardTrainer")
LISTS = ("to_list", "tolist")
FORMATS = "formatting_func"
ROW_BY_ROW = (
    "SFTTrainer calls this formatting_func with one row today, no longer with a batch, and needs its text: a list"
    " raises an AttributeError, if a loop over one row's values has not failed before that."
)
OF_ONE_ROW = "Return the text of one row, whose values are no lists."
# datasets 5.2 (run): from_list() gives each part of a message the keys of the others too, with None, by which the chat
# templates of some models take text for an image; images within messages come back as {"path": ..., "bytes": ...}.
OF_ROWS = "Make one of its rows: datasets.Dataset.from_list(rows)."
OF_IMAGES = (
    "Keep the rows as a Dataset, with remove_unused_columns=False, and make the messages as they are read:"
    " dataset.with_transform(...). Dataset.from_list() of messages with images gives each part the keys of the others,"
    " and the images as bytes."
)
IMAGES = ("image", "images", "image_url")
TORCH_DATASETS = ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset")
# The arguments by which a GRPOConfig knows how many completions a step has on one worker, with their defaults.
BATCH: Mapping[str, object] = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1}
OTHER_BATCH = ("generation_batch_size", "steps_per_generation")
GROUP = "num_generations"
GROUPS = {"GRPOConfig": 8, "RLOOConfig": 2}  # how many completions a group has if nothing is said


@codemod("trl", phase=Phase.LIBRARIES)
def trl_trainers(context: Context) -> None:
    """Takes away a peft_config= that was ignored, and reports what else is refused."""
    module = context.module
    for call in module.calls_if(lambda name: name.startswith("trl.")):
        name = called_name(module, call)
        if TRAINER.fullmatch(name) and not is_guarded(module, call, name.rpartition(".")[2]):
            _adapters(context, call, name)
            _rows(context, call, name)
            _texts(context, call)
            _plain_arguments(context, call, name)
        elif name.rpartition(".")[2] in GROUPS:
            _groups(context, call, name.rpartition(".")[2])


def _adapters(context: Context, call: ast.Call, name: str) -> None:
    module = context.module
    given, model = keyword_named(call, PEFT_CONFIG), argument(call, 0, "model")
    if given is None or model is None or module.constant(given.value) is None:
        return
    adapted = [_is_adapted(source) for source in module.origins(model)]
    kind = name.rpartition(".")[2]
    message = f"{kind} raises a ValueError for a PeftModel with {PEFT_CONFIG}= beside it"
    sure = all(adapted) and not any(is_none(source.node) for source in module.origins(given.value))
    if sure and kind in PASSED_OVER:
        if context.converts(RM763, given, f"{message}; deleted, as it was ignored."):
            context.plan.call(call).remove.add(PEFT_CONFIG)
    elif any(adapted):
        advice = f"Give it the model without the adapter, or leave {PEFT_CONFIG}= out where it is a PeftModel."
        context.manual(RM763, given.value, f"{message}.", advice)


def _plain_arguments(context: Context, call: ast.Call, name: str) -> None:
    """Tells of TrainingArguments in the place of a configuration of trl; SFTTrainer makes an SFTConfig of them."""
    kind, configuration = name.rpartition(".")[2], _configuration(name)
    if configuration is not None and kind != MAKES_ITS_OWN and _has_plain_arguments(context.module, call, name):
        message = f"{kind} raises an AttributeError for TrainingArguments: it reads what only a {configuration} has."
        advice = f"Make it a {configuration}, which takes the same arguments.{OTHER_DEFAULTS}"
        context.manual(RM763, call, message, advice)


def _configuration(name: str) -> str | None:
    """The name of the configuration that a trainer of trl is given as args=; None where trl has none for it."""
    configuration = name.rpartition(".")[2].removesuffix("Trainer") + "Config"
    return configuration if constructor(look_up(f"trl.{configuration}").place) else None


def _has_plain_arguments(module: Module, call: ast.Call, name: str) -> bool:
    """Whether a trainer of trl is given TrainingArguments of transformers, whatever happens."""
    parameters = constructor(look_up(name).place) or ()
    given = argument(call, parameters.index("args"), "args") if "args" in parameters else None
    made = module.origins(given)
    calls = [source.module.qualified(source.node.func) for source in made if isinstance(source.node, ast.Call)]
    return bool(made) and len(calls) == len(made) and all(name in TRAINING_ARGUMENTS for name in calls)


def of_configuration(module: Module, call: ast.Call, name: str, given: str) -> str | None:
    """Which configuration takes what a class of trl once took: `SFTConfig(max_length=)`, for `args=` of SFTTrainer.

    Args:
        module: The module.
        call: The call.
        name: What it calls.
        given: The argument.
    """
    configuration = _configuration(name) if name.startswith("trl.") and not name.endswith("Config") else None
    change = TRL_CHANGES.get(given)
    new = change.name if change is not None and change.name else given
    if configuration is None or not takes(constructor(look_up(f"trl.{configuration}").place) or (), new):
        return None
    advice = f"{configuration}({new}=) takes it today, as what args= is given: args={configuration}(...)."
    return advice + OTHER_DEFAULTS if _has_plain_arguments(module, call, name) else advice


def _is_adapted(source: Source) -> bool:
    """Whether a value is a model of peft."""
    node = source.node
    return isinstance(node, ast.Call) and PEFT_MODEL.fullmatch(called_name(source.module, node)) is not None


def _rows(context: Context, call: ast.Call, name: str) -> None:
    given = keyword_argument(call, "train_dataset")
    if given is None:
        return
    found = context.module.origins(given)
    if any(_is_no_dataset(source.module, source.node) or _is_shard(source.module, source.node) for source in found):
        kind = name.rpartition(".")[2]
        message = f"{kind} raises a TypeError for a train_dataset that is not a Dataset of datasets."
        with_images = any(_names_images(source.module, source.node) for source in found)
        context.manual(RM763, given, message, OF_IMAGES if with_images else OF_ROWS)


def _texts(context: Context, call: ast.Call) -> None:
    """Tells of a function for a batch (trl 0.8 to 0.16; 1.10 trainer/sft_trainer.py:1411 calls it row by row)."""
    given = keyword_argument(call, FORMATS)
    for callee in callees(context.module, given) if given is not None else ():
        ends = returned_values(callee.module, callee.function) if callee.function is not None else []
        if given is not None and ends and all(_is_list(callee.module, end) for end in ends):
            context.manual(RM763, given, ROW_BY_ROW, OF_ONE_ROW)
            return


def _is_list(module: Module, node: ast.expr | None) -> bool:
    """Whether a value is a list, wherever it comes from, and whatever is put into it."""
    return every_origin(module, node, lambda home, made: isinstance(home.value(made), (ast.List, ast.ListComp)))


def _names_images(module: Module, node: ast.expr) -> bool:
    """Whether rows have images in them, as far as the code shows it that makes them here: `{"type": "image", ...}`."""
    parts = list(ast.walk(node)) if node in module.parent_of else []
    called = (module.definition(part.func) for part in parts if isinstance(part, ast.Call))
    makers = [function for function in called if isinstance(function, ast.FunctionDef)]
    return any(_is_of_image(part) for whole in (node, *makers) for part in ast.walk(whole))


def _is_of_image(node: ast.AST) -> bool:
    """Whether code gives a row or a part of a message an image: by the key that holds it, or as the type of a part."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = list(zip(keys, values, strict=True))
        case ast.Call(func=ast.Name(id="dict")):
            pairs = [(ast.Constant(keyword.arg), keyword.value) for keyword in node.keywords]
        case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
            pairs = [(key, value)]
        case _:
            return False
    held = ((written(key), written(value)) for key, value in pairs)
    return any(key in IMAGES or (key == "type" and value in IMAGES) for key, value in held)


def _is_no_dataset(module: Module, node: ast.expr) -> bool:
    """Whether a value is a list, or an object of a class that the project makes of torch's datasets."""
    if isinstance(node, (ast.List, ast.ListComp, ast.Tuple)):
        return True
    if not isinstance(node, ast.Call):
        return False
    if is_method_call(node, *LISTS):
        return True
    if own := class_named(module, node.func):
        home, made = own
        return any((home.qualified(base) or "") in TORCH_DATASETS for base in made.bases)
    return is_call_by_name(node, "list") and module.definition(node.func) is None


def _is_shard(module: Module, node: ast.expr) -> bool:
    """Whether a value is the rows that a legacy trainer hands its init function: a dataset of torch, then and now."""
    home = module.definition(node)
    if not isinstance(home, ast.arg):
        return False
    trainers = (call for call in module.calls(*TRANSFORMERS_TRAINERS) if keyword_argument(call, "datasets") is not None)
    inits = (function for call in trainers for function in functions_behind(module, argument(call, 0, INIT)))
    return any(function is module.function(home) for function in inits)


def _groups(context: Context, call: ast.Call, kind: str) -> None:
    """Notes a batch that one worker cannot fill with whole groups; some numbers of workers can."""
    given = named_arguments(call)
    if unpacked_dicts(call) or len(call.args) > 1 or not given.keys().isdisjoint(OTHER_BATCH):
        return
    values = {**BATCH, GROUP: GROUPS[kind]}
    values |= {name: context.module.constant(given[name]) for name in values if name in given}
    numbers = [value for value in values.values() if isinstance(value, int) and value > 0]
    if len(numbers) < len(values):
        return
    batch, steps, group = numbers
    if batch * steps % group:
        unless = f"{batch * steps} times the number of workers is a multiple of {GROUP}, {group}"
        context.note(RM763, call, f"{kind} raises a ValueError unless {unless}.")
