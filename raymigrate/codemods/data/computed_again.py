"""RM518: datasets whose rows a function of the user's makes again, each time that they are asked for.

Ray 2.0 to 2.3 mapped a Dataset at once. 2.6.3 and 2.9.3, data/_internal/plan.py, `execute`: count() and to_pandas()
kept the rows that they had made. 2.60, data/dataset.py: both run the plan and keep no rows (split(), size_bytes() and
materialize() do); to_pandas(limit=) counts them first. Measured on 2.60: count() and then to_pandas(limit=) called a
function three times for each group.
"""

import ast
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.parquet_filters import gives_a_filter
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_data.datasets import is_dataset, is_mapped
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, assigned, is_none, reads

KEPT_UNTIL = (2, 9)  # the last version that was looked at
KEEPS = ("count", "to_pandas")
# Methods that run all of the plan, as these do.
RUNS = frozenset(
    [
        *("aggregate", "iter_batches", "iter_rows", "iter_tf_batches", "iter_torch_batches", "max", "mean", "min"),
        *("split", "std", "sum", "take_all", "to_tf", "unique", "write_csv", "write_json", "write_numpy"),
        *("train_test_split", "write_parquet", "write_tfrecords"),
        *KEEPS,
    ]
)
ROWS_KEYS = ("num_rows", "num_train_rows")  # those that shared/train_function.py makes; a number may follow
RM518 = Rule(
    "RM518",
    "a mapped Dataset that is asked for its rows again",
    "Ray until 2.3 mapped a Dataset once, and until 2.9 count() and to_pandas() kept the rows that they made. Now the"
    " functions given to map_batches(), map_groups() and similar methods are called again by each method that asks for"
    " rows: it takes as long again, and other random numbers give other rows.",
    ".materialize() after the last of these methods keeps the rows.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.materialize.html",
    unproven="The rows are the same where the functions draw no random numbers; how often one is called was measured.",
)


@dataclass(frozen=True)
class Run:
    """A method call that runs the plan of a Dataset.

    Args:
        call: The call.
        name: The method.
    """

    call: ast.Call
    name: str


@codemod(*KEEPS, phase=Phase.LIBRARIES)
def computed_again(context: Context) -> None:
    """Materializes a mapped Dataset whose rows legacy Ray kept, where all that runs it stands beside it."""
    module = context.module
    if not module.attributes(*KEEPS) or not _was_kept(context):  # the second reads lists of requirements
        return
    seen = set[ast.AST]()
    for _, method in module.method_calls(*KEEPS):
        target = module.definition(method.value)
        made = assigned(module, target) if target is not None and target not in seen else None
        if not isinstance(target, ast.Name) or not isinstance(made, ast.Call) or not isinstance(method.value, ast.Name):
            continue
        seen.add(target)
        runs = _runs(module, method.value)
        again = _run_again(runs)
        if again is not None and is_dataset(module, made) and is_mapped(module, made):
            _materialize(context, target, made, runs, again)


def _was_kept(context: Context) -> bool:
    """Whether the module was written for a Ray that kept the rows."""
    is_old = context.of_legacy_job or context.from_ray.highest <= KEPT_UNTIL or gives_a_filter(context.module)
    return is_old and context.from_ray.lowest <= KEPT_UNTIL


def _runs(module: Module, dataset: ast.Name) -> list[Run]:
    """The calls that run the Dataset which a name has at one use, in the order in which they run."""
    found = []
    for use in reads(module, dataset) or ():
        method = module.parent_of[use]
        call = module.calling(method)
        if call is None or not isinstance(method, ast.Attribute) or method.attr not in RUNS:
            continue
        if not _is_number_of_rows(module, call):
            found.append(Run(call, method.attr))
    return sorted(found, key=lambda run: module.end(run.call))  # arguments come first


def _is_number_of_rows(module: Module, call: ast.Call) -> bool:
    """Whether a conversion gave its workers the result as their number of rows: RM107 told then what that costs."""
    entry = module.parent_of[call]
    key: object = entry.arg if isinstance(entry, ast.keyword) else None
    if isinstance(entry, ast.Dict):
        written = entry.keys[entry.values.index(call)]
        key = module.constant(written) if written is not None else None
    around = (each.arg for each in module.ancestors(call) if isinstance(each, ast.keyword))
    return str(key).startswith(ROWS_KEYS) and "train_loop_config" in around


def _run_again(runs: list[Run]) -> Run | None:
    """The first call that makes rows again which legacy Ray had kept; Ray 2.60 knows the number after a whole run."""
    kept = False
    for number, run in enumerate(runs):
        counts = run.name == "count" and any(earlier.name != "count" for earlier in runs[:number])
        limit = argument(run.call, 0, "limit") if run.name == "to_pandas" else None
        if (kept and not counts) or (limit is not None and not is_none(limit)):
            return run
        kept |= run.name in KEEPS
    return None


def _materialize(context: Context, target: ast.Name, made: ast.Call, runs: list[Run], again: Run) -> None:
    module = context.module
    block = module.parent_of[module.parent_of[target]]
    keeps = next(run for run in runs if run.name in KEEPS)
    message = f"{again.name}() makes the rows of {target.id} again, which legacy Ray had kept"
    if module.parent_of[module.statement(keeps.call)] is not block:
        advice = f"Call .materialize() once before the first of them: {target.id} = {target.id}.materialize()."
        context.manual(RM518, again.call, f"{message}.", advice)
    elif context.converts(RM518, again.call, f"{message}; now materialize() keeps them."):
        planned = context.plan.expressions.get(made, Code("$mapped", {"mapped": made}))  # such as without .lazy()
        context.plan.replace(made, f"{planned.template}.materialize()", **planned.parts)
