"""RM71x: names of transformers, datasets and their companions that moved.

docs/semantics/libraries.md#names-of-transformers, measured on transformers 5.23 and datasets 5.2.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import Move, move_names
from raymigrate.facts.guards import is_ready
from raymigrate.facts.metrics import LOAD_METRIC
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.successors import ONE_MEANING, successor

RM711 = Rule(
    "RM711",
    "a name that moved",
    "The import fails on transformers >= 5 or datasets >= 4.",
    "The name is imported from where it is now.",
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    errors=(
        *gone_names("transformers", "AutoModelForVision2Seq", "is_torch_tpu_available"),
        *gone_names("transformers.trainer_utils", "EvaluationStrategy"),
        "No module named 'transformers.deepspeed'",
        *gone_names("datasets", "GenerateMode"),
    ),
)
RM712 = Rule(
    "RM712",
    "transformers.AdamW",
    "transformers >= 5 has no AdamW; torch.optim.AdamW has other defaults for eps and weight_decay.",
    "torch.optim.AdamW with the old defaults written out. It has nothing like correct_bias=False: drop it"
    " deliberately, or bring your own optimizer.",
    "https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html",
    errors=(*gone_names("transformers", "AdamW"), *gone_names("transformers.optimization", "AdamW")),
)
RM713 = Rule(
    "RM713",
    "datasets.load_metric",
    "datasets >= 3 has no metrics: the import fails.",
    "evaluate.load, from the package evaluate, takes the same arguments by keyword.",
    "https://huggingface.co/docs/evaluate/transformers_integrations",
    errors=(*gone_names("datasets", "load_metric"), *gone_names("datasets.load", "load_metric")),
)

MOVED = {
    "transformers.AutoModelForVision2Seq": Move("transformers", "AutoModelForImageTextToText"),
    "transformers.trainer_utils.EvaluationStrategy": Move("transformers.trainer_utils", "IntervalStrategy"),
    **{
        f"transformers.deepspeed.{name}": Move("transformers.integrations", name)
        for name in (
            "HfDeepSpeedConfig",
            "HfTrainerDeepSpeedConfig",
            "deepspeed_config",
            "deepspeed_init",
            "deepspeed_load_checkpoint",
            "deepspeed_optim_sched",
            "is_deepspeed_available",
            "is_deepspeed_zero3_enabled",
            "set_hf_deepspeed_config",
            "unset_hf_deepspeed_config",
        )
    },
    "transformers.is_torch_tpu_available": Move("transformers", "is_torch_xla_available"),
    "datasets.GenerateMode": Move("datasets", "DownloadMode"),
}
ADAMW = ("transformers.AdamW", "transformers.optimization.AdamW")
ADAMW_PARAMETERS = ("params", "lr", "betas", "eps", "weight_decay", "correct_bias", "no_deprecation_warning")
ADAMW_DEFAULTS = {"eps": "1e-6", "weight_decay": "0.0"}
ADAMW_GONE = {"correct_bias", "no_deprecation_warning"}
METRIC_PARAMETERS = (
    *("path", "config_name", "process_id", "num_process", "cache_dir", "experiment_id", "keep_in_memory"),
    *("download_config", "download_mode", "revision"),
)
SAME_POSITIONS = 2  # the third parameter of evaluate.load is module_type


@codemod(*(name.rpartition(".")[2] for name in MOVED))
def moved(context: Context) -> None:
    """Names with a plain successor."""
    move_names(context, RM711, MOVED)


@codemod("ray", phase=Phase.REST)
def found_elsewhere(context: Context) -> None:
    """Names that no other rule deals with, and that are gone from one place and found in another."""
    moves = {}
    for reference in context.references(*ONE_MEANING):
        found = successor(reference.qualified)
        if found is not None and not is_ready(context.module, reference, found[0].rpartition(".")[2]):
            module, _, name = found[1].rpartition(".")
            moves[found[0]] = Move(module, name)
    move_names(context, RM711, moves)


@codemod("load_metric")
def load_metric(context: Context) -> None:
    """`load_metric("glue", "mrpc")` becomes `evaluate.load("glue", "mrpc")`."""
    for reference in list(context.references(*LOAD_METRIC)):
        if not context.can_import("evaluate", reference):
            context.manual(RM713, reference.node, "datasets has no load_metric today, and `evaluate` is taken here.")
            context.handle(reference, gone=False)
            continue
        if context.converts(RM713, reference.node, "datasets has no load_metric today; now evaluate.load."):
            context.plan.need_import("evaluate", near=reference.binding.statement)
            context.replace_reference(reference, "evaluate.load")
            call = context.module.parent_of[reference.node]
            if isinstance(call, ast.Call) and call.func is reference.node:
                context.plan.call(call).names = names_for_evaluate(call)


def names_for_evaluate(call: ast.Call) -> list[str]:
    """The names of the arguments by position of load_metric(), where evaluate.load() has them at other positions."""
    return list(METRIC_PARAMETERS[: len(call.args)]) if len(call.args) > SAME_POSITIONS else []


@codemod("AdamW")
def adamw(context: Context) -> None:
    """`AdamW(parameters, lr=...)` of transformers becomes torch's, with the same numbers."""
    for reference in list(context.references(*ADAMW)):
        call = context.module.parent_of[reference.node]
        if (
            not isinstance(call, ast.Call)
            or call.func is not reference.node
            or any(k.arg is None for k in call.keywords)
        ):
            context.manual(RM712, reference.node, "transformers has no AdamW today.")
            context.handle(reference, gone=False)
        elif _corrects_no_bias(context, call):
            context.manual(
                RM712,
                reference.node,
                "transformers has no AdamW today, and torch.optim.AdamW always corrects the bias.",
            )
            context.handle(reference, gone=False)
        elif context.converts(RM712, reference.node, "transformers has no AdamW today; now torch.optim.AdamW."):
            context.plan.need_import("torch", near=context.nested(reference.binding.statement))
            edit = context.plan.call(call)
            edit.function = "torch.optim.AdamW"
            edit.remove |= ADAMW_GONE
            given = {keyword.arg for keyword in call.keywords} | set(ADAMW_PARAMETERS[: len(call.args)])
            for name, default in ADAMW_DEFAULTS.items():
                if name not in given:
                    edit.set(name, default)
            context.handle(reference, gone=True)


def _corrects_no_bias(context: Context, call: ast.Call) -> bool:
    """Whether a call says, or may say, `correct_bias=False`, which torch's AdamW has no place for."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or len(call.args) > 5:
        return True
    values = [keyword.value for keyword in call.keywords if keyword.arg == "correct_bias"]
    return any(context.module.constant(value) is not True for value in values)
