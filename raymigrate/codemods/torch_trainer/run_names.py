"""RM406: a name under which a second run goes on from the first one's last checkpoint.

To delete the folder of the first run is no advice to give. The working directory of the workers,
`<session>/artifacts/<name>` (Ray 2.60: train/constants.py:15, train/v2/_internal/execution/storage.py:529), stays
as long as the cluster is up, whatever the storage path is, and RayTrainReportCallback reports the highest checkpoint-N
of a relative output_dir: measured, one of the first run (docs/semantics/traps.md#t9).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED, REFUSED_BY_TRAINER
from raymigrate.facts.ray_train.results import GET_CHECKPOINT, results
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, TrainerCall, trainer_calls
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, constants, is_none, keyword_argument, unpacked_dicts
from raymigrate.facts.values.keys import keys_of
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM406 = Rule(
    "RM406",
    "a legacy trainer's run name that is the same each time",
    "Ray >= 2.51 takes a second run with the same name and storage path for the same run: it goes on from the last"
    " checkpoint, and a finished run ends at once. A training function that reads no checkpoint begins anew, among the"
    " first run's checkpoints. Legacy Ray started afresh.",
    "Keep the name if the second run is to continue the first; otherwise add something unique to it. Deleting the"
    " run's folder isn't enough: on a cluster that stays up, the workers' working directory of that name keeps the"
    " old checkpoints.",
    "https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html",
    errors=("A run snapshot was found in storage folder",),
)
SAME = "A second run with this name goes on from the first one's last checkpoint."
IF_SAME = "If the name is the same each time, a second run goes on from the first one's last checkpoint."
# Of a function that begins anew: Ray loads the list of the run's checkpoints from its folder, and adds to it (2.60
# train/v2/_internal/execution/checkpoint/checkpoint_manager.py:141, `_maybe_load_state_from_storage`).
MIXED = "A second run with this name adds to the first one's checkpoints: those of both runs are in {}."
IF_MIXED = (
    "If the name is the same each time, a second run adds to the first one's checkpoints: those of both are in {}."
)
OF_SEVERAL = ("best_checkpoints", "get_best_checkpoint", "metrics_dataframe")
# What these give is another value each time. Trackers name each run anew.
UNIQUE = lazy_regex(
    r"(time|datetime|uuid|random|secrets|tempfile|shortuuid|ulid|coolname|petname|pendulum|arrow|wandb|mlflow)\."
    r"|numpy\.random\.|os\.getpid$|ray\.tune\.get_context$"
)
TAKEN_TODAY = {"callbacks"}  # if they are callbacks of ray.train
READS = (*GET_CHECKPOINT, "ray.train.load_checkpoint")
JOB_VARIABLE = lazy_regex(r"(JOB|RUN|TASK|BUILD|TRIAL).*ID|_ID$")


@codemod(*(name.rpartition(".")[2] for name in sorted(TRAINERS | TORCH_TRAINERS)), phase=Phase.CONFIGURATION)
def run_names(context: Context) -> None:
    """Tells what a run name means now, where a legacy trainer is converted and the name is not seen to be unique."""
    converted = [call for call in context.module.calls(*TRAINERS) if call in context.plan.calls]
    going_on = dict.fromkeys((*converted, *_that_go_on(context)), (SAME, IF_SAME))
    for call, (same, if_same) in {**_that_mix(context), **going_on}.items():
        given = keyword_argument(call, "run_config")
        if given is None:
            continue
        for place, name in _names(context, given):
            if name is not None and _is_unique(name.module, name.node, set()):
                continue
            found = constants(name.module, name.node) if name is not None else []
            known = bool(found) and all(isinstance(value, str) for _, value in found)
            context.manual(RM406, place, same if known else if_same)


def _legacy_trainers(context: Context) -> list[TrainerCall]:
    """The TorchTrainers of a job for an older Ray: as its names say, the user, or an argument that is refused today.

    Ray 2.7 to 2.50 had all names where they are now.
    """
    is_old = context.of_legacy_job or context.options.from_ray or _gives_what_is_refused(context.module)
    return list(trainer_calls(context.module, TORCH_TRAINERS, TRAIN_LOOP)) if is_old else []


def _gives_what_is_refused(module: Module) -> bool:
    """Whether a configuration or a TorchTrainer is given what Train V2 raises for, so that it never ran on that."""
    of_trainers = {name: frozenset(REFUSED_BY_TRAINER) for name in TORCH_TRAINERS}
    of_configs = {path: taken - TAKEN_TODAY for name, taken in REFUSED.items() for path in config_names(name)}
    refused = {**of_trainers, **of_configs}
    return any(
        keyword.arg in refused[module.qualified(call.func) or ""]
        for call in module.calls(*refused)
        for keyword in call.keywords
    )


def _that_go_on(context: Context) -> Iterator[ast.Call]:
    """The TorchTrainers of a legacy job whose training function may begin from a checkpoint."""
    reads = any(context.module.calls(*READS))
    for call in _legacy_trainers(context):
        if reads or not call.functions:
            yield call.node


def _that_mix(context: Context) -> dict[ast.Call, tuple[str, str]]:
    """The TorchTrainers of a legacy job of which something compares, or lists, all checkpoints of a run; what to say.

    Legacy Ray began a list anew with each fit().
    """
    module = context.module
    calls = [call.node for call in _legacy_trainers(context)]
    read = {node.attr for node, trainers in results(module, *OF_SEVERAL) if trainers & TORCH_TRAINERS} if calls else {}
    what = " and ".join(f"result.{name}" for name in OF_SEVERAL if name in read)
    for given, keyword in module.keywords("checkpoint_score_attribute") if calls and not what else ():
        is_config = (module.qualified(given.func) or "").endswith(".CheckpointConfig")
        what = "what CheckpointConfig compares" if is_config and not is_none(keyword.value) else what
    said = MIXED.format(what), IF_MIXED.format(what)
    return dict.fromkeys(calls, said) if what else {}


def _names(context: Context, given: ast.expr) -> Iterator[tuple[ast.AST, Source | None]]:
    """The names in what a `run_config=` can be, each with the place to report; None where it cannot be seen."""
    for source in context.module.origins(given):
        module, config = source.module, source.node
        if is_none(config) or config in context.tuned - context.undecided:
            continue
        seen, name = _name(module, config)
        if seen and is_none(name):
            continue
        place: ast.AST = given
        if module is context.module and name is not None:
            parent = module.parent_of[name]
            place = parent if isinstance(parent, ast.keyword) else name
        yield place, Source(module, name) if name is not None else None


def _name(module: Module, config: ast.expr) -> tuple[bool, ast.expr | None]:
    """Whether the name in a configuration can be seen, and the name."""
    if isinstance(config, ast.Call) and (module.qualified(config.func) or "").endswith(".RunConfig"):
        name = argument(config, 0, "name")
        found = [_entry(module, given) for given in unpacked_dicts(config) if name is None]
        name = next((given for _, given in found if given is not None), name)
        return name is not None or all(seen for seen, _ in found), name
    return _entry(module, config)


def _entry(module: Module, config: ast.expr) -> tuple[bool, ast.expr | None]:
    """Whether it can be seen what a dict holds as name, and that."""
    entries = module.entries(config)
    if entries is not None:
        return True, entries.get("name")
    keys = keys_of(module, config)
    named = {name for name, _ in keys.strings} | {keyword.arg for _, keyword in keys.keywords}
    return not keys.hidden and "name" not in named, None


def _is_unique(module: Module, node: ast.expr, seen: set[ast.AST]) -> bool:
    """Whether everything that a name can be has a part that is another one each time."""
    return all(_has_unique_part(source.module, source.node, seen) for source in module.origins(node))


def _has_unique_part(module: Module, node: ast.expr, seen: set[ast.AST]) -> bool:
    if node in seen:
        return False
    seen.add(node)
    if isinstance(node, (ast.Name, ast.Attribute)) and UNIQUE.match(module.qualified(node) or ""):
        return True
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, (ast.Call, ast.Subscript)) and _reads_job(module, node):
        return True
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    parts += [keyword.value for keyword in node.keywords] if isinstance(node, ast.Call) else []
    return any(_is_unique(module, part, seen) for part in parts)


def _reads_job(module: Module, node: ast.Call | ast.Subscript) -> bool:
    """Whether an environment variable is read that names the job: `os.environ["SLURM_JOB_ID"]`."""
    owner = node.func if isinstance(node, ast.Call) else node.value
    if not (module.qualified(owner) or "").startswith(("os.environ", "os.getenv")):
        return False
    key = (node.args[0] if node.args else None) if isinstance(node, ast.Call) else node.slice
    name = module.constant(key)
    return isinstance(name, str) and JOB_VARIABLE.search(name) is not None
