"""RM512: Ray Data that a script runs through Ray Client.

Measured on Ray 2.60 (docs/semantics/data.md#ray-client): what runs a plan of Ray Data fails in a client, since it
registers callbacks in the core worker (data/_internal/execution/block_ref_counter.py:29), which a client does not have.
Making a Dataset and mapping it runs nothing; neither do count(), split() and to_pandas() of rows that are in memory
already. Showing a Dataset fails only if it has its rows, which are fetched then (facts/ray_data/shown_data.py).
TorchTrainer.fit() works, with datasets too: these are run in the cluster.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from raymigrate.base.findings import Rule
from raymigrate.base.words import listed
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.environment import ENVIRON
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_data.datasets import is_dataset, is_in_memory, is_mapped
from raymigrate.facts.ray_data.shown_data import fetches_rows, shown
from raymigrate.facts.ray_train.connections import CONNECTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_none, keyword_argument, leading_text
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

RM512 = Rule(
    "RM512",
    "Ray Data run through Ray Client",
    "A script that connects with ray:// is a client outside of the cluster, and cannot run Ray Data on current Ray: an"
    " AttributeError. Training works, with datasets too, and so does Ray Data in a remote function.",
    "Take the address out of ray.init() and run the script in the cluster (`ray job submit`), or move what runs the"
    " data into a function with @ray.remote, and use the Dataset that it returns.",
    "https://docs.ray.io/en/latest/cluster/running-applications/job-submission/ray-client.html",
    errors=("'Worker' object has no attribute 'core_worker'",),
    unproven="It takes a cluster that serves clients, which needs grpc.",
)

SUBMIT = "ray job submit --address http://HEAD:8265 --working-dir ."
ADDRESS = "ray://"
ENDS = ("ray.shutdown", "ray.util.disconnect")
VARIABLE = "RAY_ADDRESS"
# Methods of a Dataset that always run its plan, and those that do so unless its rows are in memory already.
RUNS = frozenset(
    [
        *(
            "aggregate",
            "iter_batches",
            "iter_rows",
            "iter_tf_batches",
            "iter_torch_batches",
            "max",
            "mean",
            "min",
            "show",
        ),
        *("std", "sum", "take", "take_all", "take_batch", "to_tf", "to_torch", "unique", "write_csv", "write_json"),
        *("write_numpy", "write_parquet"),
    ]
)
RUNS_A_PLAN = frozenset(
    [
        *("count", "fully_executed", "materialize", "size_bytes", "split", "split_at_indices", "to_pandas"),
        "train_test_split",
    ]
)
# Those that run a plan if it maps the rows: what comes of them is not known before.
ASKS_A_PLAN = ("columns", "schema")


@codemod("ray", phase=Phase.RESULTS)
def ray_client(context: Context) -> None:
    """Reports a connection of a client beside Ray Data that the client runs."""
    connections = list(_connections(context.module))
    if not connections:
        return
    runs = sorted({run for node, run in _runs(context) if _is_connected(context.module, connections, node)})
    if runs:
        several = f"{listed(runs)} raise{'' if len(runs) > 1 else 's'}"
        message = f"Through Ray Client {several} an AttributeError today: a client cannot run Ray Data."
        context.manual(RM512, connections[0], message, _advice(context, connections))


def _advice(context: Context, connections: Sequence[ast.AST]) -> str:
    """What to do with these connections. A job has RAY_ADDRESS in its environment, which ray.init() then reads.

    An address that the script itself gives, or writes there, stays one of a client in a job as well (2.60
    _private/worker.py:1686, dashboard/modules/job/job_supervisor.py:283).
    """
    steps = list(dict.fromkeys(_step(context.module, connection) for connection in connections))
    name = PurePath(context.path)
    if name.suffix == ".ipynb":
        steps.insert(0, "save the code of the notebook as a script, without magics")
    first = ", ".join(steps)
    script = name.with_suffix(".py").name if name.suffix else "SCRIPT"
    given = [keyword_argument(call, "runtime_env") for call in connections if isinstance(call, ast.Call)]
    once = ", with no field in the runtime_env of ray.init() that the job's has too" if any(given) else ""
    return (
        f"{first[0].upper()}{first[1:]}, and run it in the cluster: `{SUBMIT} -- python {script}`{once}. Or do what"
        " runs the data in a function with @ray.remote, and use the Dataset that it returns."
    )


def _step(module: Module, connection: ast.AST) -> str:
    """What keeps a script in the cluster from being a client."""
    if not isinstance(connection, ast.Call):
        return f"take out the line that sets {VARIABLE}"
    if module.qualified(connection.func) != "ray.init":
        return "write ray.init() in place of what connects"
    several = keyword_argument(connection, "allow_multiple") is not None
    return f"take the address {'and allow_multiple ' if several else ''}out of ray.init()"


def _connections(module: Module) -> Iterator[ast.AST]:
    """Where a script says that it is a client of a cluster, in source order."""
    for call in module.calls("ray.init", *CONNECTS):
        address = argument(call, 0, "address")
        name = module.qualified(call.func)
        if name != "ray.init" or (address is not None and _is_client_address(module, address)):
            yield call
    for text in module.of_type(ast.Constant):
        if text.value == VARIABLE and (value := _set_to(module, text)) is not None:
            if _is_client_address(module, value):
                yield text


def _set_to(module: Module, key: ast.Constant) -> ast.expr | None:
    """What a variable of the environment is set to where its name stands; None where it is not."""
    outer = module.parent_of[key]
    if isinstance(outer, ast.Subscript) and module.qualified(outer.value) == ENVIRON:
        return module.assigned(outer)
    is_set = called_name(module, outer) == f"{ENVIRON}.setdefault"
    return argument(outer, 1, "value") if is_set and isinstance(outer, ast.Call) else None


def _is_client_address(module: Module, node: ast.expr) -> bool:
    return any(leading_text(found.module, found.node).startswith(ADDRESS) for found in module.origins(node))


def _is_connected(module: Module, connections: Sequence[ast.AST], node: ast.AST) -> bool:
    """Whether one of the connections may be open when code is run; of functions it is not known when they are."""
    if not _is_at_top(module, node):
        return True
    line = module.start(node)[0]
    ends = [module.start(call)[0] for call in module.calls(*ENDS) if _is_at_top(module, call)]
    for connection in connections:
        start = module.start(connection)[0]
        closes = isinstance(connection, ast.Call) and any(start < end < line for end in ends)  # a variable stays
        if not _is_at_top(module, connection) or (start < line and not closes):
            return True
    return False


def _is_at_top(module: Module, node: ast.AST) -> bool:
    return isinstance(module.scope_of[node].node, ast.Module)


def _runs(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """What has a plan of Ray Data run where the script runs, as it stands in the finding, and where."""
    module = context.module
    for call, method in module.method_calls(*RUNS, *RUNS_A_PLAN):
        if is_dataset(module, method.value) and _is_on_driver(context, call):
            if method.attr in RUNS or not is_in_memory(module, method.value):
                yield call, f"{method.attr}()"
    for call, method in module.method_calls(*ASKS_A_PLAN):
        if is_dataset(module, method.value) and is_mapped(module, method.value) and _is_on_driver(context, call):
            yield call, f"{method.attr}()"
    for value in shown(module, is_notebook=context.path.endswith(".ipynb")):
        if _is_on_driver(context, value) and fetches_rows(module, value):
            yield value, "showing a Dataset"
    for call in module.calls(*TRAINERS, *TORCH_TRAINERS):
        datasets, preprocessor = keyword_argument(call, "datasets"), keyword_argument(call, "preprocessor")
        if datasets is None or not _is_on_driver(context, call):
            continue
        if preprocessor is not None and not is_none(preprocessor):
            yield call, "materialize()"  # which takes its place
        elif module.qualified(call.func) in TRANSFORMERS_TRAINERS:
            train = (module.entries(datasets) or {}).get("train")
            if train is not None and is_dataset(module, train) and not is_in_memory(module, train):
                yield call, "count()"  # of the training data, for the length of an epoch


def _is_on_driver(context: Context, node: ast.AST) -> bool:
    """Whether code may run in the script's own process: neither on workers nor in a task or an actor."""
    if context.place_of(node) is not Place.UNKNOWN:
        return False
    around = [outer for outer in context.module.ancestors(node) if hasattr(outer, "decorator_list")]
    return not any("remote" in ast.unparse(decorator) for outer in around for decorator in outer.decorator_list)
