"""RM421: positional arguments of the configuration classes, whose order is another one today.

They become keyword arguments before any other rule looks at them. RunConfig had three orders between Ray 2.0 and 2.50
(docs/semantics/names.md#fields-of-the-configuration-classes), so the Ray that the code was written for decides; the
orders of the others only grew at the end. What stands at a place may tell the order too: a FailureConfig is one.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import ONLY_ABSOLUTE, tell_unseen_path
from raymigrate.facts.ray_train.storage import filesystem_of, is_absolute
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, has_starred, is_none
from raymigrate.knowledge.legacy import CONFIG_CLASSES
from raymigrate.pins.written_for import MOVED_IN, NEWEST, OLDEST

RM421 = Rule(
    "RM421",
    "positional arguments of a configuration class",
    "The fields of Ray's configuration classes have changed places: a value given by position reaches another field"
    " than it did, or one that Ray >= 2.51 refuses.",
    "Give all arguments but the first by name; or say which Ray the code was written for, and raymigrate does:"
    " --from-ray 2.6.",
    "https://github.com/ray-project/ray/issues/49454",
)
BEFORE_STORAGE_PATH = (
    *("name", "local_dir", "callbacks", "stop", "failure_config", "sync_config", "checkpoint_config"),
    *("progress_reporter", "verbose", "log_to_file"),
)
WITH_STORAGE_PATH = ("name", "storage_path", *BEFORE_STORAGE_PATH[2:], "local_dir")
WITH_FILESYSTEM = (
    *("name", "storage_path", "storage_filesystem", "failure_config", "checkpoint_config", "sync_config", "verbose"),
    *("stop", "callbacks", "progress_reporter", "log_to_file", "local_dir"),
)
SINCE_TRAIN_V2 = (*WITH_FILESYSTEM[:5], "callbacks", "worker_runtime_env", "logging_config")
SHARED = 5  # fields that have the same places since Ray 2.7
# Since which Ray RunConfig has had which order; the last first.
RUN_CONFIG = (((2, 7), WITH_FILESYSTEM), ((2, 5), WITH_STORAGE_PATH), ((2, 0), BEFORE_STORAGE_PATH))
FIELDS = {"FailureConfig": "failure_config", "CheckpointConfig": "checkpoint_config", "SyncConfig": "sync_config"}
LISTS = (ast.List, ast.Tuple, ast.ListComp, ast.Dict)  # which are none of these, and no file system
ORDERS: dict[str, tuple[str, ...]] = {
    "ScalingConfig": ("trainer_resources", "num_workers", "use_gpu", "resources_per_worker", "placement_strategy"),
    "CheckpointConfig": (
        *("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order"),
        *("checkpoint_frequency", "checkpoint_at_end"),
    ),
    "FailureConfig": ("max_failures", "fail_fast"),
}
# How far the order is that of Ray >= 2.51, and the fields are taken.
TODAY = {
    "RunConfig": SINCE_TRAIN_V2,
    "ScalingConfig": ORDERS["ScalingConfig"],
    "CheckpointConfig": ORDERS["CheckpointConfig"][:3],
    "FailureConfig": ORDERS["FailureConfig"][:1],
}


@codemod(*CONFIG_CLASSES, phase=Phase.POSITIONS)
def positions(context: Context) -> None:
    """Names the arguments whose places changed, and reports those that depend on an unknown version."""
    module = context.module
    for name in CONFIG_CLASSES:
        for call in module.calls(*config_names(name)):
            if any(isinstance(given, ast.Constant) and given.value is ... for given in call.args):
                continue  # ScalingConfig(...) in a sketch: what is left out there is not seen
            module.as_written(call)
            names = _names(context, name, call)
            taken = name == "ScalingConfig" and call.args and module.constant(call.args[0]) is not None
            if names is None:
                context.manual(RM421, call, f"{name} does not take these positions on Ray >= 2.51 as it did.")
            elif names != TODAY[name][: len(names)] or taken:
                message = f"{name} takes other arguments by position on Ray >= 2.51; now by name: {', '.join(names)}."
                _name(context, call, names, message)
            elif name == "RunConfig" and len(names) > 1:
                _path(context, call, names)


def _path(context: Context, call: ast.Call, names: tuple[str, ...]) -> None:
    """Deals with a storage_path that keeps its place: the rules for paths see arguments by name only."""
    module, path = context.module, call.args[1]
    if is_absolute(module, path) is False:
        _name(context, call, names, f"{ONLY_ABSOLUTE}; now by name: {', '.join(names)}.")
    elif filesystem_of(module, call) is None and all(is_none(given) for given in call.args[2:3]):
        tell_unseen_path(context, path)


def _name(context: Context, call: ast.Call, names: tuple[str, ...], message: str) -> None:
    if context.converts(RM421, call, message):
        context.plan.call(call).names = list(names)
        context.module.name_arguments(call, names)


def _names(context: Context, name: str, call: ast.Call) -> tuple[str, ...] | None:
    """The names of the positional arguments of a configuration; None where they are not known."""
    number = len(call.args)
    if has_starred(call.args):
        return None
    orders = {ORDERS[name][:number]} if name in ORDERS else _run_config_orders(context, call)
    names = orders.pop() if len(orders) == 1 else ()
    return names if len(names) == number else None


def _run_config_orders(context: Context, call: ast.Call) -> set[tuple[str, ...]]:
    """The orders that the arguments of a RunConfig had in the versions that the code can have been written for."""
    number = len(call.args)
    if number <= 1:
        return {WITH_FILESYSTEM[:number]}
    lowest, highest = context.from_ray.lowest, context.from_ray.highest
    is_open = (lowest, highest) == (MOVED_IN, NEWEST) and not context.options.from_ray and number > SHARED
    if is_open:  # by its import alone: code for the Ray of today, or of an earlier run that told of this call
        lowest = OLDEST
    orders = {SINCE_TRAIN_V2[:number]} if is_open else set()
    orders |= {
        next(order for since, order in RUN_CONFIG if (2, minor) >= since)[:number]
        for minor in range(lowest[1], highest[1] + 1)
    }
    possible = {order for order in orders if _fits(context.module, call, order)}
    of_2_6, of_2_4 = WITH_STORAGE_PATH[:number], BEFORE_STORAGE_PATH[:number]
    if {of_2_4, of_2_6} <= possible:
        # The two differ in one name, and local_dir is storage_path today; but results went on from it to an upload_dir.
        given = {*of_2_4, *(keyword.arg for keyword in call.keywords)}
        possible.remove(of_2_6 if "sync_config" in given else of_2_4)
    return possible


def _fits(module: Module, call: ast.Call, order: tuple[str, ...]) -> bool:
    """Whether the positional arguments of a RunConfig may be these fields: none is given twice, or of another class."""
    if any(keyword.arg in order for keyword in call.keywords):
        return False
    for field, given in zip(order, call.args, strict=False):
        if field in (*FIELDS.values(), "storage_filesystem") and isinstance(module.value(given), LISTS):
            return False
        classes = {
            called_name(source.module, source.node).rpartition(".")[2]
            for source in module.origins(given)
            if isinstance(source.node, ast.Call)
        }
        if any(FIELDS.get(name, field) != field for name in classes):
            return False
    return True
