"""RM40x: arguments that Train V2, the default since Ray 2.51, refuses.

Ray raises DeprecationWarning or TypeError for them when the object is constructed (SEMANTICS.md 4.2).

Two with an effect are reported only:

* `stop=`: the report that met the condition returned, and the workers went on until Tune ended them (measured on Ray
  2.6.3: with stop={"training_iteration": 2} both ran on into their third report, which never came back). Nothing that
  can be written into a training function does just that, and Train V2 counts no reports over restarts.
* `metadata=`: the legacy trainer put it into every checkpoint that was reported, by callbacks and helpers too, and gave
  it to the workers by get_metadata(), which raises now. checkpoint.update_metadata() before a report does the first
  (measured on Ray 2.60), but not every report is in sight, and no script of PATTERNS.md has it.
"""

import ast
from collections.abc import Mapping

from raymigrate.codemods import codemod
from raymigrate.codemods.preprocessors import PREPROCESSOR_REFUSED, RM502
from raymigrate.context import Context
from raymigrate.error_texts import refused_arguments
from raymigrate.facts.keys import keys_of
from raymigrate.facts.legacy import CONFIG_CLASSES, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.facts.tuners import config_names
from raymigrate.findings import Rule

ISSUE = "https://github.com/ray-project/ray/issues/49454"

RM401 = Rule(
    "RM401",
    "an argument of a configuration class that Train V2 refuses",
    "Ray >= 2.51 raises when the object is constructed, whatever the value is.",
    "Arguments without effect on training are deleted.",
    ISSUE,
    errors=(
        "`RunConfig(*)` is deprecated",
        "`ray.train.ScalingConfig(trainer_resources)` is deprecated",
        "`checkpoint_frequency` is deprecated",
        "`checkpoint_at_end` is deprecated",
        "`ray.train.FailureConfig(fail_fast)` is deprecated",
        *refused_arguments("ScalingConfig", "_max_cpu_fraction_per_node"),
        *refused_arguments("CheckpointConfig", "_checkpoint_keep_all_ranks", "_checkpoint_upload_from_workers"),
    ),
)
RM402 = Rule(
    "RM402",
    "local_dir or sync_config of a RunConfig",
    "RunConfig(local_dir=) raises a TypeError on Ray >= 2.51.",
    "storage_path= takes its place; it has to be an absolute path or a URI.",
    "https://docs.ray.io/en/latest/train/user-guides/persistent-storage.html",
    errors=(
        *refused_arguments("RunConfig", "local_dir"),
        "`RunConfig(sync_config)` is deprecated",
        "URI has empty scheme",
    ),
)
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
RM406 = Rule(
    "RM406",
    "a fixed name for the runs of a legacy trainer",
    "Ray >= 2.51 takes a second run with the same name and storage path for the same run: it goes on from the last"
    " checkpoint, and a finished run ends at once. Legacy Ray started afresh.",
    "Keep the name if runs are to go on; else add something unique to it, or delete the folder between runs.",
    "https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html",
    errors=("A run snapshot was found in storage folder",),
)
RM404 = Rule(
    "RM404",
    "a RunConfig argument with an effect that Train V2 has no place for",
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
    "Use num_train_epochs, max_steps or EarlyStoppingCallback of a Trainer; in a loop of your own, return right behind"
    " the report that meets the condition, on every worker."
)
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
UNPACKED_ADVICE = (
    "Take the key away. storage_path= took the place of local_dir= and of SyncConfig(upload_dir=): an absolute path or"
    " a URI."
)
LOOK_FOR = (
    f"Look for {', '.join(sorted(DELETED['RunConfig'] | UNPACKED.keys()))}: they raise when the object is constructed."
)
RESUME = (
    "Hand the checkpoint over in train_loop_config, and load it in the training function where"
    " ray.train.get_checkpoint() is None."
)
RESUME_TRANSFORMERS = (
    "Hand its folder over in train_loop_config, and where ray.train.get_checkpoint() is None call"
    " trainer.train(resume_from_checkpoint=...) with the folder in it that holds trainer_state.json."
)
REFUSED_BY_TRAINER = ("preprocessor", "resume_from_checkpoint", "metadata")


@codemod(*CONFIG_CLASSES, order=40)
def configuration(context: Context) -> None:
    """Deletes what Train V2 refuses in RunConfig, ScalingConfig, CheckpointConfig and FailureConfig."""
    for name in CONFIG_CLASSES:
        for call in context.module.calls(*config_names(name)):
            if call in context.tuned:
                continue
            for keyword in call.keywords:
                if keyword.arg is None:
                    _unpacked(context, name, keyword)
                elif keyword.arg in DELETED[name]:
                    # fail_fast stopped a run at the first failure, whatever max_failures said.
                    safe = keyword.arg != "fail_fast" or context.module.constant(keyword.value) is False
                    message = f"{name}({keyword.arg}=) raises on Ray >= 2.51{'; deleted' if safe else ''}."
                    if context.converts(RM401, keyword, message, safe=safe):
                        context.plan.call(call).remove.add(keyword.arg)
                elif name == "RunConfig":
                    _run_config(context, call, keyword)


def _unpacked(context: Context, name: str, unpacked: ast.keyword) -> None:
    """Reports what Train V2 refuses among the keys of `RunConfig(**arguments)`."""
    keys = keys_of(context.module, unpacked.value)
    named = [*keys.strings, *((keyword.arg, keyword) for _, keyword in keys.keywords)]
    refused = DELETED[name] | (UNPACKED.keys() if name == "RunConfig" else set())
    for key, node in named:
        if key in refused:
            message = f"{name}({key}=) raises on Ray >= 2.51{UNPACKED.get(key, '')}."
            context.manual(RM401, node, message, UNPACKED_ADVICE)
    legacy = any(reference.qualified in TRAINERS for reference in context.module.references)
    if keys.hidden and legacy and name == "RunConfig":
        context.manual(
            RM401,
            unpacked,
            "What is passed with ** cannot be seen here; RunConfig has fewer arguments today.",
            LOOK_FOR,
        )


@codemod(*(name.rpartition(".")[2] for name in sorted(TRAINERS)), order=46)
def run_names(context: Context) -> None:
    """Tells what a fixed run name means now, where a legacy trainer is converted."""
    for call in context.module.calls(*TRAINERS):
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "run_config"), None)
        config = context.module.value(given) if given is not None else None
        if call not in context.plan.calls or not isinstance(config, ast.Call) or config in context.tuned:
            continue
        for keyword in config.keywords:
            if keyword.arg == "name" and isinstance(context.module.constant(keyword.value), str):
                context.manual(
                    RM406, keyword, "A second run with this name goes on from the first one's last checkpoint."
                )


def _run_config(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    module, edit = context.module, context.plan.call
    empty = module.constant(keyword.value)
    if keyword.arg in ("stop", "callbacks") and empty in (None, [], {}):
        if context.converts(RM401, keyword, f"RunConfig({keyword.arg}=) has no effect; deleted."):
            edit(call).remove.add(keyword.arg)
    elif keyword.arg == "stop":
        context.manual(RM404, keyword, "RunConfig(stop=) raises on Ray >= 2.51.", STOP)
    elif keyword.arg == "local_dir":
        if context.converts(RM402, keyword, "RunConfig(local_dir=) raises on Ray >= 2.51; now storage_path=."):
            edit(call).rename["local_dir"] = "storage_path"
            if not (isinstance(empty, str) and (empty.startswith("/") or "://" in empty)):
                context.plan.need_import("os")
                edit(call).set("storage_path", "os.path.abspath(os.path.expanduser($value))", value=keyword.value)
    elif keyword.arg == "sync_config":
        _sync_config(context, call, keyword)


def _sync_config(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    value = context.module.value(keyword.value)
    made = value if isinstance(value, ast.Call) else None
    uploads = next((k.value for k in made.keywords if k.arg == "upload_dir"), None) if made else None
    edit = context.plan.call(call)
    if uploads is None and not (made and made.args):
        if context.converts(RM401, keyword, "RunConfig(sync_config=) raises on Ray >= 2.51; deleted."):
            edit.remove.add("sync_config")
    elif (
        uploads is not None
        and made is not None
        and value is keyword.value
        and not {"storage_path", "local_dir"} & {k.arg for k in call.keywords}
    ):
        if context.converts(RM402, keyword, "SyncConfig(upload_dir=) is gone; now RunConfig(storage_path=)."):
            edit.rename["sync_config"] = "storage_path"
            edit.set("storage_path", "$value", value=uploads)
            reference = context.module.reference_at.get(made.func)
            if reference is not None:
                context.handle(reference, gone=True)
    else:
        context.manual(
            RM402, keyword, "RunConfig(sync_config=) raises on Ray >= 2.51.", "Give its upload_dir as storage_path=."
        )


@codemod("TorchTrainer", "TransformersTrainer", "HuggingFaceTrainer", "AccelerateTrainer", order=45)
def trainer_arguments(context: Context) -> None:
    """Reports the arguments that TorchTrainer refuses and that no codemod moved elsewhere."""
    for call in context.module.calls(*TORCH_TRAINERS, *TRAINERS):
        gone = context.plan.calls[call].remove if call in context.plan.calls else set()
        if context.module.qualified(call.func) in TRAINERS and call not in context.plan.calls:
            continue
        for keyword in call.keywords:
            if keyword.arg not in REFUSED_BY_TRAINER or keyword.arg in gone:
                continue
            if isinstance(keyword.value, ast.Constant) and keyword.value.value is None:
                if context.converts(
                    RM401, keyword, f"TorchTrainer({keyword.arg}=) is refused on Ray >= 2.51; deleted."
                ):
                    context.plan.call(call).remove.add(keyword.arg)
            elif keyword.arg == "preprocessor":
                context.manual(RM502, keyword, PREPROCESSOR_REFUSED)
            else:
                of_transformers = context.module.qualified(call.func) in TRANSFORMERS_TRAINERS
                resume = RESUME_TRANSFORMERS if of_transformers else RESUME
                advice = METADATA if keyword.arg == "metadata" else resume
                context.manual(RM403, keyword, f"TorchTrainer({keyword.arg}=) raises on Ray >= 2.51.", advice)
