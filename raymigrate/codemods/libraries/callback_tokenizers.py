"""RM725: the tokenizer that Trainer handed to callbacks.

transformers 4 called every method of a callback with `tokenizer=`; 5.23 calls it with `processing_class=` in its place
(trainer_callback.py, `CallbackHandler.call_event`).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.callbacks import EVENTS, event_methods
from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.syntax.functions import default_of, parameter_for, parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import is_method_call, method_of
from raymigrate.facts.values.keys import keys_of, taken_out

RM725 = Rule(
    "RM725",
    "the tokenizer that callbacks were given",
    "transformers >= 5 hands callbacks processing_class and no tokenizer: reading it raises a KeyError or gives None,"
    " and a parameter without a default raises a TypeError.",
    "processing_class takes its place: it is what the Trainer was given as processing_class=, the tokenizer.",
    GUIDE,
    errors=("missing 1 required positional argument: 'tokenizer'", "KeyError: 'tokenizer'"),
)
OLD, NEW = "tokenizer", "processing_class"
HANDED = f"Trainer hands callbacks no {OLD} today"
NOW = f"now {NEW}."


@dataclass(frozen=True)
class Handed:
    """The name of the dict in which a function gets what Trainer hands to a callback: `**kwargs`.

    Args:
        function: The function.
        name: The name.
    """

    function: FunctionNode
    name: str


@codemod(*EVENTS, phase=Phase.LIBRARIES)
def callback_tokenizers(context: Context) -> None:
    """Lets callbacks take `processing_class`, and reports what cannot be followed."""
    waiting = list[Handed]()
    for method in event_methods(context.module):
        _parameter(context, method)
        if method.args.kwarg is not None:
            waiting.append(Handed(method, method.args.kwarg.arg))
    for handed in waiting:  # which grows meanwhile
        waiting += [other for other in _dict(context, handed) if other not in waiting]


def _parameter(context: Context, method: ast.FunctionDef) -> None:
    """`def on_save(self, args, state, control, tokenizer=None, **kwargs)`: the parameter gets the new name."""
    found = {parameter.arg: parameter for parameter in parameters(method)}
    if OLD not in found:
        return
    module, parameter = context.module, found[OLD]
    needed = default_of(parameter, method.args) is None
    message = f"{HANDED}: {'a TypeError' if needed else 'this is always its default'}"
    if NEW in found:  # a method for both versions
        if needed:
            context.manual(RM725, parameter, f"{message}.", "Give it a default, None.")
        return
    uses = _uses(module, method)
    on_one_line = module.lines[method.body[0].lineno - 1][: method.body[0].col_offset].strip()
    if module.scope(method).find(NEW) is not None or (uses is None and on_one_line):
        context.manual(RM725, parameter, f"{message}.", f"Take {NEW} in its place.")
    elif context.converts(RM725, parameter, f"{message}; {NOW}"):
        edit = context.plan.function(method)
        edit.renamed[OLD] = NEW
        if uses is None:
            edit.body_start.append(Code(f"{OLD} = {NEW}"))
        for use in uses or ():
            context.plan.replace(use, NEW)
        for call in _calls_by_keyword(module, method.name):
            context.plan.call(call).rename[OLD] = NEW


def _uses(module: Module, method: ast.FunctionDef) -> list[ast.Name] | None:
    """The uses of the parameter; None where one of them cannot be given another name.

    That is so where the method assigns to it, and in f-strings: before Python 3.12 ast does not say where in them.
    """
    scope = module.scope(method)
    uses = module.uses(OLD, scope)
    in_text = any(isinstance(outer, ast.JoinedStr) for use in uses for outer in module.ancestors(use))
    return None if in_text or len(scope.bindings[OLD]) > 1 else uses


def _calls_by_keyword(module: Module, event: str) -> Iterator[ast.Call]:
    """Calls of an event of a callback that name the tokenizer: `super().on_save(..., tokenizer=tokenizer)`."""
    for call, _ in module.keywords(OLD):
        if is_method_call(call, event):
            yield call


def _dict(context: Context, handed: Handed) -> Iterator[Handed]:
    """Lets the reads of a dict ask for the new name, and finds where else what is in the dict goes."""
    module = context.module
    scope = module.scope(handed.function)
    uses = module.uses(handed.name, scope)
    if not uses or len(scope.bindings[handed.name]) > 1:
        return
    keys = keys_of(module, uses[0])
    read, set_here = {name for name, _ in keys.reads}, {name for name, _ in keys.strings}
    if NEW in read | set_here or OLD in set_here:  # for both versions, or with a tokenizer of its own
        return
    for name, key in keys.reads:
        if name == OLD:
            _key(context, key, is_placed=name not in keys.read_in_text)
    for use in uses:
        yield from _handed_on(context, use)


def _key(context: Context, key: ast.expr, *, is_placed: bool) -> None:
    message = f"{HANDED}: there is no such key"
    if not isinstance(key, ast.Constant) or not is_placed:
        context.manual(RM725, key, f"{message}.", f"Read {NEW}.")
    elif context.converts(RM725, key, f"{message}; {NOW}"):
        quote = context.module.source(key)[-1:]
        context.plan.replace(key, f"{quote}{NEW}{quote}")


def _handed_on(context: Context, use: ast.Name) -> Iterator[Handed]:
    """Where a dict goes from one of its uses: to another name, to a function as it is, or as the arguments of one."""
    module = context.module
    outer = module.parent_of[use]
    call = module.parent_of[outer] if isinstance(outer, ast.keyword) else outer
    copy = _copy(module, use)
    statement = module.parent_of[copy]
    if is_assignment(statement) and isinstance(target := targets_of(statement)[0], ast.Name):
        function = module.function(statement)
        yield from [Handed(function, target.id)] if function is not None else []
    elif copy is not use or not isinstance(call, ast.Call):
        return
    elif isinstance(outer, ast.keyword) and outer.arg is None:
        yield from _unpacked(context, call, use)
    else:
        for function in functions_behind(module, call.func):
            parameter = parameter_for(function, call, use, _is_bound(module, call, function))
            yield from [Handed(function, parameter)] if parameter else []


def _copy(module: Module, use: ast.Name) -> ast.expr:
    """The copy that is made of a dict: `dict(kwargs)`, `{**kwargs}`, `kwargs.copy()`; else the dict itself."""
    outer = module.parent_of[use]
    outer = module.parent_of[outer] if isinstance(outer, (ast.Attribute, ast.keyword)) else outer
    if isinstance(outer, ast.Call):
        made_by = module.source(outer.func)
        return outer if made_by in ("dict", f"{use.id}.copy") else use
    return outer if isinstance(outer, ast.Dict) and outer.keys[outer.values.index(use)] is None else use


def _is_bound(module: Module, call: ast.Call, function: FunctionNode) -> bool:
    """Whether a function is a method that a call calls of an object, which Python itself gives it."""
    owner = module.definition(getattr(call.func, "value", call.func))
    return isinstance(module.parent_of[function], ast.ClassDef) and not isinstance(owner, ast.ClassDef)


def _unpacked(context: Context, call: ast.Call, use: ast.Name) -> Iterator[Handed]:
    """`self.store(path, **kwargs)`: a function that takes the tokenizer of it is given that by name."""
    module = context.module
    if is_method_call(call, *EVENTS):
        return  # of another callback, which is looked at itself
    functions = [(module, function) for function in _called(module, call.func)]
    other = module.elsewhere(call.func) if not functions else None
    functions += [(other.module, other.function)] if other is not None and other.function is not None else []
    if not functions and _may_take_it(module, call.func):
        advice = f'If it takes {OLD}, write {OLD}={use.id}["{NEW}"] here.'
        context.manual(RM725, call, f"{HANDED}, and what {ast.unparse(call.func)}() takes cannot be seen.", advice)
    given = {keyword.arg for keyword in call.keywords} | taken_out(module, use)
    for home, function in functions:
        names = {parameter.arg for parameter in parameters(function)}
        if OLD in names:
            message = f"{HANDED}, which {ast.unparse(call.func)}() takes; {NOW}"
            if NEW not in names and OLD not in given and context.converts(RM725, call, message):
                context.plan.call(call).set(OLD, f'{use.id}["{NEW}"]')
        elif function.args.kwarg is not None and home is module:
            yield Handed(function, function.args.kwarg.arg)
        elif function.args.kwarg is not None and _reads_it(home, function, function.args.kwarg.arg):
            message = f"{HANDED}, and {ast.unparse(call.func)}() in {home.path} reads it."
            context.manual(RM725, call, message, f"Read {NEW} there.")


def _reads_it(module: Module, function: FunctionNode, name: str) -> bool:
    """Whether a function reads the tokenizer of the dict that it has the rest of its arguments in."""
    uses = module.uses(name, module.scope(function))
    read = {key for key, _ in keys_of(module, uses[0]).reads} if uses else set()
    return OLD in read and NEW not in read


def _called(module: Module, function: ast.expr) -> list[FunctionNode]:
    """The functions of a module that a call runs; that of a class is its `__init__`."""
    made = module.definition(function)
    return list(
        method_of(module, made, "__init__") if isinstance(made, ast.ClassDef) else functions_behind(module, function)
    )


def _may_take_it(module: Module, function: ast.expr) -> bool:
    """Whether a function that cannot be seen may be one for a tokenizer: no built-in one, and none of a library."""
    root = function
    while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if module.bound_in(root) is None:
        return False
    return (module.qualified(root) or "").partition(".")[0] not in LIBRARIES
