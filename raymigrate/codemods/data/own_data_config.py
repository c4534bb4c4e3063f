"""RM107: the DataConfig that a TransformersTrainer was given.

Each worker of converted code lists the evaluation rows, and the Trainer gives each worker a part of its own list
(docs/semantics/data.md). So the lists have to be whole, and in one order: else some rows are evaluated twice,
others not at all.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.scaling import has_one_worker
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import Source, argument, called_name, has_unpacking, is_none, keyword_argument, written

PLACE_OF_ORDER = 2  # of preserve_order= among the parameters of ExecutionOptions, in the oldest versions
DATA_CONFIG = "ray.train.DataConfig"
DATASET_CONFIGS = ("ray.air.DatasetConfig", "ray.air.config.DatasetConfig", "ray.train.DatasetConfig")
IN_ORDER = "ExecutionOptions(preserve_order=True)"
# Ray Train hands on what a DataContext says, but not beside options of the DataConfig (ray 2.60,
# train/_internal/data_config.py:79): those of the script would be lost.
OF_CONTEXT = "ray.data.DataContext.get_current().execution_options.preserve_order = True"
OPTIONS = frozenset(
    f"ray.data.{place}ExecutionOptions" for place in ("", "context.", "_internal.execution.interfaces.")
)
UNSEEN = (
    "Each worker lists the evaluation rows, and the Trainer evaluates a part of each list. What this DataConfig says of"
    " them is not seen here: where Ray splits them too, a part of them is never evaluated; where their order isn't"
    " kept, some are evaluated twice and others not."
)
OF_ITS_OWN = (
    'DataConfig(datasets_to_split=["train"], execution_options=ray.data.ExecutionOptions(preserve_order=True)).'
)
ADVICE = f"It has to be {OF_ITS_OWN}"
SHARED = (
    "Ray splits the evaluation rows, as this says, and the Trainer splits each worker's part again, so that some are"
    " never evaluated; the DataConfig is used for something else too."
)
WHOLE_TRAIN = (
    '"train" isn\'t among the datasets that this splits: each worker trains on all rows, but the Trainer counts'
    " the steps of a share."
)
COUNT_ALL = "Split it, or let TrainShard take the number of all rows as its length."


def made_here(context: Context, call: TrainerCall) -> ast.Call | None:
    """The DataConfig that a trainer is given, if this file makes it."""
    given = call.arguments.get("dataset_config")
    made = context.module.value(given) if given is not None else None
    is_one = called_name(context.module, made) == DATA_CONFIG
    return made if is_one else None  # type: ignore[return-value]


def has_data_config(context: Context, call: TrainerCall) -> bool:
    """Whether a trainer is given a DataConfig, or what may be one: not None, or the dict of DatasetConfig before it."""
    given = call.arguments.get("dataset_config")
    if given is None or is_none(context.module.value(given)):
        return False
    return made_here(context, call) is not None or next(context.module.calls(*DATASET_CONFIGS), None) is None


def list_evaluation_rows(context: Context, call: TrainerCall, rule: Rule, *, in_order: bool) -> bool:
    """Lets each worker of a trainer have all evaluation rows in one order, whatever DataConfig it was given.

    Args:
        context: The module.
        call: The trainer call, which has a DataConfig of its own.
        rule: The rule that tells of it.
        in_order: Whether the rows come in one order by themselves.

    Returns:
        Whether each worker gets all evaluation rows.
    """
    given, made = call.arguments["dataset_config"], made_here(context, call)
    if has_one_worker(call.module, call.node):
        return True
    if made is None and all(_is_right(source, in_order) for source in context.module.origins(given)):
        return True
    if made is None or has_unpacking(made):
        context.manual(rule, given, UNSEEN, ADVICE)
        return False
    if not _keep_whole(context, given, made, rule):
        return False
    if not in_order and not _says_it_elsewhere(context):
        _keep_order(context, call, made, rule)
    return True


def _is_right(source: Source, in_order: bool) -> bool:
    """Whether a DataConfig, maybe of another file, splits the training data alone, and keeps the order of the rest."""
    module, made = source.module, source.node
    if not isinstance(made, ast.Call) or module.qualified(made.func) != DATA_CONFIG or has_unpacking(made):
        return False
    options = argument(made, 1, "execution_options")
    kept = module.value(options) if options is not None else None
    is_kept = isinstance(kept, ast.Call) and module.constant(keyword_argument(kept, "preserve_order")) is True
    return module.constant(argument(made, 0, "datasets_to_split")) == ["train"] and (in_order or is_kept)


def _says_it_elsewhere(context: Context) -> bool:
    """Whether the file sets `options.preserve_order = True`, of a DataContext too: Ray Train hands that on."""
    stored = (context.module.parent_of[target] for target in context.module.stores("preserve_order"))
    return any(is_assignment(statement) and written(statement.value) is True for statement in stored)


def kept_order(context: Context, call: TrainerCall, near: ast.stmt | None) -> str:
    """What lets the rows of a trainer come in one order: an argument of its DataConfig, or else empty, and a statement.

    Args:
        context: The module.
        call: The trainer call.
        near: The import whose place new ones take.
    """
    if not _sets_options(context.module):
        context.plan.need_import("ray.data", "ExecutionOptions", near=near)
        return f", execution_options={IN_ORDER}"
    edit = context.plan.statement(call.statement)
    if not _says_it_elsewhere(context) and all(code.template != OF_CONTEXT for code in edit.before):
        context.plan.need_import("ray")
        edit.before.append(Code(OF_CONTEXT))
    return ""


def _sets_options(module: Module) -> bool:
    """Whether a script, or a file that it imports, has to do with the options that a DataContext has."""
    return any(other.attributes("execution_options") for other in with_imported(module))


def _keep_whole(context: Context, given: ast.expr, made: ast.Call, rule: Rule) -> bool:
    """Takes the evaluation rows out of what a DataConfig splits."""
    node = argument(made, 0, "datasets_to_split")
    split = context.module.constant(node)
    if node is None or split is None:
        return True  # the caller splits the training data only
    if split != "all" and not (isinstance(split, (list, tuple)) and ... not in split):
        context.manual(rule, node, UNSEEN, ADVICE)
        return False
    names = ["train"] if split == "all" else [str(name) for name in split if name != "evaluation"]
    if "train" not in names:
        context.manual(rule, node, WHOLE_TRAIN, COUNT_ALL)
    if split != "all" and len(names) == len(split):
        return True
    if not _is_only_for(context, given, made):
        context.manual(rule, node, SHARED, "Give this trainer a DataConfig of its own: " + OF_ITS_OWN)
        return False
    message = "Ray and the Trainer would both split the evaluation rows, and leave some out; now the Trainer does."
    if context.converts(rule, node, message):
        context.plan.replace(node, f"[{', '.join(map(string_literal, names))}]")
        return True
    return False


def _is_only_for(context: Context, given: ast.expr, made: ast.Call) -> bool:
    """Whether nothing but the argument of a trainer reads a DataConfig."""
    module = context.module
    if given is made:
        return True
    return isinstance(given, ast.Name) and module.uses(given.id, module.scope_of[given]) == [given]


def _keep_order(context: Context, call: TrainerCall, made: ast.Call, rule: Rule) -> None:
    """Lets the rows of a DataConfig keep their order; those of other trainers may as well."""
    module, node = context.module, argument(made, 1, "execution_options")
    message = "Each worker lists the evaluation rows by itself; now in one order, so that each row is evaluated once."
    if node is None or is_none(node):
        if context.converts(rule, made, message):
            if not kept_order(context, call, module.import_of(made.func)):
                return
            if node is None:
                context.plan.call(made).set("execution_options", IN_ORDER)
            else:
                context.plan.replace(node, IN_ORDER)
        return
    given = module.value(node)
    if not isinstance(given, ast.Call) or not _takes_order_by_name(module, given):
        context.manual(rule, node, UNSEEN, ADVICE)
    elif module.constant(keyword_argument(given, "preserve_order")) is not True and context.converts(
        rule, given, message
    ):
        context.plan.call(given).set("preserve_order", "True")


def _takes_order_by_name(module: Module, options: ast.Call) -> bool:
    """Whether a call makes ExecutionOptions, and gives preserve_order= by its name, or not at all."""
    is_short = len(options.args) <= PLACE_OF_ORDER  # the third or the fourth, as the version has it
    return module.qualified(options.func) in OPTIONS and is_short and not has_unpacking(options)
