"""What TrainingArguments are given once they are made: by an attribute, `setattr()`, `vars()`, methods of theirs.

`args.seed = 1`, `setattr(args, "seed", 1)`, `args.set_training(seed=1)`. Such a method sets all of its fields, those
that it is not given to defaults of its own (transformers 5.23, training_args.py:2225).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.facts.hugging_face.argument_objects import is_arguments_object
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, has_unpacking, is_call_by_name, is_method_call
from raymigrate.facts.values.dicts import value_of_key

BATCH = "per_device_train_batch_size"
# The methods with their parameters, in order, and the fields that these are; None for what no rule asks for.
SETTERS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "set_training": (
        ("learning_rate", "learning_rate"),
        ("batch_size", BATCH),
        ("weight_decay", "weight_decay"),
        ("num_epochs", "num_train_epochs"),
        ("max_steps", "max_steps"),
        ("gradient_accumulation_steps", "gradient_accumulation_steps"),
        ("seed", "seed"),
    ),
    "set_evaluate": (("strategy", "eval_strategy"), ("steps", "eval_steps")),
    "set_save": (("strategy", "save_strategy"), ("steps", "save_steps"), ("total_limit", "save_total_limit")),
    "set_logging": (("strategy", "logging_strategy"), ("steps", "logging_steps"), ("report_to", "report_to")),
    "set_lr_scheduler": (("name", None), ("num_epochs", "num_train_epochs"), ("max_steps", "max_steps")),
    "set_dataloader": (
        ("train_batch_size", BATCH),
        ("eval_batch_size", "per_device_eval_batch_size"),
        ("drop_last", "dataloader_drop_last"),
        ("num_workers", "dataloader_num_workers"),
    ),
}


@dataclass(frozen=True)
class Setting:
    """A place where a field gets a value.

    Args:
        place: The attribute, the key, the call of setattr(), or what a method is given for it: the call where that is
            nothing.
        owner: The object.
        value: The value; None where it is a default of the method, or is not seen.
    """

    place: ast.AST
    owner: ast.expr
    value: ast.expr | None

    @property
    def is_default(self) -> bool:
        """Whether a method sets the field though it is not given a value for it."""
        return self.value is None and isinstance(self.place, ast.Call)


def later_settings(module: Module, name: str) -> list[Setting]:
    """The places where a field gets a value, in source order; attributes of this name of any object.

    Args:
        module: The module.
        name: The field.
    """
    stores = [Setting(store, store.value, module.assigned(store)) for store in module.stores(name)]
    found = (*stores, *_by_call(module).get(name, ()), *_by_fields(module, name))
    return sorted(found, key=lambda setting: module.start(setting.place))


def _by_fields(module: Module, name: str) -> Iterator[Setting]:
    """Values that a field gets in the dict of an object: `vars(args)["seed"] = 1`, `args.__dict__.update(seed=1)`."""
    for word in module.spelling(name):
        outer = module.parent_of[word]
        if isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Store):
            if (owner := _of_fields(module, outer.value)) is not None:
                yield Setting(word, owner, module.assigned(outer))
        elif (value := value_of_key(module, word)) is not None:
            if (owner := _updated(module, module.parent_of[outer])) is not None:
                yield Setting(word, owner, value)
    for call, keyword in module.keywords(name):
        if (owner := _updated(module, call)) is not None:
            yield Setting(keyword, owner, keyword.value)


def _updated(module: Module, call: ast.AST) -> ast.expr | None:
    """The object whose fields `update()` gives values."""
    return _of_fields(module, call.func.value) if is_method_call(call, "update") else None


def _of_fields(module: Module, given: ast.expr) -> ast.expr | None:
    """The object whose fields a dict holds: `vars(args)`, `args.__dict__`, perhaps by a name."""
    node = module.value(given)
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    return node.args[0] if is_call_by_name(node, "vars") and len(node.args) == 1 else None


@kept
def settings_by_name(module: Module) -> list[ast.Call]:
    """The calls of setattr() on TrainingArguments."""
    return [call for call, _ in _setattr_calls(module) if is_arguments_object(module, call.args[0])]


@kept
def unseen_settings(module: Module) -> list[ast.Call]:
    """The calls of `settings_by_name` whose field is not seen, without those that a test for the field guards."""
    calls = [call for call in settings_by_name(module) if not isinstance(module.constant(call.args[1]), str)]
    return [call for call in calls if not _is_tested(module, call)]


def _is_tested(module: Module, call: ast.Call) -> bool:
    """Whether the function of a call asks whether there is such a field, and can raise."""
    asked = [ast.unparse(given) for given in call.args[:2]]
    block = module.function(call) or module.tree
    tests = (test for test in module.named_calls("hasattr") if module.inside(test, block))
    is_asked = any([ast.unparse(given) for given in test.args] == asked for test in tests)
    return is_asked and any(isinstance(part, (ast.Raise, ast.Assert)) for part in ast.walk(block))


@kept
def _by_call(module: Module) -> dict[str, list[Setting]]:
    found: dict[str, list[Setting]] = {}
    for call, name in _setattr_calls(module):
        if isinstance(name, str):
            found.setdefault(name, []).append(Setting(call, call.args[0], call.args[2]))
    for call, method in module.method_calls(*SETTERS):
        owner = _owner(method)
        if has_unpacking(call) or not is_arguments_object(module, owner):
            continue
        for number, (parameter, field) in enumerate(SETTERS[method.attr]):
            value = argument(call, number, parameter)
            if field is not None:
                found.setdefault(field, []).append(Setting(value or call, owner, value))
    return found


def _setattr_calls(module: Module) -> Iterator[tuple[ast.Call, object]]:
    for call in module.named_calls("setattr"):
        if len(call.args) == 3 and not has_unpacking(call):
            yield call, module.constant(call.args[1])


def _owner(method: ast.Attribute) -> ast.expr:
    """The object that a method sets fields of; each gives it back: `args.set_save(steps=5).set_training(seed=1)`."""
    owner = method.value
    while is_method_call(owner, *SETTERS):
        owner = owner.func.value
    return owner
