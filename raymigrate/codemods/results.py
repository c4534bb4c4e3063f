"""RM60x: what scripts do with the result of a legacy trainer: checkpoints, metrics, predictors."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.context import Context
from raymigrate.error_texts import gone_names
from raymigrate.facts.legacy import HF, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.findings import Rule

CHECKPOINT_GUIDE = "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html"
INFERENCE_GUIDE = "https://docs.ray.io/en/latest/data/batch_inference.html"
RESULT_GUIDE = "https://docs.ray.io/en/latest/train/user-guides/results.html"

RM601 = Rule(
    "RM601",
    "a checkpoint class of ray.train.huggingface",
    "Ray >= 2.9 has no such class: the import fails.",
    "Use the Checkpoint that result.checkpoint is: with checkpoint.as_directory() as folder, load the model with"
    ' from_pretrained(os.path.join(folder, "checkpoint")).',
    CHECKPOINT_GUIDE,
    errors=(
        *gone_names(HF, "TransformersCheckpoint", "HuggingFaceCheckpoint", "LegacyTransformersCheckpoint"),
        *gone_names(f"{HF}.transformers", "TransformersCheckpoint", "LegacyTransformersCheckpoint"),
        f"No module named '{HF}.huggingface_checkpoint'",
        f"No module named '{HF}.transformers.transformers_checkpoint'",
        "`TransformersCheckpoint` will be hard deprecated in Ray 2.8",
        "'Checkpoint' object has no attribute 'get_model'",
        "'Checkpoint' object has no attribute 'get_tokenizer'",
        "'Checkpoint' object has no attribute 'get_training_arguments'",
    ),
)
RM602 = Rule(
    "RM602",
    "files of a checkpoint that lie one folder deeper",
    'RayTrainReportCallback puts the files of Transformers into the folder "checkpoint" of a Ray checkpoint; the legacy'
    " trainer put them at its root.",
    'Look in os.path.join(folder, "checkpoint").',
    CHECKPOINT_GUIDE,
    errors=("Error no file named model.safetensors, or pytorch_model.bin, found in directory",),
)
RM603 = Rule(
    "RM603",
    "a predictor of Ray Train",
    "The predictors are gone from current Ray: the import fails.",
    "Load a transformers pipeline in a class with __call__(self, batch), and give the class to ds.map_batches.",
    INFERENCE_GUIDE,
    errors=(
        *gone_names(HF, "TransformersPredictor", "HuggingFacePredictor"),
        *gone_names(f"{HF}.transformers", "TransformersPredictor"),
        *gone_names("ray.train.torch", "TorchPredictor"),
        f"No module named '{HF}.huggingface_predictor'",
        f"No module named '{HF}.transformers.transformers_predictor'",
        "No module named 'ray.train.batch_predictor'",
        "No module named 'ray.train.predictor'",
        "`BatchPredictor` is deprecated from Ray 2.6",
        "The TransformersPredictor will be hard deprecated in Ray 2.8",
    ),
)
RM604 = Rule(
    "RM604",
    "metrics and attributes of a result that Train V2 does not fill",
    "Ray >= 2.51 fills in nothing by itself: training_iteration, time_total_s and their like are missing (KeyError),"
    " result.log_dir is gone and result.config raises.",
    "Use epoch and step, measure time yourself, and result.path for the folder.",
    RESULT_GUIDE,
    errors=(
        "KeyError: 'training_iteration'",
        "KeyError: 'time_total_s'",
        "KeyError: 'time_this_iter_s'",
        "KeyError: 'trial_id'",
        "'Result' object has no attribute 'log_dir'",
        "'Result' object has no attribute 'dataset_stats'",
        "The `config` property for a `ray.train.Result` is deprecated",
    ),
)

RM605 = Rule(
    "RM605",
    "metrics that were reported without a checkpoint",
    "Ray >= 2.51 keeps the metrics of a report only if it carries a checkpoint: without any, result.metrics is None.",
    "Report a checkpoint with the metrics, or return them from the training function and read result.return_value.",
    RESULT_GUIDE,
    errors=(
        "result.metrics is None",
        "metrics[* TypeError: 'NoneType' object is not subscriptable",
        "metrics.get(* AttributeError: 'NoneType' object has no attribute 'get'",
    ),
)

CHECKPOINTS = tuple(
    f"{module}.{name}"
    for module in (
        HF,
        f"{HF}.transformers",
        f"{HF}.huggingface_checkpoint",
        f"{HF}.transformers.transformers_checkpoint",
    )
    for name in ("HuggingFaceCheckpoint", "TransformersCheckpoint", "LegacyTransformersCheckpoint")
)
PREDICTORS = (
    *(
        f"{module}.{name}"
        for module in (
            HF,
            f"{HF}.transformers",
            f"{HF}.huggingface_predictor",
            f"{HF}.transformers.transformers_predictor",
        )
        for name in ("HuggingFacePredictor", "TransformersPredictor")
    ),
    "ray.train.batch_predictor.BatchPredictor",
    "ray.train.predictor.Predictor",
    "ray.train.torch.TorchPredictor",
)
REPORTS = ("ray.air.session.report", "ray.train.report")
FILLED_BY_TUNE = frozenset(
    [
        "training_iteration",
        "time_total_s",
        "time_this_iter_s",
        "timestamp",
        "done",
        "trial_id",
        "date",
        "pid",
        "hostname",
        "node_ip",
        "config",
        "time_since_restore",
        "iterations_since_restore",
        "experiment_tag",
        "should_checkpoint",
        "checkpoint_dir_name",
    ]
)
GONE_ATTRIBUTES = ("log_dir", "config", "dataset_stats")


@codemod("(?:HuggingFace|Transformers|LegacyTransformers)Checkpoint", order=70)
def checkpoint_classes(context: Context) -> None:
    """Names every use of the checkpoint classes."""
    _report(context, RM601, CHECKPOINTS)


@codemod("(?:HuggingFace|Transformers|Batch|Torch)?Predictor", order=70)
def predictors(context: Context) -> None:
    """Names every use of the predictors."""
    _report(context, RM603, PREDICTORS)


def _report(context: Context, rule: Rule, names: tuple[str, ...]) -> None:
    for reference in list(context.references(*names)):
        name = reference.binding.qualified if reference.binding.qualified in names else reference.qualified
        context.manual(rule, reference.node, f"{name} is gone: current Ray raises an ImportError.")
        context.handle(reference, gone=False)


@codemod("metrics", "checkpoint", "log_dir", "config", order=70)
def results(context: Context) -> None:
    """Reports reads of a trainer's result that find nothing, or files at another place."""
    legacy = any(reference.qualified.startswith("ray.air.") for reference in context.module.references)
    for result, by_transformers in _results(context):
        use = context.module.parent_of[result]
        if not isinstance(use, ast.Attribute):
            continue
        if use.attr in GONE_ATTRIBUTES:
            context.manual(RM604, use, f"result.{use.attr} does not exist on Ray >= 2.51.")
        elif use.attr == "metrics":
            _metrics(context, use)
            if legacy and not by_transformers and _reports_no_checkpoint(context):
                context.manual(
                    RM605, use, "No report here carries a checkpoint, so result.metrics is None on Ray >= 2.51."
                )
        elif use.attr == "checkpoint" and by_transformers:
            reader = context.module.parent_of[use]
            if isinstance(reader, ast.Attribute) and reader.attr in ("as_directory", "to_directory", "path", "uri"):
                context.manual(
                    RM602, use, 'The files of Transformers lie in the folder "checkpoint" of the checkpoint.'
                )


def _reports_no_checkpoint(context: Context) -> bool:
    """Whether the module reports metrics, and never a checkpoint with them."""
    reports = list(context.module.calls(*REPORTS))
    with_checkpoint = [c for c in reports if len(c.args) > 1 or any(k.arg in (None, "checkpoint") for k in c.keywords)]
    callbacks = any(reference.qualified.endswith("RayTrainReportCallback") for reference in context.module.references)
    return bool(reports) and not with_checkpoint and not callbacks


def _metrics(context: Context, metrics: ast.Attribute) -> None:
    read = context.module.parent_of[metrics]
    key: ast.expr | None = None
    if isinstance(read, ast.Subscript):
        key = read.slice
    elif isinstance(read, ast.Attribute) and read.attr == "get":
        call = context.module.parent_of[read]
        key = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(key, ast.Constant) and key.value in FILLED_BY_TUNE:
        context.manual(RM604, metrics, f'result.metrics has no "{key.value}" on Ray >= 2.51.')


def _results(context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """Expressions that are the result of a trainer's fit(), and whether it is a TransformersTrainer."""
    module = context.module
    for node in module.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fit"):
            continue
        trainer = module.value(node.func.value)
        name = module.qualified(trainer.func) if isinstance(trainer, ast.Call) else None
        if name not in TRAINERS | TORCH_TRAINERS:
            continue
        yield node, name in TRANSFORMERS_TRAINERS
        assigned = module.parent_of[node]
        if isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name):
            target = assigned.targets[0]
            scope = module.scope_of[target].find(target.id)
            if scope is not None and len(scope.bindings[target.id]) == 1:
                for use in module.uses(target.id, scope):
                    yield use, name in TRANSFORMERS_TRAINERS
