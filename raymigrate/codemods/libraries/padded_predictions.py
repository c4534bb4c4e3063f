"""RM752, for what Seq2SeqTrainer generates in an evaluation: its rows are filled up with -100, which is no token.

trainer_seq2seq.py, `prediction_step`: up to 4.27 what a batch generated was padded to the length that generate() was
asked for, so that all batches had one. Since 4.30 it is padded to max_length of the model's generation_config, 20 by
default, whatever generation_max_length= says. Trainer then fills up the shorter batches with -100
(`pad_across_processes`), and `batch_decode` raises an OverflowError (measured with 5.23).
"""

import ast
import builtins
from collections.abc import Collection, Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.tokenizer_calls import is_tokenizer
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.generation import RM752
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import BINDS
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FUNCTIONS, FunctionNode
from raymigrate.facts.values import argument, called_name, is_method_call, last_name, reaching

DECODES = {"batch_decode": ("sequences",), "decode": ("token_ids",)}  # and the name of what is decoded
METRICS = "compute_metrics"
PREDICTIONS = "predictions"
MESSAGE = (
    "Seq2SeqTrainer fills up generated rows with -100 since transformers 4.30, where batches differ in length:"
    " a tokenizer raises an OverflowError for it"
)
ADVICE = "Decode numpy.where({0} != -100, {0}, tokenizer.pad_token_id) in its place."
BIND = "Bind it to a name first, as numpy.where() reads it twice: {0} = {1}."
COUNTED = "-100, with which Seq2SeqTrainer fills up generated rows since transformers 4.30, counts here as a token too."
PUT = (
    "Put the tokenizer's padding token in its place where the predictions are bound:"
    " {0} = numpy.where({0} != -100, {0}, tokenizer.pad_token_id)."
)
SEQ2SEQ = "Seq2SeqTrainer"
HANDED_ON = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)
FILLING = {"numpy.putmask": "a", "numpy.copyto": "dst", "numpy.place": "arr"}  # with the name of what they fill
SHOWING = frozenset({"debug", "display", "info", "log", "logging", "pprint", "print", "show", "warning"})
ASKING = frozenset({"isinstance", "len", "type", "dtype", "ndim", "shape", "size"})  # for what no token says
MOST_NAMES = 8  # through which predictions go, one after the other


@codemod(*DECODES, phase=Phase.LIBRARIES)
def padded_predictions(context: Context) -> None:
    """Puts the padding token in place of -100 where the predictions of a Trainer are decoded as they are."""
    module = context.module
    decoded = {
        given: method.value
        for given, method in _decoded(module)
        if _are_predictions(module, given, module.offset(given))
    }
    if not decoded or not _may_generate(module) or not is_for_old_transformers(context):
        return
    for given, tokenizer in decoded.items():
        arrays = _numpy(module, given)
        if any(isinstance(node, ast.Call) for node in ast.walk(given)):  # which would be made twice
            advice = f"{BIND.format(PREDICTIONS, module.source(given))} {ADVICE.format(PREDICTIONS)}"
            context.manual(RM752, given, f"{MESSAGE}.", advice)
        elif arrays is None or not isinstance(tokenizer, ast.Name) or not is_tokenizer(module, tokenizer):
            context.manual(RM752, given, f"{MESSAGE}.", ADVICE.format(module.source(given)))
        elif context.converts(RM752, given, f"{MESSAGE}; now the padding token in its place."):
            source = f"{arrays}.where($given != -100, $given, {tokenizer.id}.pad_token_id)"
            context.plan.replace(given, source, given=given)
    for read in _read_elsewhere(module, decoded):
        context.manual(RM752, read, COUNTED, PUT.format(read.id))


def _decoded(module: Module) -> Iterator[tuple[ast.expr, ast.Attribute]]:
    """What is decoded, at once or row by row, each with the method that does it."""
    for call, method in module.method_calls(*DECODES):
        given = argument(call, 0, *DECODES[method.attr])
        if given is not None and method.attr == "batch_decode":
            yield given, method
        elif isinstance(given, ast.Name) and not _is_filled(module, given, module.offset(given)):
            row = module.definition(given)
            loop = module.parent_of.get(row) if row is not None else None
            if isinstance(loop, (ast.For, ast.comprehension)):
                yield loop.iter, method


def _may_generate(module: Module) -> bool:
    """Whether the predictions can be those of a Seq2SeqTrainer: the file has one, or none at all, as one of metrics."""
    return SEQ2SEQ in module.text or "Trainer" not in module.text


def _are_predictions(module: Module, node: ast.expr, at: int, depth: int = 0) -> bool:
    """Whether an expression is the array of predictions that a Trainer hands over, with nothing done to it up to `at`.

    Args:
        at: Where the array is used, as an offset in the text.
        depth: Through how many names the array went.
    """
    if depth > MOST_NAMES or not isinstance(node, HANDED_ON) or _is_filled(module, node, at):
        return False
    if isinstance(node, ast.IfExp):
        return all(_are_predictions(module, branch, at, depth + 1) for branch in (node.body, node.orelse))
    if isinstance(node, ast.Attribute):
        return node.attr == PREDICTIONS and _has_predictions(module, node.value)
    if isinstance(node, ast.Subscript):  # `predictions[0]`, where they are a tuple; `eval_predictions[0]`
        is_first = module.constant(node.slice) == 0
        return is_first and (_is_evaluated(module, node.value) or _are_predictions(module, node.value, at, depth + 1))
    found = reaching(module, node)
    return bool(found) and all(_binds_predictions(module, binding.node, at, depth) for binding in found)


def _binds_predictions(module: Module, target: ast.AST, at: int, depth: int) -> bool:
    parent = module.parent_of.get(target)
    if isinstance(parent, (ast.Tuple, ast.List)):  # `predictions, labels = eval_predictions`
        statement = module.parent_of[parent]
        is_first = isinstance(statement, ast.Assign) and parent.elts[0] is target
        return is_first and isinstance(statement, ast.Assign) and _has_predictions(module, statement.value)
    if isinstance(parent, ast.Assign) and isinstance(parent.value, HANDED_ON):
        return _are_predictions(module, parent.value, at, depth + 1)
    return False


def _is_filled(module: Module, node: ast.expr, at: int) -> bool:
    """Whether items of an array are set before `at`, under the same name, or as the same attribute in its function."""
    if isinstance(node, ast.Name):
        return any(module.offset(use) < at and _fills(module, use) for use in module.uses_of(node))
    function, source = module.function(node), module.source(node)
    same = module.attributes(node.attr) if isinstance(node, ast.Attribute) else module.of_type(type(node))
    return any(
        module.offset(use) < at and _fills(module, use) and module.source(use) == source
        for use in same
        if module.function(use) is function
    )


def _fills(module: Module, use: ast.expr) -> bool:
    """Whether items of an array are set where it is read: `predictions[predictions == -100] = 0`, `fill(array)`."""
    parent = module.parent_of[use]
    if isinstance(parent, ast.Subscript):
        return parent.value is use and isinstance(parent.ctx, ast.Store)
    call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return False
    if (filled := FILLING.get(called_name(module, call))) is not None:
        return argument(call, 0, filled) is use
    return module.is_statement(call) and _is_own(module, call.func)


def _is_own(module: Module, called: ast.expr) -> bool:
    """Whether what is called is a function of the file or the project, and by its name not one that shows things."""
    if not SHOWING.isdisjoint(last_name(called).split("_")):
        return False
    if (name := module.qualified(called)) is not None:
        return name.partition(".")[0] not in LIBRARIES
    if isinstance(called, ast.Name):
        return not hasattr(builtins, called.id)
    return is_of_self(called)


def _read_elsewhere(module: Module, decoded: Collection[ast.expr]) -> Iterator[ast.Name]:
    """Where predictions that have a name, and are decoded, are read besides: the first place of each in a function."""
    seen: set[tuple[FunctionNode | None, str]] = set()
    for given in decoded:
        for read in module.uses_of(given):
            place = module.function(read), read.id
            if place in seen or place[0] is not module.function(given) or read in decoded:
                continue
            if _takes_tokens(module, read) and _are_predictions(module, read, module.offset(read)):
                seen.add(place)
                yield read


def _takes_tokens(module: Module, read: ast.Name) -> bool:
    """Whether what is read of an array may be counted or compared, not shown, filled, asked for its shape or named."""
    if _fills(module, read) or "-100" in module.source(module.statement(read)):
        return False
    node: ast.AST = read
    while isinstance(outer := module.parent_of[node], (*HANDED_ON, ast.Tuple)):
        if last_name(outer) in ASKING:
            return False
        node = outer
    called = last_name(outer.func) if isinstance(outer, ast.Call) else ""
    return not isinstance(outer, BINDS) and called not in ASKING and SHOWING.isdisjoint(called.split("_"))


def _has_predictions(module: Module, node: ast.expr) -> bool:
    """Whether an object has the predictions of a Trainer, as the first of its parts too."""
    made = module.value(node)
    return (is_method_call(made, "predict") and SEQ2SEQ in module.text) or _is_evaluated(module, node)


def _is_evaluated(module: Module, node: ast.expr) -> bool:
    """Whether an expression is what a function of metrics gets: its first parameter."""
    parameter = module.definition(node)
    function = module.function(parameter) if isinstance(parameter, ast.arg) else None
    if not isinstance(function, FUNCTIONS):
        return False
    names = [each for each in parameters(function) if each.arg not in ("self", "cls")]
    given = _given_before(module, function)
    return given is not None and names[given : given + 1] == [parameter]


def _given_before(module: Module, function: FunctionNode) -> int | None:
    """How many arguments a function has that a Trainer calls for its metrics; None if it does not call it."""
    if getattr(function, "name", "") == METRICS:
        return 0
    owner = module.parent_of[function] if getattr(function, "name", "") == "__call__" else None
    for _, keyword in module.keywords(METRICS):
        for source in module.origins(keyword.value, elsewhere=False):
            made = source.node if isinstance(source.node, ast.Call) else None
            if made is not None and module.qualified(made.func) == "functools.partial" and made.args:
                if _is_named(module, made.args[0], function):
                    return len(made.args) - 1
            elif _is_named(module, source.node, function):
                return 0
            if made is not None and owner is not None and module.definition(made.func) is owner:
                return 0
    return None


def _is_named(module: Module, node: ast.expr, function: FunctionNode) -> bool:
    """Whether an expression is a function: its name, a method of that name, or the lambda itself."""
    if isinstance(node, ast.Name):
        return module.definition(node) is function
    return node is function or (isinstance(node, ast.Attribute) and node.attr == getattr(function, "name", ""))


def _numpy(module: Module, node: ast.AST) -> str | None:
    """The name by which a script calls numpy at a place; None where it has none."""
    scope = module.scope_of[node]
    names = [
        alias.asname or alias.name
        for statement in module.imports
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.name == "numpy"
    ]
    return next((name for name in names if module.meanings(scope, name) == {"numpy"}), None)
