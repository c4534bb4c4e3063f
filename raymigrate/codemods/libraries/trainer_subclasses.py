"""RM701 where a class made from transformers' Trainer is called: it hands `tokenizer=` on, and Trainer refuses it."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import TRAINING_ARGUMENTS, instance_of, library_base
from raymigrate.facts.ray_train.trainers import classes_behind
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import class_named, last_name, unpacked_dicts
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.constructors import Line, constructors, line_of, reaches
from raymigrate.knowledge.libraries import LIBRARIES, constructor, lineage, look_up, takes

OLD, NEW = "tokenizer", "processing_class"
MESSAGE = f"{OLD}= raises a TypeError today"
FIRST = ("model", "args")  # the first parameters of Trainer


@codemod(OLD, phase=Phase.LIBRARIES)
def tokenizer_of_subclasses(context: Context) -> None:
    """Renames the argument where it is seen to reach Trainer, and reports it where it may."""
    module = context.module
    for call, keyword in module.keywords(OLD):
        if NEW in {other.arg for other in call.keywords}:
            continue
        line = constructors(module, call)
        is_trainer = any(isinstance(found, str) and _is_trainer(found) for found in line)
        held = _arrivals_by_another_name(module, call) if not is_trainer else []
        if not is_trainer and not held and not _looks_like_trainer(module, call):
            continue
        arrives = (True if all(held) else None) if held else reaches(line, OLD, _is_trainer)
        if arrives and context.converts(RM701, keyword, f"{MESSAGE}; now {NEW}=."):
            context.plan.call(call).rename[OLD] = NEW
        elif arrives is None:
            _tell(context, call, keyword)


@codemod(OLD, phase=Phase.LIBRARIES)
def unpacked_tokenizer_of_subclasses(context: Context) -> None:
    """Reports it where it is unpacked out of a dict for a class that cannot be seen: `Own(model, args, **more)`."""
    module = context.module
    for call in module.of_type(ast.Call):
        unpacked = [keyword for keyword in call.keywords if keyword.arg is None]
        if not unpacked:
            continue
        line = constructors(module, call)
        is_derived = any(isinstance(found, str) and _is_trainer(found) for found in line)
        if is_derived and (len(line) < 2 or last_name(call.func) == "__init__"):
            continue  # Trainer itself, or handed on: dealt with where the dict is written, or the argument
        if reaches(line, OLD, _is_trainer) is False if is_derived else not _looks_like_trainer(module, call):
            continue
        for keyword in unpacked:
            if OLD in {entry.name for entry in carried(module, keyword.value).entries}:
                _tell(context, call, keyword)


def _arrivals_by_another_name(module: Module, call: ast.Call) -> list[bool | None]:
    """Whether the argument reaches Trainer, for each class that is called by another name: `self.trainer_class(...)`.

    Empty where none of them is made from Trainer by this project, and where it reaches none.
    """
    if class_named(module, call.func) is not None or module.qualified(call.func) is not None:
        return []
    held = list(classes_behind(module, call.func))
    if isinstance(call.func, ast.Name) and any(isinstance(one, str) for one in held):
        return []  # told where arguments of transformers' own Trainer are
    lines: list[Line] = [[one] if isinstance(one, str) else line_of(*one) for one in held]
    if not any(isinstance(one, tuple) for line in lines for one in line):
        return []
    found = [any(isinstance(one, str) and _is_trainer(one) for one in line) for line in lines]
    arrivals = [reaches(line, OLD, _is_trainer) if is_one else False for line, is_one in zip(lines, found, strict=True)]
    return arrivals if any(arrived is not False for arrived in arrivals) else []


@kept
def give_old_tokenizer(module: Module) -> bool:
    """Whether a call of a class made from Trainer hands it `tokenizer=`, which transformers 4 took.

    It may stand in a dict that is unpacked: `Own(model, args, **{"tokenizer": tokenizer})`.

    Args:
        module: The module.
    """
    for call in module.of_type(ast.Call):
        names = {keyword.arg for keyword in call.keywords}
        if NEW in names or names.isdisjoint((OLD, None)) or not reaches(constructors(module, call), OLD, _is_trainer):
            continue
        if OLD in names:
            return True
        # Only here: the dict that is unpacked in any other call may be long, and be unpacked in many.
        unpacked = {entry.name for given in unpacked_dicts(call) for entry in carried(module, given).entries}
        if OLD in unpacked and NEW not in unpacked:
            return True
    return False


def _tell(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    name = ast.unparse(call.func)
    advice = f"Write {NEW}= here, and wherever {name} itself takes the tokenizer or hands it on."
    context.manual(RM701, keyword, f"{MESSAGE}, if {name} hands its arguments to Trainer.", advice)


def _is_trainer(name: str) -> bool:
    """Whether a class of a library is a Trainer, for all that its constructor shows."""
    taken = constructor(look_up(name).place)
    return taken is not None and takes(taken, NEW)


def _looks_like_trainer(module: Module, call: ast.Call) -> bool:
    """Whether a class of which not all can be seen is called as a Trainer: with a model and TrainingArguments.

    A function may be what takes both by name; by position too many take them.
    """
    made = class_named(module, call.func)
    is_derived = made is not None and bool(made[1].bases) and not library_base(*made)
    names = _of_others(module, call.func)
    if not is_derived and not names:
        return False
    given = {keyword.arg: (module, keyword.value) for keyword in call.keywords if keyword.arg}
    if is_derived or any(name.rpartition(".")[2].lstrip("_")[:1].isupper() for name in names):
        given |= {name: (module, value) for name, value in zip(FIRST, call.args, strict=False)}
        for keyword in call.keywords:
            entries = carried(module, keyword.value).entries if keyword.arg is None else ()
            given |= {entry.name: (entry.module, entry.value) for entry in entries}
    return set(FIRST) <= given.keys() and TRAINING_ARGUMENTS in lineage(instance_of(*given["args"]))


def _of_others(module: Module, function: ast.expr) -> list[str]:
    """What is called, under whatever name, where that is imported, and not from a library whose classes are known."""
    held = (source.module.qualified(source.node) for source in module.origins(function))
    return [name for name in held if name is not None and name.partition(".")[0] not in LIBRARIES]
