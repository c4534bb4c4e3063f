"""RM701 where a class made from transformers' Trainer is called: it hands `tokenizer=` on, and Trainer refuses it."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.transformers_arguments import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.functions import parameters
from raymigrate.facts.instances import TRAINING_ARGUMENTS, instance_of, library_base
from raymigrate.facts.keys import keys_of
from raymigrate.facts.module import Module
from raymigrate.facts.values.members import is_empty
from raymigrate.knowledge.libraries import LIBRARIES, constructor, lineage, look_up, takes

OLD, NEW = "tokenizer", "processing_class"
LOOKS = (ast.Subscript, ast.Compare, ast.Attribute)  # kwargs["key"], "key" in kwargs, kwargs.pop("key")
Made = tuple[Module, ast.ClassDef]


@codemod(OLD, phase=Phase.LIBRARIES)
def tokenizer_of_subclasses(context: Context) -> None:
    """Renames the argument where it is seen to reach Trainer, and reports it where it may."""
    module = context.module
    for call, keyword in module.keywords(OLD):
        if NEW in {other.arg for other in call.keywords}:
            continue
        line = _constructors(module, call)
        if not any(isinstance(found, str) and _is_trainer(found) for found in line):
            if not _looks_like_trainer(context, call):
                continue
        reaches = _reaches_trainer(line)
        message = f"{OLD}= raises a TypeError today"
        if reaches and context.converts(RM701, keyword, f"{message}; now {NEW}=."):
            context.plan.call(call).rename[OLD] = NEW
        elif reaches is None:
            name = ast.unparse(call.func)
            advice = f"Write {NEW}= here, and wherever {name} itself takes the tokenizer or hands it on."
            context.manual(RM701, keyword, f"{message}, if {name} hands its arguments to Trainer.", advice)


def _class_of(module: Module, node: ast.expr) -> Made | None:
    """The class of the project that an expression is."""
    found = module.definition(node)
    if isinstance(found, ast.ClassDef):
        return module, found
    other = module.elsewhere(node)
    return (other.module, other.node) if other is not None and isinstance(other.node, ast.ClassDef) else None


def _is_trainer(name: str) -> bool:
    """Whether a class of a library is a Trainer, for all that its constructor shows."""
    taken = constructor(look_up(name).place)
    return taken is not None and takes(taken, NEW)


def _looks_like_trainer(context: Context, call: ast.Call) -> bool:
    """Whether a class of which not all can be seen is called as a Trainer: with a model and TrainingArguments."""
    name = context.module.qualified(call.func)
    made = _class_of(context.module, call.func)
    is_derived = made is not None and bool(made[1].bases) and not library_base(*made)
    if not is_derived and (name is None or name.partition(".")[0] in LIBRARIES):
        return False
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return {"model", "args"} <= given.keys() and (
        TRAINING_ARGUMENTS in lineage(instance_of(context.module, given["args"]))
    )


def _constructors(module: Module, call: ast.Call) -> list[Made | str]:
    """The classes whose constructors a call may run, in their order; those of libraries by name.

    `Own(...)` runs its own, `super().__init__(...)` those after it, `Base.__init__(self, ...)` those of the base.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "__init__":
        made = _class_of(module, call.func)
        return list(_line(*made, set())) if made is not None else []
    owner = call.func.value
    if isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super":
        around = next((outer for outer in module.ancestors(call) if isinstance(outer, ast.ClassDef)), None)
        return list(_line(module, around, set()))[1:] if around is not None else []
    made = _class_of(module, owner)
    return list(_line(*made, set())) if made is not None else [module.qualified(owner) or ""]


def _reaches_trainer(line: list[Made | str]) -> bool | None:
    """Whether the argument reaches Trainer as it is, when the constructors of some classes run one after the other.

    Returns:
        False where a constructor takes it, and may do with it what it wants; None where that cannot be seen.
    """
    for found in line:
        if isinstance(found, str):  # of a library
            return _is_trainer(found) or None
        module, node = found
        own = (method for method in node.body if isinstance(method, ast.FunctionDef) and method.name == "__init__")
        init = next(own, None)
        if init is not None and OLD in {parameter.arg for parameter in parameters(init)}:
            return False
        if init is not None and not _hands_on(module, init):
            return None
    return None


def _line(module: Module, node: ast.ClassDef, seen: set[ast.ClassDef]) -> Iterator[Made | str]:
    """A class and its bases, in the order in which their constructors call each other; those of libraries by name."""
    seen.add(node)
    yield module, node
    for base in node.bases:
        parent = _class_of(module, base)
        if parent is None and not is_empty(module, base):
            yield module.qualified(base) or ""
        elif parent is not None and parent[1] not in seen:
            yield from _line(*parent, seen)


def _hands_on(module: Module, init: ast.FunctionDef) -> bool:
    """Whether a constructor gives the next one what it does not know, `super().__init__(..., **kwargs)`, untouched."""
    name = init.args.kwarg.arg if init.args.kwarg is not None else ""
    uses = module.uses(name, module.scope(init)) if name else []
    handed = [use for use in uses if _is_handed_on(module, use)]
    read = {key for use in handed for key, _ in keys_of(module, use).reads}
    given_away = any(use not in handed and not isinstance(module.parent_of[use], LOOKS) for use in uses)
    return bool(handed) and not given_away and OLD not in read


def _is_handed_on(module: Module, use: ast.Name) -> bool:
    keyword = module.parent_of[use]
    call = module.parent_of[keyword]
    if not isinstance(keyword, ast.keyword) or keyword.arg is not None or not isinstance(call, ast.Call):
        return False
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
