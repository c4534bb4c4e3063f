"""RM40x: arguments that Train V2, the default since Ray 2.51, refuses.

Ray raises DeprecationWarning or TypeError for them when the object is constructed
(docs/semantics/train-v2.md#refused-arguments).

Two with an effect are reported only:

* `stop=`: the report that met the condition returned, and the workers went on until Tune ended them (measured on Ray
  2.6.3: with stop={"training_iteration": 2} both ran on into their third report, which never came back). Nothing that
  can be written into a training function does just that, and Train V2 counts no reports over restarts.
* `metadata=`: the legacy trainer put it into every checkpoint that was reported, by callbacks and helpers too, and gave
  it to the workers by get_metadata(), which raises now. checkpoint.update_metadata() before a report does the first
  (measured on Ray 2.60), but not every report is in sight, and none of 159 public legacy files has it.
"""

import ast
from collections.abc import Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.dataset_config import WILDCARD, transforms_nothing, untransformed
from raymigrate.codemods.data.preprocessors import PREPROCESSOR_KEPT, PREPROCESSOR_REFUSED, RM502, WITHOUT_MAPPERS
from raymigrate.codemods.data.trainer_classes import SPLIT_ALL as OF_TREES
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.preprocessor_advice import is_gone, on_rows, stages_of
from raymigrate.codemods.torch_trainer.former_folders import STORAGE
from raymigrate.codemods.torch_trainer.storage import ISSUE, RM401, convert_storage
from raymigrate.facts.projects.helpers import is_in_helper
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.removed_trackers import TrackerUse
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.values import every_origin, is_none, keyword_argument, written
from raymigrate.facts.values.carried import Entry, gives_none
from raymigrate.facts.values.nothing import is_none_in_some_case
from raymigrate.knowledge.legacy import CONFIG_CLASSES, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

RM403 = Rule(
    "RM403",
    "an argument of TorchTrainer that Train V2 refuses",
    "Ray >= 2.51 raises when the trainer is constructed.",
    "Move it into the training function: see the link.",
    ISSUE,
    errors=(
        "`resume_from_checkpoint` is deprecated and will be removed",
        "accessed the metadata passed to `<Framework>Trainer(metadata=...)`",
    ),
)
RM404 = Rule(
    "RM404",
    "a RunConfig argument whose effect Train V2 does not offer",
    "Ray >= 2.51 raises when the RunConfig is constructed.",
    "Use num_train_epochs, max_steps or EarlyStoppingCallback, or leave the training loop.",
    ISSUE,
    errors=("`RunConfig(stop)` is deprecated",),
)

DELETED: Mapping[str, frozenset[str]] = {
    "RunConfig": frozenset({"verbose", "log_to_file", "progress_reporter"}),
    "ScalingConfig": frozenset({"trainer_resources", "_max_cpu_fraction_per_node"}),
    "CheckpointConfig": frozenset(
        {"checkpoint_frequency", "checkpoint_at_end", "_checkpoint_keep_all_ranks", "_checkpoint_upload_from_workers"}
    ),
    "FailureConfig": frozenset({"fail_fast"}),
}
STOP = (
    "Use num_train_epochs, max_steps or EarlyStoppingCallback of a Trainer, and for a metric that is reached a"
    " TrainerCallback whose on_evaluate() sets control.should_training_stop = True, or what another library has for it;"
    " in a loop of your own, return right after the report that meets the condition, on every worker."
)
# Trainers for trees saved by them, while those for torch raised (docs/semantics/train-v2.md#refused-arguments); with
# the value that the callback of today has, nothing is lost.
SAVES_TREES = {"checkpoint_frequency": 0, "checkpoint_at_end": True}
TREES_ARE_SAVED_BY = (
    "Give it to the callback of the training function: RayTrainReportCallback(frequency=..., checkpoint_at_end=...) of"
    " ray.train.xgboost or ray.train.lightgbm."
)
LOGS = (
    "log_to_file= wrote the output of the trial into the folder of the run. The output of the workers appears in the"
    " terminal of the driver, and in Ray's own logs, /tmp/ray/session_latest/logs of each machine."
)
# The bundle of the trainer was put together with that of the first worker (ray 2.60, air/config.py,
# `as_placement_group_factory`), which is how others than CPUs chose the machine of the latter.
PLACED = "The first worker was on a machine with {}, which trainer_resources= asked for; now it may be on any."
PLACE = "resources_per_worker= asks it for every worker; label_selector= takes a list with a dict of labels for each."
COUNTED = ("CPU", "GPU")
NO_RESOURCES = (
    "ScalingConfig(trainer_resources=) raises on Ray >= 2.51, and this is not a dict, so fit() raised before."
)
NUM_WORKERS = "trainer_resources is the first argument; if this is the number of workers, write num_workers=."
# Ray 2.60, train/v2/api/config.py: _trainer_resources_not_none is {}; before, one CPU where none were asked for.
COUNTS = ("total_resources", "as_placement_group_factory")
WORKERS_ALONE = (
    "{} of a ScalingConfig counts the workers alone on Ray >= 2.51; before, it counted what trainer_resources= asked"
    " for as well, one CPU where that was not given."
)
ADD_TRAINER = "Expect what the workers take, num_workers times resources_per_worker; a trainer takes nothing besides."
METADATA = (
    "Hand it over in train_loop_config, and call checkpoint.update_metadata(...) with it before each report of a"
    " checkpoint; read it there in place of get_metadata()."
)
# What else RunConfig refuses, and what there is to add.
UNPACKED = {
    "local_dir": "",
    "sync_config": ", as does SyncConfig(upload_dir=)",
    "stop": "",
    "callbacks": " for a callback of Ray Tune",
}
# All that each class refuses.
REFUSED = {name: arguments | (UNPACKED.keys() if name == "RunConfig" else set()) for name, arguments in DELETED.items()}
# None for these is what Ray has anyway; for stop= and all others it raises too (measured on Ray 2.60).
UNLESS_NONE = frozenset({"callbacks", "metadata", "resume_from_checkpoint", "trainer_resources"})
STORAGE_ADVICE = "storage_path= took the place of local_dir= and of SyncConfig(upload_dir=): an absolute path or a URI."
CALLBACK = (
    "A ray.train.UserCallback with after_report() takes its place, or logging from rank 0 of the training function."
)
# What to do besides where such a key is in a dict that is unpacked.
INSTEAD_OF_KEYS = {"local_dir": STORAGE_ADVICE, "sync_config": STORAGE_ADVICE, "stop": STOP, "callbacks": CALLBACK}
RESUME = (
    "Hand the checkpoint over in train_loop_config, and load it in the training function where"
    " ray.train.get_checkpoint() is None."
)
RESUME_TRANSFORMERS = (
    "Hand its folder over in train_loop_config, and where ray.train.get_checkpoint() is None call"
    " trainer.train(resume_from_checkpoint=...) with the folder in it that holds trainer_state.json."
)
REFUSED_BY_TRAINER = ("preprocessor", "resume_from_checkpoint", "metadata")


@codemod(*CONFIG_CLASSES, phase=Phase.CONFIGURATION)
def configuration(context: Context) -> None:
    """Deletes what Train V2 refuses in RunConfig, ScalingConfig, CheckpointConfig and FailureConfig."""
    for name in CONFIG_CLASSES:
        for call in context.module.calls(*config_names(name)):
            if call in context.tuned:
                continue
            gone = context.plan.calls[call].remove if call in context.plan.calls else set[str]()
            # Last the sync_config: where it may have no upload_dir, it asks what has become of local_dir.
            for keyword in sorted(call.keywords, key=lambda keyword: keyword.arg == "sync_config"):
                if keyword.arg in gone:
                    continue
                if keyword.arg is None:
                    _unpacked(context, name, keyword)
                elif keyword.arg == "trainer_resources" and isinstance(written(keyword.value), int | float | str):
                    context.manual(RM401, keyword, NO_RESOURCES, NUM_WORKERS)
                elif _saves_trees(context, keyword):
                    context.manual(RM401, keyword, f"{name}({keyword.arg}=) raises on Ray >= 2.51.", TREES_ARE_SAVED_BY)
                elif keyword.arg in DELETED[name]:
                    # fail_fast stopped a run at the first failure, whatever max_failures said.
                    safe = keyword.arg != "fail_fast" or written(keyword.value) is False
                    message = f"{name}({keyword.arg}=) raises on Ray >= 2.51{'; deleted' if safe else ''}."
                    if context.converts(RM401, keyword, message, safe=safe):
                        context.plan.call(call).remove.add(keyword.arg)
                        _tell_what_it_did(context, keyword)
                elif name == "RunConfig":
                    _run_config(context, call, keyword)


def _tell_what_it_did(context: Context, keyword: ast.keyword) -> None:
    """Tells what an argument did that is deleted, where nothing does that now."""
    if keyword.arg == "log_to_file" and written(keyword.value) is not False:
        context.note(RM401, keyword, LOGS)
    asked = context.module.entries(keyword.value) if keyword.arg == "trainer_resources" else None
    scarce = [name for name, amount in (asked or {}).items() if name not in COUNTED and written(amount) != 0]
    if scarce:
        context.manual(RM401, keyword, PLACED.format(", ".join(scarce)), PLACE)


@codemod(*COUNTS, phase=Phase.CONFIGURATION)
def counted_resources(context: Context) -> None:
    """Reports what reads the resources of a ScalingConfig, among which are no longer those of the trainer."""
    for name in COUNTS if context.of_legacy_job else ():
        for node in context.module.attributes(name):
            if is_in_helper(context.module, node):
                continue  # how many trials fit is counted from what the workers take
            if every_origin(context.module, node.value, _counts_trainer):
                context.manual(RM401, node, WORKERS_ALONE.format(name), ADD_TRAINER)


def _counts_trainer(module: Module, made: ast.expr) -> bool:
    """Whether a value is a ScalingConfig that old Ray counted something for the trainer in."""
    if not isinstance(made, ast.Call) or module.qualified(made.func) not in config_names("ScalingConfig"):
        return False
    asked = keyword_argument(made, "trainer_resources")
    amounts = module.entries(asked) if asked is not None else None
    return amounts is None or any(written(amount) != 0 for amount in amounts.values())


def _saves_trees(context: Context, keyword: ast.keyword) -> bool:
    """Whether an argument of CheckpointConfig may say when a trainer for trees saves, other than its callback does."""
    if keyword.arg not in SAVES_TREES or not context.module.references_within(*OF_TREES):
        return False
    return written(keyword.value) not in (None, SAVES_TREES[keyword.arg])


def _unpacked(context: Context, name: str, unpacked: ast.keyword) -> None:
    """Reports what Train V2 refuses among the keys of `RunConfig(**arguments)`."""
    found = carried_from_callers(context.module, unpacked.value)
    for entry in (entry for entry in found.entries if entry.name in REFUSED[name] and not changes_nothing(entry)):
        is_here = entry.module is context.module
        written = "" if is_here else f", which {line_of_file(entry.module, entry.key)} writes,"
        message = f"{name}({entry.name}=){written} raises on Ray >= 2.51{UNPACKED.get(entry.name, '')}."
        advice = f"Drop the key. {INSTEAD_OF_KEYS.get(entry.name, '')}".rstrip()
        context.manual(RM401, entry.key if is_here else unpacked, message, advice)
    if not found.whole and context.of_legacy_job:
        message = f"What is passed with ** cannot be seen here; {name} has fewer arguments today."
        instead = f" {STORAGE_ADVICE}" if name == "RunConfig" else ""
        seen = f"Look for {', '.join(sorted(REFUSED[name]))}"
        advice = f"{seen}: Ray raises for them when the object is constructed.{instead}"
        context.manual(RM401, unpacked, message, advice)


def changes_nothing(entry: Entry) -> bool:
    """Whether an entry gives None to an argument that is None without it."""
    return entry.name in UNLESS_NONE and gives_none(entry)


def _without_preprocessor(context: Context, call: ast.Call) -> str:
    """What to do in place of a preprocessor that a trainer is given."""
    if transforms_nothing(context, call):
        return PREPROCESSOR_KEPT
    given = keyword_argument(call, "preprocessor")
    parts = stages_of(context.module, given) if given is not None else []
    fix = WITHOUT_MAPPERS.format(on_rows(context, parts)) if is_gone(parts) else f"{RM502.fix}{_counted(context, call)}"
    left = untransformed(context, call)
    if left is None:
        return f"{fix} A dataset whose DatasetConfig says transform=False stays unchanged."
    named = ['all others but "train"' if name == WILDCARD else f'"{name}"' for name in left]
    return f"{fix} Leave {' and '.join(named)} unchanged: transform=False." if named else fix


def _counted(context: Context, call: ast.Call) -> str:
    """Says that a preprocessor may change the number of rows that converted code hands to the workers."""
    is_counted = context.module.qualified(call.func) in TRANSFORMERS_TRAINERS or ".count()" in context.module.source(
        call
    )
    return " Where rows are counted for the trainer, count those of the new datasets." if is_counted else ""


def _repeated(context: Context, call: ast.Call) -> str:
    """Says where the converted code makes a second trainer of the same arguments, for trials; empty if nowhere."""
    function = context.repeated.get(call)
    return f" {function}() gives it to a second trainer: do the same there." if function else ""


def _run_config(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    edit = context.plan.call
    empty = written(keyword.value)
    if keyword.arg in ("stop", "callbacks") and empty in (None, [], {}):
        if context.converts(RM401, keyword, f"RunConfig({keyword.arg}=) has no effect; deleted."):
            edit(call).remove.add(keyword.arg)
    elif keyword.arg == "stop":
        context.manual(RM404, keyword, "RunConfig(stop=) raises on Ray >= 2.51.", STOP)
    elif keyword.arg in STORAGE:
        convert_storage(context, call, keyword)


@codemod("TorchTrainer", "TransformersTrainer", "HuggingFaceTrainer", "AccelerateTrainer")
def trainer_arguments(context: Context) -> None:
    """Reports the arguments that TorchTrainer refuses and that no codemod moved elsewhere."""
    trackers = TrackerUse(context.places)
    for call in context.module.calls(*TORCH_TRAINERS, *TRAINERS):
        gone = context.plan.calls[call].remove if call in context.plan.calls else set()
        if context.module.qualified(call.func) in TRAINERS and call not in context.plan.calls:
            continue
        for keyword in call.keywords:
            if keyword.arg not in REFUSED_BY_TRAINER or keyword.arg in gone:
                continue
            if is_none(keyword.value):
                if context.converts(
                    RM401, keyword, f"TorchTrainer({keyword.arg}=) is refused on Ray >= 2.51; deleted."
                ):
                    context.plan.call(call).remove.add(keyword.arg)
            elif keyword.arg == "preprocessor":
                advice = f"{_without_preprocessor(context, call)}{_repeated(context, call)}"
                context.manual(RM502, keyword, PREPROCESSOR_REFUSED, advice)
            else:
                is_legacy = context.module.qualified(call.func) in TRANSFORMERS_TRAINERS
                of_transformers = is_legacy or trackers.trains_as_before(call)
                resume = RESUME_TRANSFORMERS if of_transformers else RESUME
                advice = f"{METADATA if keyword.arg == 'metadata' else resume}{_repeated(context, call)}"
                unless = " where it is not None" if is_none_in_some_case(context.module, keyword.value) else ""
                context.manual(RM403, keyword, f"TorchTrainer({keyword.arg}=) raises on Ray >= 2.51{unless}.", advice)
