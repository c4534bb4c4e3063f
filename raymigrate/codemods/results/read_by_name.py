"""RM304, RM308, RM604, RM607: what results and checkpoints no longer have, asked for by its name, as a text.

`getattr(checkpoint, f"to_{form}")()`, `map(attrgetter("log_dir"), results)`, `case Result(log_dir=folder)`.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.checkpoint_dicts import OPENED, RM304
from raymigrate.codemods.ray_air.ray_checkpoint import RM308
from raymigrate.codemods.results.checkpoint_readers import OTHER_ATTRIBUTES, OTHER_FORMS
from raymigrate.codemods.results.checkpoint_uris import RM607
from raymigrate.codemods.results.results import ATTRIBUTES, RM604, of_trainer
from raymigrate.facts.projects.declared import is_declared
from raymigrate.facts.ray_train.framework_checkpoints import is_of_any_class
from raymigrate.facts.ray_train.results import RESULTS, is_any_checkpoint, trainers_of
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import Source, class_named, free_name
from raymigrate.facts.values.asked_names import LOOKED_UP, NO_MATCH, RAISES, WORDS, Asked, asked_names

PATH = "result.path is the folder of the run, a str."
OF_RESULTS = {"log_dir": PATH, "config": ATTRIBUTES["config"][1], "dataset_stats": ATTRIBUTES["dataset_stats"][1]}
OF_CHECKPOINTS: dict[str, tuple[Rule, str]] = {
    "to_dict": (RM304, OPENED),
    "uri": (RM607, RM607.fix),
    **{name: (RM308, advice) for name, advice in (OTHER_FORMS | OTHER_ATTRIBUTES).items()},
}
HERE = "Ask for what is there: result.path; checkpoint.path, as_directory() and to_directory()."
CONFIG, DEPRECATED = "config", "raises a DeprecationWarning"  # a property (2.60 train/v2/api/result.py:158)
PREPARED = {"getattr": 3, "hasattr": 2}  # what is prepared for an AttributeError, with the number of arguments
CHECKPOINT = "checkpoint"  # the attribute of a result


@codemod(*WORDS, "hasattr", phase=Phase.RESULTS)
def read_by_name(context: Context) -> None:
    """Tells of names that results and checkpoints do not have, where texts ask for them."""
    module = context.module
    for asked in asked_names(module):
        unsure = list[str]()
        for rule, of, path, advice in _gone(asked):
            name = path.rpartition(".")[2]
            if is_guarded(module, asked.node, name) or _is_asked_before(asked):
                continue
            if not asked.is_sure_of(path):
                unsure.append(name)
                continue
            outcome = "is not there, so that this case never fits" if asked.outcome == NO_MATCH else asked.outcome
            if (rule, name) == (RM604, CONFIG) and asked.outcome != LOOKED_UP:
                outcome = DEPRECATED
            since = "2.51" if rule is RM604 else "2.7"
            message = f"{of}.{name} {outcome} on Ray >= {since}."
            if rule is RM604 and name != "log_dir":
                message = of_trainer(message, asked.owner, sure=_is_of_trainer(asked.owner))
            context.manual(rule, asked.node, message, advice)
        if unsure:
            names = " or ".join(unsure)
            message = f"Where this asks for {names}: it {RAISES} on current Ray."
            context.manual(RM604 if unsure[0] in OF_RESULTS else RM308, asked.node, message, HERE)
    for call in module.of_type(ast.Call):
        if free_name(module, call.func) in PREPARED and _asks_for_config(module, call):
            message = of_trainer(
                f"result.{CONFIG} {DEPRECATED} on Ray >= 2.51, here too.", Source(module, call.args[0])
            )
            context.manual(RM604, call, message, OF_RESULTS[CONFIG])


def _asks_for_config(module: Module, call: ast.Call) -> bool:
    """Whether `hasattr()`, or `getattr()` with a default, is asked for what raises another error than they catch."""
    is_whole = len(call.args) == PREPARED[free_name(module, call.func)] and not call.keywords
    if not is_whole or module.constant(call.args[1]) != CONFIG:
        return False
    return _is_result(Source(module, call.args[0]))


def _gone(asked: Asked) -> Iterator[tuple[Rule, str, str, str]]:
    """What an object no longer has of the names it is asked for: the rule, what it is, the name, and what to do."""
    of_result = [name for name in OF_RESULTS if asked.may_be(name)]
    within = [path for name in OF_CHECKPOINTS if asked.may_be(path := f"{CHECKPOINT}.{name}")]
    of_checkpoint = [name for name in OF_CHECKPOINTS if asked.may_be(name)]
    if (of_result or within) and _is_result(asked.owner) and _fits(asked, "Result"):
        yield from ((RM604, "result", name, OF_RESULTS[name]) for name in of_result)
        for path in within:
            rule, advice = OF_CHECKPOINTS[path.rpartition(".")[2]]
            yield rule, "Checkpoint", path, advice
    if of_checkpoint and _is_checkpoint(asked.owner) and _fits(asked, "Checkpoint"):
        for name in of_checkpoint:
            rule, advice = OF_CHECKPOINTS[name]
            yield rule, "Checkpoint", name, advice


def _fits(asked: Asked, name: str) -> bool:
    """Whether the class of a pattern, if there is one, is that of Ray with a name, or is not seen."""
    if asked.cls is None:
        return True
    module = asked.owner.module
    qualified = module.qualified(asked.cls)
    if qualified is not None and qualified.startswith("ray."):
        return qualified.endswith(name)
    return qualified is None and class_named(module, asked.cls) is None


def _is_asked_before(asked: Asked) -> bool:
    """Whether a test around getattr() asks the same object for the same name: `hasattr(one, name)`, `in dir(one)`."""
    module, name = asked.owner.module, asked.name
    if name is None:
        return False
    child = asked.node
    for outer in module.ancestors(asked.node):
        tests = list[ast.expr]()
        if isinstance(outer, (ast.If, ast.IfExp)):
            tests = [outer.test] if child in (outer.body if isinstance(outer, ast.If) else [outer.body]) else []
        elif isinstance(outer, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            tests = [test for loop in outer.generators for test in loop.ifs]
        if any(_asks(test, asked.owner.node, name) for whole in tests for test in _all_of(whole)):
            return True
        if isinstance(outer, FUNCTIONS):
            return False
        child = outer
    return False


def _all_of(test: ast.expr) -> list[ast.expr]:
    """The conditions that all have to be met."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _asks(test: ast.expr, owner: ast.expr, name: ast.expr) -> bool:
    """Whether a condition is `hasattr(owner, name)` or `name in dir(owner)`."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[one, asked]):
            found = (one, asked)
        case ast.Compare(left=asked, ops=[ast.In()], comparators=[ast.Call(func=ast.Name(id="dir"), args=[one])]):
            found = (one, asked)
        case _:
            return False
    return [ast.dump(part) for part in found] == [ast.dump(owner), ast.dump(name)]


def _is_of_trainer(owner: Source) -> bool:
    """Whether a trainer may have given an object as its result."""
    return bool(trainers_of(owner.module, owner.node) - {None})


def _is_result(owner: Source) -> bool:
    """Whether an object is the result of a trainer, or may be one and nothing else of Ray."""
    return _is_of_trainer(owner) or is_declared(owner.module, owner.node, RESULTS)


def _is_checkpoint(owner: Source) -> bool:
    module, node = owner.module, owner.node
    is_known = not isinstance(node, ast.Constant) and is_any_checkpoint(module, node)
    return is_known or is_of_any_class(module, node)
