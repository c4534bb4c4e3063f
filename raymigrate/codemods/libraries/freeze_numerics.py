"""RM751: defaults of transformers that changed since 4.30, and with them the last digits of every result.

Edits are made with `--freeze-numerics` only: the new defaults are good ones, but only the old reproduce an old run.
Without it there is a note where a checkpoint may hold half precision: it is then trained in that, and torch's
GradScaler, which fp16=True brings in, refuses such gradients ("Attempting to unscale FP16 gradients").
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.quantized_loading import is_quantized
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.facts.hugging_face.added_rows import may_add_rows
from raymigrate.facts.hugging_face.asked_models import is_only_asked
from raymigrate.facts.hugging_face.models import OF_PEFT
from raymigrate.facts.ray_train.checkpoint_folders import checkpoint_of_folder
from raymigrate.facts.ray_train.results import Layout, is_checkpoint, layout
from raymigrate.facts.ray_train.runs_without_checkpoint import BY_SAVES
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    is_method_call,
    is_none,
    keyword_named,
    named_arguments,
    seen_entries,
    unpacked_dicts,
)
from raymigrate.facts.values.nothing import may_give_none
from raymigrate.knowledge.legacy import ACCELERATORS, TRAINING_ARGUMENTS

RM751 = Rule(
    "RM751",
    "a default that changed, and with it the numbers (--freeze-numerics)",
    "Losses and weights differ from those of transformers 4.30: in their last digits, or by the dtype of the weights.",
    "--freeze-numerics writes the old default out.",
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
)

# A class of transformers that holds a model: AutoModelForCausalLM, BertForSequenceClassification, GPT2LMHeadModel.
# Those of peft load one.
MODEL = lazy_regex(
    r"(?:transformers(\.\w+)*\.(?!\w*(Config|Tokenizer|TokenizerFast|Processor|Extractor)\.)\w*(Model|For[A-Z])\w*"
    rf"|{OF_PEFT})\.(from_pretrained|from_config|_from_config)"
)
# Checkpoints whose weights on the Hub are in float32.
FLOAT32 = lazy_regex(
    r"(?:[\w-]+/)?(?:(?:distil)?bert-(?:base|large)-[\w-]+|(?:distil)?gpt2(?:-(?:medium|large|xl))?"
    r"|(?:distil|xlm-)?roberta-(?:base|large)|(?:flan-)?t5-(?:small|base|large))"
)
MEAN_RESIZING = 3  # the position of that argument
LOADED = "Weights are loaded in the dtype of the checkpoint since transformers 5, before in float32"
WHERE_NONE = (
    "Where its dtype is None, weights are loaded in that of the checkpoint since transformers 5, before in float32"
)
# transformers 4.30.2, modeling_utils.py:2262-2270. 5.23 leaves the dtype alone: HfQuantizer.update_dtype of base.py.
LOADED_QUANTIZED = (
    "Weights that stay unquantized are loaded in the dtype of the checkpoint since transformers 5, before in float16"
)
# transformers 4.30.2, modeling_utils.py:1127, set a dtype where it was given one; 5.23, modeling_utils.py:1402, takes
# that of the configuration.
FROM_CONFIG = ("from_config", "_from_config")
MADE = "Weights are made in the dtype that the configuration holds since transformers 5, before in float32"
IN_HALF = 'if it holds half precision, dtype="float32" here keeps that'
SCALED = 'fp16 needs dtype="float32" here if it holds float16'
OF_UNKNOWN_AGE = 'if that is half precision, and the script ran with transformers 4, dtype="float32" here keeps float32'
FUSED = (
    "The default optimizer is torch's fused AdamW since transformers 5, and was torch's plain one from 4.32 on; up to"
    ' 4.31 it was that of optim="adamw_hf".'
)
# transformers 4.30.2, modeling_utils.py:1468, and 5.23, modeling_utils.py:2637. Run with a Llama whose embeddings have
# a mean of 0.3: the added rows had a mean of 0.001 and a standard deviation of 0.018, now of 0.3 and 0.0006.
ADDED = (
    "Rows that resize_token_embeddings() adds begin near the mean of the others since transformers 4.46, before around"
    " zero as new weights do"
)
LOSS_MEAN = "{trainer}.model_accepts_loss_kwargs = False  # the mean over each batch, as before transformers 4.46"


@codemod(
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "from_pretrained",
    "from_config",
    "resize_token_embeddings",
    phase=Phase.LIBRARIES,
    after=[keyword_arguments],
)
def freeze_numerics(context: Context) -> None:
    """Writes the old defaults out where models and arguments are made."""
    if not context.options.freeze_numerics:
        if is_for_old_transformers(context):
            _note_half_precision(context)
            _note_added_rows(context)
        elif context.joins_ray:
            _note_unknown_age(context)
        return
    for call in context.module.calls(*TRAINING_ARGUMENTS):
        _set(context, call, "optim", '"adamw_torch"', FUSED)
    for node in context.module.calls_if(MODEL.fullmatch):
        loads_weights = is_method_call(node, "from_pretrained")
        freeze_model(context, node, loads_weights=loads_weights)
        says_nothing = not loads_weights and not _has_dtype(context.module, node)
        if says_nothing and _is_of_loaded_config(context.module, node):
            _set_dtype(context, node, "torch.float32", f"{MADE}.")
    for call in _resizings(context.module):
        _set(context, call, "mean_resizing", "False", f"{ADDED}.")


def _resizings(module: Module) -> list[ast.Call]:
    """The calls that may add rows to embeddings, and do not say how these begin."""
    return [call for call, _ in module.method_calls("resize_token_embeddings") if len(call.args) < MEAN_RESIZING]


def _note_added_rows(context: Context) -> None:
    for call in _resizings(context.module):
        says_nothing = {keyword.arg for keyword in call.keywords}.isdisjoint({"mean_resizing", None})
        if says_nothing and may_add_rows(context.module, call):
            context.note(RM751, call, f"{ADDED}: mean_resizing=False here keeps that.")


def _note_half_precision(context: Context) -> None:
    """Notes models whose weights may come in half precision today."""
    module = context.module
    scales = _scales_gradients(module)
    for call, loads_weights in _models(module):
        what = SCALED if scales and not is_only_asked(module, call) else IN_HALF
        if not loads_weights:
            context.note(RM751, call, f"{MADE}: {what}.")
            continue
        quantized = is_quantized(module, call)
        if quantized:
            context.note(RM751, call, f"{LOADED_QUANTIZED}: dtype=torch.float16 here keeps that.")
        elif quantized is None:
            context.note(RM751, call, f"{LOADED}, or in float16 where they are quantized: dtype= here keeps that.")
        elif not _is_in_float32(module, call) and not _was_trained_here(module, call):
            loaded = WHERE_NONE if _is_given(module, call, "dtype", "torch_dtype") else LOADED
            context.note(RM751, call, f"{loaded}: {what}.")


def _note_unknown_age(context: Context) -> None:
    """Notes, once in a plain script that goes to Ray, what its models come in if it ran with transformers 4 so far."""
    for call, loads_weights in _models(context.module):
        if not loads_weights or not _is_in_float32(context.module, call):
            context.note(RM751, call, f"{LOADED if loads_weights else MADE}: {OF_UNKNOWN_AGE}.")
            return


def _models(module: Module) -> Iterator[tuple[ast.Call, bool]]:
    """The calls that make a model without saying its dtype, each with whether it loads weights.

    One that makes them by a configuration counts where that was loaded: what a script writes out itself holds no dtype.
    """
    for call, method in module.method_calls("from_pretrained", *FROM_CONFIG):
        if MODEL.fullmatch(module.qualified(method) or "") and not _has_dtype(module, call):
            loads_weights = method.attr not in FROM_CONFIG
            if loads_weights or _is_of_loaded_config(module, call):
                yield call, loads_weights


def _is_of_loaded_config(module: Module, call: ast.Call) -> bool:
    """Whether a model is made by a configuration that was loaded, and that may hold a dtype."""
    config = argument(call, 0, "config")
    loads = module.origins(config)
    return any(
        isinstance(load.node, ast.Call)
        and called_name(load.module, load.node).endswith("Config.from_pretrained")
        and not _has_dtype(load.module, load.node)
        and not _is_in_float32(load.module, load.node)
        for load in loads
    )


def note_loaded_again(context: Context, call: ast.Call, *, trained_here: bool) -> None:
    """Notes a model that is loaded from a checkpoint, unless it was trained from weights in float32.

    Args:
        context: The module.
        call: What loads it.
        trained_here: Whether the checkpoint is one of a run of this module.
    """
    module = context.module
    if not _has_dtype(module, call) and not (trained_here and _trains_in_float32(module)):
        context.note(RM751, call, f"{LOADED}: {IN_HALF}.")


def _was_trained_here(module: Module, call: ast.Call) -> bool:
    """Whether a model is loaded from a checkpoint that a Trainer of this module trained in float32."""
    path = argument(call, 0, "pretrained_model_name_or_path")
    checkpoint = checkpoint_of_folder(module, path) if path is not None else None
    if checkpoint is None or not _trains_in_float32(module):
        return False
    is_of_trainer = is_checkpoint(module, checkpoint) and any(module.references_within(BY_SAVES))
    return is_of_trainer or layout(module, checkpoint) is Layout.NESTED


def _trains_in_float32(module: Module) -> bool:
    """Whether all models that are loaded to be trained here come in float32: those that no run has saved."""
    calls = [c for c, m in module.method_calls("from_pretrained") if MODEL.fullmatch(module.qualified(m) or "")]
    paths = [(call, argument(call, 0, "pretrained_model_name_or_path")) for call in calls]
    loads = [call for call, path in paths if path is None or checkpoint_of_folder(module, path) is None]
    return bool(loads) and all(_is_in_float32(module, load) and not _has_dtype(module, load) for load in loads)


def _scales_gradients(module: Module) -> bool:
    """Whether something may ask for torch's GradScaler; DeepSpeed has none, it keeps the weights in float32 too."""
    given = [
        keyword.value
        for call in module.calls(*TRAINING_ARGUMENTS, *ACCELERATORS)
        for keyword in call.keywords
        if keyword.arg in ("fp16", "mixed_precision") and not _is_given(module, call, "deepspeed")
    ]
    return any(module.constant(value) not in (False, None, "no", "bf16", "fp8") for value in given)


def _is_given(module: Module, call: ast.Call, *arguments: str) -> bool:
    """Whether a call gives one of some arguments another value than None."""
    return any(keyword.arg in arguments and module.constant(keyword.value) is not None for keyword in call.keywords)


def _has_dtype(module: Module, call: ast.Call) -> bool:
    """Whether the dtype of a model is given, for all that can be seen; None is that of the checkpoint."""
    given = [keyword.value for keyword in call.keywords if keyword.arg in ("dtype", "torch_dtype")]
    if given:
        return not any(_may_be_none(found) for value in given for found in module.origins(value))
    return bool(unpacked_dicts(call))


def _may_be_none(source: Source) -> bool:
    """Whether a value is None, or may be one that a dict or an object has: `{"no": None}[name]`, `c.get("dtype")`."""
    if isinstance(source.node, ast.Subscript):
        return any(is_none(value) for value in seen_entries(source.module, source.node.value).values())
    return is_none(source.node) or may_give_none(source.node)


def _is_in_float32(module: Module, call: ast.Call) -> bool:
    """Whether a checkpoint is known to be in float32."""
    name = module.constant(call.args[0]) if call.args else ...
    return isinstance(name, str) and FLOAT32.fullmatch(name) is not None


def freeze_model(context: Context, call: ast.Call, *, loads_weights: bool) -> None:
    """Writes the old defaults out where a model is made.

    Args:
        context: The module.
        call: What makes it.
        loads_weights: Whether its weights come from a checkpoint.
    """
    message = "The default attention is sdpa since transformers 4.36."
    _set(context, call, "attn_implementation", '"eager"', message)
    given = {keyword.arg for keyword in call.keywords if not is_none(keyword.value)}
    if loads_weights and "torch_dtype" not in given:
        quantized = is_quantized(context.module, call)
        message = f"{LOADED_QUANTIZED if quantized else LOADED}."
        if quantized is None and "dtype" not in given:
            context.manual(RM751, call, message, "Give it dtype=torch.float32, or torch.float16 where it is quantized.")
        else:
            _set_dtype(context, call, "torch.float16" if quantized else "torch.float32", message)


def _set_dtype(context: Context, call: ast.Call, dtype: str, message: str) -> None:
    old_name = keyword_named(call, "torch_dtype") is not None
    if _set(context, call, "torch_dtype" if old_name else "dtype", dtype, message):
        reference = context.module.reference_at.get(call.func)
        near = context.nested(reference.binding.statement) if reference is not None else None
        context.plan.need_import("torch", near=near)


def _set(context: Context, call: ast.Call, argument: str, value: str, message: str) -> bool:
    given = named_arguments(call)
    if argument in given and not is_none(given[argument]):
        return False
    if unpacked_dicts(call):
        context.manual(RM751, call, message, f"Its arguments cannot be seen; give it {argument}={value}.")
        return False
    if not context.converts(RM751, call, message):
        return False
    context.plan.call(call).set(argument, value)
    return True


def keep_loss_mean(context: Context, call: TrainerCall, function: TrainFunction) -> None:
    """Lets the Trainer take the mean that the model computes.

    Since 4.46 it divides the sum by a count of its own, which takes in the first label of GPT2LMHeadModel and of all
    models whose class is not named `...ForCausalLM` (trainer.py, `_loss_shifts_labels`): 64 for 63.
    """
    if context.options.freeze_numerics and context.current_transformers:
        if function.keeps_loss_mean:
            return  # already, for the accumulated steps
        message = "The Trainer divides the loss by a count of its own since transformers 4.46."
        if context.converts(RM751, call.node, message):
            function.before_training.append(LOSS_MEAN)
