"""RM71x: names of transformers, datasets and their companions that moved.

docs/semantics/libraries.md#names-of-transformers, measured on transformers 5.23 and datasets 5.2.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import Move, move_names
from raymigrate.facts.hugging_face.metrics import LOAD_METRIC
from raymigrate.facts.syntax.guards import is_guarded, is_ready
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.successors import CACHE_FOLDERS, ONE_MEANING, successor

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
        *gone_names("transformers", "TRANSFORMERS_CACHE"),
        *(text for part in ("utils", "utils.hub") for text in gone_names(f"transformers.{part}", "TRANSFORMERS_CACHE")),
    ),
)
RM713 = Rule(
    "RM713",
    "datasets.load_metric",
    "datasets >= 3 has no metrics: the import fails.",
    "evaluate.load, from the package evaluate, takes the same arguments by keyword.",
    "https://huggingface.co/docs/evaluate/transformers_integrations",
    errors=(*gone_names("datasets", "load_metric"), *gone_names("datasets.load", "load_metric")),
)

TPU = "transformers.is_torch_tpu_available"
NO_DEVICE = (
    "is_torch_xla_available() has no check_device: given by name it raises a TypeError, by position it asks for a TPU."
)
LOOKS_FOR_NONE = "Leave it out: is_torch_xla_available() looks for no device; check_is_tpu=True asks for a TPU."
# The folder for models, a text as before (transformers 4.30.2 utils/hub.py:99-102, 5.23 utils/hub.py:482).
MODELS = Move("huggingface_hub.constants", "HF_HUB_CACHE")
# A function without arguments, as before. TRANSFORMERS_OFFLINE decides it still: huggingface_hub reads that too
# (constants.py:194). transformers.utils.hub has the name still, from there.
OFFLINE = tuple(f"transformers{module}.is_offline_mode" for module in ("", ".utils", ".file_utils"))
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
    TPU: Move("transformers", "is_torch_xla_available"),
    "datasets.GenerateMode": Move("datasets", "DownloadMode"),
    **dict.fromkeys(CACHE_FOLDERS, MODELS),
    **dict.fromkeys(OFFLINE, Move("huggingface_hub", "is_offline_mode")),
}
METRIC_PARAMETERS = (
    *("path", "config_name", "process_id", "num_process", "cache_dir", "experiment_id", "keep_in_memory"),
    *("download_config", "download_mode", "revision"),
)
SAME_POSITIONS = 2  # the third parameter of evaluate.load is module_type


@codemod(*(name.rpartition(".")[2] for name in MOVED))
def moved(context: Context) -> None:
    """Names with a plain successor; what a script sets nothing may read under another name."""
    stored = {r.qualified for r in context.references(*CACHE_FOLDERS) if not isinstance(r.node.ctx, ast.Load)}
    move_names(context, RM711, {name: move for name, move in MOVED.items() if name not in stored})
    for call in context.module.calls(TPU):
        if (call.args or call.keywords) and not is_guarded(context.module, call, TPU.rpartition(".")[2]):
            context.manual(RM711, call, NO_DEVICE, LOOKS_FOR_NONE)


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
    for reference in context.references(*LOAD_METRIC):
        if not context.can_import("evaluate", reference):
            context.leave(RM713, reference, "datasets has no load_metric today, and `evaluate` is taken here.")
            continue
        if context.converts(RM713, reference.node, "datasets has no load_metric today; now evaluate.load."):
            context.plan.need_import("evaluate", near=reference.binding.statement)
            context.replace_reference(reference, "evaluate.load")
            if (call := context.module.calling(reference.node)) is not None:
                context.plan.call(call).names = names_for_evaluate(call)


def names_for_evaluate(call: ast.Call) -> list[str]:
    """The names of the arguments by position of load_metric(), where evaluate.load() has them at other positions."""
    return list(METRIC_PARAMETERS[: len(call.args)]) if len(call.args) > SAME_POSITIONS else []
