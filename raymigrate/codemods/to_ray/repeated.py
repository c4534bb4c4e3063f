"""Scripts that train several times: folds, settings, one stage after the other.

All of it is one run of the workers, as it was one run of the script. No training goes on from a checkpoint of Ray then,
which may be that of another; a run that fails starts with the first again, as the script did.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.arrivals import arrivals, calls_of
from raymigrate.codemods.to_ray.refusals import Reason
from raymigrate.codemods.to_ray.script import uses_of_function
from raymigrate.codemods.to_ray.step_kinds import SETTINGS
from raymigrate.codemods.to_ray.trainer_calls import Training, common_branch, may_both_run
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.torch.random_draws import draws
from raymigrate.facts.values import called_name, free_name, reaching
from raymigrate.facts.values.moments import asks_now

LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
GENERATORS = ("random.Random", "numpy.random.RandomState", "numpy.random.default_rng")
ANEW = (
    "The script trains several times, now within one run of the workers: where that fails Ray starts with the first"
    " training again, and result.checkpoint, where there is one, is of the last."
)

ASKED_BY_EACH = (
    "Each worker asks this for itself, at another moment: where the answers differ, one trains and waits for the others"
    " for ever."
)
ASK_ONCE = (
    "Ask above the training function, on the driver; or on the first worker, whose answer"
    " ray.train.collective.broadcast_from_rank_zero() gives to all."
)


def repeats(module: Module, training: Training) -> bool:
    """Whether a script trains several times: in a loop, at several places, or in a function that is called often."""
    if len(training.trains) > 1 and common_branch(module, training.trains) is None:
        return True
    for call in arrivals(module, training.trains):
        function = module.function(call)
        if _loops(module, call) or (isinstance(function, ast.FunctionDef) and is_often_called(module, function)):
            return True
    return False


def unfit_to_repeat(module: Module, training: Training) -> Reason | None:
    """Why a script that trains several times is left as it is; None for any other."""
    if not training.trains or not repeats(module, training):
        return None
    reached = arrivals(module, training.trains)
    for call in reached:
        if any(_goes_on(module, tried, reached, set()) for tried in _catching(module, call)):
            message = "The training is tried, and another follows where it fails: one worker may fail alone, while the"
            return Reason(call, f"{message} others wait for it. Take it out of the `try`.")
    if (again := _trained_again(module, training.trains)) is not None:
        return again
    chance = next((call for call in module.calls(*GENERATORS) if not call.keywords and not any(call.args)), None)
    if chance is not None:
        message = f"{module.source(chance.func)} is given no seed: on each worker it draws something else"
        return Reason(chance, f"{message}, by which the trainings may differ. Give it one.")
    drawn = next(draws(module, "NumPy", "Python"), None)
    if drawn is not None and not any(_is_seed(name) for name in _called(module)):
        message = f"{module.source(drawn.func)} draws without a seed, on each worker something else"
        return Reason(
            drawn, f"{message}, by which the trainings may differ. Set a seed above: transformers.set_seed(42)."
        )
    return None


def tell_choices(context: Context, rule: Rule, training: Training) -> None:
    """Tells of conditions by which some workers may train where others do not: on the time, or on what is there.

    Args:
        context: The module.
        rule: The rule that tells.
        training: What trains in it, several times.
    """
    module = context.module
    reached = arrivals(module, training.trains)
    tests = dict.fromkeys(test for call in reached for test in _tests(module, call, reached))
    for test in tests:
        if asked := next(asks_now(module, test), None):
            context.manual(rule, asked, ASKED_BY_EACH, ASK_ONCE)


def _tests(module: Module, call: ast.Call, reached: Sequence[ast.Call]) -> Iterator[ast.expr]:
    """The conditions on which a training depends, asked behind another one or between those of a loop."""
    function, loops = module.function(call), _loops(module, call)
    often = [function] if isinstance(function, ast.FunctionDef) and is_often_called(module, function) else []
    for outer in _around(module, call):
        if not isinstance(outer, (ast.While, ast.If)):
            continue
        is_between = bool(often) or outer in loops or any(module.inside(outer, loop) for loop in loops)
        if is_between or any(
            module.function(other) is function and module.start(other) < module.start(outer) for other in reached
        ):
            yield outer.test
    for block in (*loops, *often):
        for part in module.below(block):
            if isinstance(part, ast.If) and module.function(part) is function and _leaves(module, part, block):
                yield part.test


def is_often_called(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a function is called several times: at several places, in a loop, or for each item of something."""
    calls = calls_of(module, function)
    return len(calls) > 1 or _is_mapped(module, function) or any(_loops(module, call) for call in calls)


def _leaves(module: Module, condition: ast.If, block: ast.AST | None) -> bool:
    """Whether a condition ends a loop or a turn of it, or a function."""
    for last in (condition.body[-1], *condition.orelse[-1:]):
        if isinstance(last, ast.Return):
            return True
        if isinstance(last, (ast.Continue, ast.Break)) and _loops(module, condition)[:1] == [block]:
            return True
    return False


def _around(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """What is around a node in its function, from the innermost on."""
    return takewhile(lambda ancestor: not isinstance(ancestor, FUNCTIONS), module.ancestors(node))


def _loops(module: Module, node: ast.AST) -> list[ast.AST]:
    """The loops around a node in its function, from the innermost on."""
    return [ancestor for ancestor in _around(module, node) if isinstance(ancestor, LOOPS)]


def _catching(module: Module, call: ast.Call) -> Iterator[ast.Try | ast.With]:
    """What is around a call in its function and goes on where it fails: `try`, `with contextlib.suppress(...)`."""
    for outer in _around(module, call):
        if isinstance(outer, ast.Try) and any(module.inside(call, part) for part in outer.body):
            if any(not _passes_on(module, handler) for handler in outer.handlers):
                yield outer
        elif isinstance(outer, ast.With):
            opened = (item.context_expr for item in outer.items if isinstance(item.context_expr, ast.Call))
            if any(module.qualified(one.func) == "contextlib.suppress" for one in opened):
                yield outer


def _passes_on(module: Module, handler: ast.ExceptHandler) -> bool:
    """Whether a handler lets the script end: it raises again, or is there for Ctrl-C."""
    if handler.type is not None and free_name(module, handler.type) == "KeyboardInterrupt":
        return True
    return isinstance(handler.body[-1], ast.Raise)


def _goes_on(module: Module, node: ast.AST, reached: Sequence[ast.Call], seen: set[ast.AST]) -> bool:
    """Whether another training comes behind some code, in its function or in what calls that."""
    function = module.function(node)
    body = node.body if isinstance(node, (ast.Try, ast.With)) else [node]
    for call in reached:
        is_behind = module.function(call) is function and module.start(call) > module.start(node)
        if is_behind and may_both_run(module, node, call) and not any(module.inside(call, part) for part in body):
            return True
    if _loops(module, node):
        return True
    if not isinstance(function, ast.FunctionDef) or function in seen:
        return False
    seen.add(function)
    calls = calls_of(module, function)
    return is_often_called(module, function) or any(_goes_on(module, call, reached, seen) for call in calls)


def _is_mapped(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a function is given to one that calls it for each item: `map(run, folds)`."""
    given = (module.parent_of[use] for use in uses_of_function(module, function))
    return any(isinstance(call, ast.Call) and free_name(module, call.func) in ("map", "filter") for call in given)


def _trained_again(module: Module, trains: Sequence[ast.Call]) -> Reason | None:
    """Why a script is left in which one Trainer trains twice: it would report each checkpoint as often."""
    for call in trains:
        trainer = call.func.value  # type: ignore[attr-defined]
        if isinstance(trainer, ast.Call):
            continue
        if not (isinstance(trainer, (ast.Name, ast.Attribute)) and _is_made_anew(module, trainer, call)):
            message = f"The Trainer that trains several times may be the same each time (`{module.source(trainer)}`)"
            return Reason(call, f"{message}; make a new one where it trains.")
    earlier: defaultdict[ast.AST | str, list[ast.Call]] = defaultdict(list)
    for other in trains:
        for trainer in _trainers_of(module, other):
            for one in earlier[trainer]:
                if may_both_run(module, one, other) and not _is_kept_between(module, one, other):
                    lines = own_lines(module, one, other)
                    return Reason(other, f"One Trainer trains twice ({lines}); make a new one for each training.")
            earlier[trainer].append(other)
    return None


def _trainers_of(module: Module, call: ast.Call) -> Collection[ast.AST | str]:
    """What a call may train: where its Trainer gets a name, or the attribute that it is kept as."""
    trainer = call.func.value  # type: ignore[attr-defined]
    if isinstance(trainer, ast.Name):
        return _made_at(module, trainer, {})
    return {ast.unparse(trainer)} if isinstance(trainer, ast.Attribute) else set()


def _is_kept_between(module: Module, one: ast.Call, other: ast.Call) -> bool:
    """Whether an attribute may hold another Trainer at the second of two calls."""
    trainer = one.func.value  # type: ignore[attr-defined]
    if not isinstance(trainer, ast.Attribute):
        return False
    is_near = module.function(one) is module.function(other)
    return not is_near or any(one.lineno < kept.lineno < other.lineno for kept in _kept_as(module, trainer))


def _made_at(module: Module, name: ast.Name, seen: dict[ast.AST, None]) -> dict[ast.AST, None]:
    """Where names get a Trainer that one name may stand for, which others may be given before it."""
    for binding in reaching(module, name):
        if binding.node not in seen:
            seen[binding.node] = None
            if isinstance(value := module.assigned(binding.node), ast.Name):
                _made_at(module, value, seen)
    return seen


def _is_made_anew(module: Module, trainer: ast.Name | ast.Attribute, call: ast.Call) -> bool:
    """Whether a Trainer gets its name where it trains: in the same function, within the same loops."""
    function, loops = module.function(call), _loops(module, call)
    if isinstance(trainer, ast.Attribute):
        return any(_comes_before(module, kept, call, loops) for kept in _kept_as(module, trainer))
    for made in _made_at(module, trainer, {}):
        if isinstance(made, ast.arg) or module.function(made) is not function:
            return False
        if loops and not module.inside(made, loops[0]):
            return False
    return True


def _kept_as(module: Module, trainer: ast.Attribute) -> Iterator[ast.stmt]:
    """The statements that keep a Trainer as an attribute: `self.trainer = Trainer(...)`."""
    wanted = ast.unparse(trainer)
    for target in module.stores(trainer.attr):
        if is_assignment(statement := module.parent_of[target]) and ast.unparse(target) == wanted:
            yield statement


def _comes_before(module: Module, kept: ast.stmt, call: ast.Call, loops: Sequence[ast.AST]) -> bool:
    """Whether each time a call is made a statement was carried out before it, for this time."""
    is_beside = module.function(kept) is module.function(call) and module.is_in_block_of(call, kept)
    return is_beside and kept.lineno < call.lineno and (not loops or module.inside(kept, loops[0]))


def _called(module: Module) -> Iterator[str]:
    for call in module.of_type(ast.Call):
        yield called_name(module, call)


def _is_seed(name: str) -> bool:
    return name.startswith(SETTINGS) and "seed" in name
