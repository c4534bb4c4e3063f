"""RM481: metrics that the training function takes from the driver.

Ray pickles the training function of a script with what it reads of the script's globals and of the functions around it.
The class of a metric is in a module that `evaluate` writes when it loads the metric: `evaluate_modules.metrics...`.
A worker that has not loaded the metric has no such module. Measured with CPU workers: `fit()` ends with
"No module named 'evaluate_modules'", on Ray 2.60 as on 2.6.3; once the driver has called compute(), it ends on both
with a TypeError, as the metric cannot be pickled. `datasets.load_metric` had such a module too, `datasets_modules`,
which the legacy trainers made importable on the workers (2.7.2: transformers_trainer.py:50-64).

Tokenizers, models, datasets, numbers and argparse results travel as they did: nothing is said of them. Measured on Ray
2.60 with datasets 5.2, and on 2.6.3 with datasets 2.14.7: a Dataset in memory, one of the Hub, one that was mapped and
selected, a DatasetDict, an IterableDataset and an argparse.Namespace all reach the worker with their type, columns and
rows. A Dataset of the Hub travels as the paths of its files: workers on other nodes need the same cache, then as now.
"""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.renamed_names import names_for_evaluate
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.import_cleanup import goes_with_uses
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.metrics import LOAD, LOAD_METRIC
from raymigrate.facts.ray_train.trainers import trainer_calls
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.syntax.functions import is_static
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import BINDS, Assignment, is_assignment, only_target, targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS, Scope
from raymigrate.facts.values import all_arguments, reaching
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM481 = Rule(
    "RM481",
    "a metric that the workers take from the driver",
    "A metric cannot be sent to a worker: fit() fails with ModuleNotFoundError: No module named 'evaluate_modules'.",
    "The metric is loaded in the function that uses it. Where raymigrate cannot tell which function that is, load it"
    " there yourself.",
    "https://huggingface.co/docs/evaluate/a_quick_tour",
    errors=("No module named 'evaluate_modules'",),
)
MESSAGE = "Workers cannot unpickle a metric of the driver (No module named 'evaluate_modules')"
LOADERS = frozenset({*LOAD, *LOAD_METRIC})
IN_CLASSES = (ast.Assign, ast.AnnAssign)  # what gives an attribute of a class its value
# What holds a metric among others: `acc, f1 = load("accuracy"), load("f1")`, `{name: load(name) for name in names}`.
HOLDS = (ast.Tuple, ast.List, ast.Dict, ast.IfExp, ast.BoolOp, ast.ListComp, ast.DictComp)
FIRST_PARAMETERS = {"trainer_init_per_worker": TRAINERS, "train_loop_per_worker": TRAINERS | TORCH_TRAINERS}


@codemod("evaluate", "load_metric", phase=Phase.LIBRARIES)
def captured_metrics(context: Context) -> None:
    """Moves the loading of a metric into the function of the workers that uses it."""
    module = context.module
    loads = [(call, names) for call in module.calls(*sorted(LOADERS)) if (names := _names_of(module, call))]
    if not loads:
        return
    on_workers = worker_functions(module)
    for call, names in loads:
        if on_workers.isdisjoint(module.ancestors(call)):  # else it is loaded on the worker already
            _metric(context, call, names, on_workers)


def _names_of(module: Module, call: ast.Call) -> list[ast.Name]:
    """The names that a metric gets where it is loaded, by itself or with what holds it."""
    around: list[ast.AST] = [call]
    while isinstance(outer := module.parent_of[around[-1]], HOLDS) and not _is_asked(outer, around[-1]):
        around.append(outer)
    if not isinstance(outer, BINDS):
        return []
    bound = (part for target in targets_of(outer) for part in ast.walk(target) if isinstance(part, ast.Name))
    return [name for name in bound if isinstance(name.ctx, ast.Store) and module.assigned(name) in around]


def _is_asked(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether a value is asked whether it is true, and is not what comes of it: `load()` of `1 if load() else 2`.

    A new metric has the length 0 (evaluate 0.4.6: module.py:253): `load() or x` is x, and `load() and x` is not.
    """
    if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.Or):
        return inner is not outer.values[-1]
    return isinstance(outer, ast.IfExp) and inner is outer.test


def given_functions(module: Module) -> list[ast.AST | None]:
    """What a module gives to trainers as the code of their workers."""
    calls = (call for first, names in FIRST_PARAMETERS.items() for call in trainer_calls(module, names, first))
    return [call.function for call in calls]


def worker_functions(module: Module) -> set[ast.AST]:
    """The functions of a module that run on workers: those given to trainers, and those that they name."""
    return reached_functions(module, given_functions(module))


def reached_functions(module: Module, roots: Iterable[ast.AST | None]) -> set[ast.AST]:
    """Some functions of a module, and those that they name.

    Args:
        module: The module.
        roots: The functions; what is something else counts for nothing.
    """
    waiting = list(roots)
    found = set[ast.AST]()  # and the statements of classes that give the values which are read
    while waiting:
        code = waiting.pop()
        if not isinstance(code, (*FUNCTIONS, ast.ClassDef, *IN_CLASSES)) or code in found:
            continue
        found.add(code)
        for node in module.below(code):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                waiting += _named(module, node)
            elif isinstance(node, ast.Lambda) and isinstance(code, IN_CLASSES):
                waiting.append(node)  # called by the name of the value
    return {code for code in found if not isinstance(code, IN_CLASSES)}


def _named(module: Module, name: ast.Name) -> list[ast.AST]:
    """What a name may stand for.

    Of a class whose static method is called by it, that method: it reaches no other. Of one of which a value is read,
    such as `Job.base`, the statement that gives the value.
    """
    definition, parent = module.definition(name), module.parent_of[name]
    if isinstance(definition, ast.ClassDef) and isinstance(parent, ast.Attribute):
        for part in definition.body:
            if isinstance(part, FUNCTIONS) and part.name == parent.attr:
                return [part if is_static(part) else definition]
            if isinstance(part, IN_CLASSES) and _gives(part, parent.attr):
                return [part]
    return [definition] if definition is not None else [binding.node for binding in reaching(module, name)]


def _gives(part: ast.Assign | ast.AnnAssign, name: str) -> bool:
    """Whether a statement in a class gives an attribute a value."""
    targets = targets_of(part)
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _metric(context: Context, call: ast.Call, names: list[ast.Name], on_workers: set[ast.AST]) -> None:
    """Deals with the first name by which workers get a metric."""
    module = context.module
    for target in names:
        scope = module.bound_in(target)
        uses = [use for use in module.uses_of(target) if use is not call.func]  # `metric = metric("accuracy")`
        if scope and any(set(_functions_around(module, use, scope.node)) & on_workers for use in uses):
            _move(context, call, target, scope, uses)
            return


def _move(context: Context, call: ast.Call, target: ast.Name, scope: Scope, uses: list[ast.Name]) -> None:
    """Loads a metric in the functions that use it, or tells of it."""
    module, statement = context.module, context.module.parent_of[call]
    users = {next(reversed(list(_functions_around(module, use, scope.node))), None) for use in uses}
    functions = [user for user in users if isinstance(user, ast.FunctionDef)]
    sure = (
        is_assignment(statement)
        and len(functions) == len(users)
        and _is_bound_once(context, target, scope, call)
        and _stands_alone(module, statement)
        and _means_the_same_everywhere(module, call)
        and (len(functions) == 1 or all(_only_computes(module, use) for use in uses))
    )
    source = _source(context, call)
    if not is_assignment(statement) or not sure or source is None:
        context.manual(RM481, call, f"{MESSAGE}: fit() fails.", "Load the metric in the function that uses it.")
    elif context.converts(RM481, call, f"{MESSAGE}; now it is loaded in the function that uses it."):
        context.plan.statement(statement).removed = True
        line = f"{comments_of(module, statement)}{target.id} = {source}\n"
        for function in functions:
            context.plan.function(function).body_start.append(Code(line))


def _functions_around(module: Module, node: ast.AST, end: ast.AST) -> Iterator[ast.AST]:
    """The functions around a node, from the inside out, as far as the one whose scope is `end`."""
    for ancestor in module.ancestors(node):
        if ancestor is end:
            return
        if isinstance(ancestor, FUNCTIONS):
            yield ancestor


def _is_bound_once(context: Context, name: ast.Name, scope: Scope, call: ast.Call) -> bool:
    """Whether nothing else has the name of a metric: an import that goes had it before, at most."""
    others = [binding for binding in scope.bindings[name.id] if binding.node is not name]
    reference = context.module.reference_at.get(call.func)
    own = reference.binding if reference is not None else None
    return all(
        other is own
        and isinstance(other.node, ast.alias)
        and other.statement is not None
        and goes_with_uses(context, other.statement, other.node)
        for other in others
    )


def _stands_alone(module: Module, statement: Assignment) -> bool:
    """Whether a statement has one target, its own lines, and no condition but `if __name__ == "__main__"`."""
    parent = module.parent_of[statement]
    main = isinstance(parent, ast.If) and "__name__" in ast.unparse(parent.test) and statement in parent.body
    body = getattr(parent, "body", [])
    return (
        only_target(statement) is not None
        and (isinstance(parent, (ast.Module, ast.FunctionDef)) or main)
        and not any(other is not statement and other.lineno <= statement.lineno <= _last(other) for other in body)
        and not any(statement.lineno < other.lineno <= _last(statement) for other in body)
    )


def _last(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _means_the_same_everywhere(module: Module, call: ast.Call) -> bool:
    """Whether the arguments of a call are constants, or names that are bound once, to constants."""
    values = all_arguments(call)
    return all(k.arg is not None for k in call.keywords) and all(module.constant(value) is not ... for value in values)


def _only_computes(module: Module, use: ast.Name) -> bool:
    """Whether a use hands everything over in one call, `metric.compute(predictions=..., references=...)`."""
    attribute = module.parent_of[use]
    owner = module.parent_of.get(attribute)
    return (
        isinstance(attribute, ast.Attribute)
        and attribute.attr == "compute"
        and isinstance(owner, ast.Call)
        and bool(owner.args or owner.keywords)
    )


def _source(context: Context, call: ast.Call) -> str | None:
    """The source of the call as it will be, or None where `load_metric` stays."""
    module = context.module
    if module.qualified(call.func) not in LOAD_METRIC:
        return module.source(call)
    if module.reference_at[call.func].root not in context.rewritten:
        return None
    names = [f"{name}=" for name in names_for_evaluate(call)] or [""] * len(call.args)
    arguments = [f"{name}{module.source(given)}" for name, given in zip(names, call.args, strict=True)]
    arguments += map(module.source, call.keywords)
    return f"evaluate.load({', '.join(arguments)})"
