"""RM808: classes of arguments that a plain script defines, and that its workers need.

Ray sends a class of the script by what is in it (cloudpickle), as a worker cannot import the script. Three things are
not as they were then (measured with Ray 2.60 and transformers 5.23):

* The fields of a dataclass come with copies of `dataclasses.MISSING`. HfArgumentParser compares by identity: a field
  without a default is optional for it, and a list with `default=`, of which TrainingArguments have some, is a TypeError
  (transformers/hf_argparser.py:223).
* The Trainer saves its arguments with torch.save (transformers/trainer.py:4453), which names their class; pickle looks
  for it in `__main__`, which is a script of Ray on a worker. So it does for other objects that a script saves whole.
* Annotations that are text, as all are below `from __future__ import annotations`, HfArgumentParser looks up in the
  module of the class, `__main__` again (transformers/hf_argparser.py:258): a RuntimeError, "Type resolution failed".
"""

import ast
from collections import deque
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.trainer_calls import defines_arguments
from raymigrate.facts.projects.command_lines import parsers_of_dataclasses
from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.torch.saved_objects import saved_classes
from raymigrate.facts.values import argument

RM808 = Rule(
    "RM808",
    "a class of arguments that a plain script defines",
    "A worker gets a class of the script as a copy. HfArgumentParser no longer sees there which fields have no default,"
    " does not find types that are text (from __future__ import annotations),"
    " and fails for a class made from TrainingArguments; a Trainer that saves such arguments fails too, since pickle"
    " does not find their class.",
    "With --to-ray the driver sends dataclasses.MISSING by its name, and the workers put the class where pickle looks"
    " for it. A class in a file of its own, which the workers can import, needs neither.",
    "https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled",
    errors=("'_MISSING_TYPE' object is not callable",),
)
SENT_BY_NAME = 'copyreg.pickle(type(MISSING), lambda _: "MISSING")  # workers compare with it: no copies of it'
NOT_FOUND = "Pickling objects of {} on a worker would raise a PicklingError; now pickle finds the class there."
TYPES = "The parser of a worker would not find {}, the type of a field, and raise a RuntimeError; now it does."
TYPE_NAMED = 'sys.modules["__main__"].{name} = {name}  # the parser looks for types there'
NAMED = 'sys.modules["__main__"].{name} = {name}  # pickle looks for it there'


def send_missing(context: Context, outline: Outline) -> None:
    """Lets a parser of the workers see which fields of the script's dataclasses have no default.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module = context.module
    parsers = [call for call in parsers_of_dataclasses(module) if outline.is_for_workers(call)]
    sent = [each for each in _classes(outline) if outline.roles.of[each] is Role.DEFINITION]
    read = [each for each in _classes(outline) if any(_is_read(module, call, each) for call in parsers)]
    _name_types(context, outline, read)
    parsed = next((each for each in sent if each in read), None)
    message = "On a worker the parser would not see which fields have no default"
    if parsed is not None and context.converts(
        RM808, parsed, f"{message}; now dataclasses.MISSING is sent by its name."
    ):
        context.plan.need_import("copyreg")
        context.plan.need_import("dataclasses", "MISSING")
        outline.support.append(SENT_BY_NAME)


def _name_types(context: Context, outline: Outline, read: list[ast.ClassDef]) -> None:
    """Lets a parser of the workers find the types of the fields whose annotations are text.

    Args:
        context: The module.
        outline: What is planned for it.
        read: The classes that such a parser reads.
    """
    classes = list(_with_bases(context.module, read))
    found = {name: each for each in reversed(classes) for name in _names_in_texts(context.module, each)}
    moved = {name for step in outline.roles.moved() for name in outline.script.bound(step)}
    for name, definition in sorted(found.items(), key=lambda item: item[0]):
        if name not in moved and context.converts(RM808, definition, TYPES.format(name)):
            context.plan.need_import("sys")
            outline.start.append(TYPE_NAMED.format(name=name))


def _with_bases(module: Module, classes: list[ast.ClassDef]) -> Iterator[ast.ClassDef]:
    """Classes, and those of the module that they are made from, whose fields they have."""
    waiting, seen = deque(classes), set[ast.ClassDef]()
    while waiting:
        definition = waiting.popleft()
        if definition not in seen:
            seen.add(definition)
            yield definition
            bases = (module.definition(base) for base in definition.bases)
            waiting += [base for base in bases if isinstance(base, ast.ClassDef)]


def _names_in_texts(module: Module, definition: ast.ClassDef) -> Iterator[str]:
    """The names of the module in the annotations of a class that are text while it runs."""
    is_text = any(isinstance(found, ast.ImportFrom) and found.module == "__future__" for found in module.imports)
    known = module.scope_of[module.tree].bindings
    for field in (statement for statement in definition.body if isinstance(statement, ast.AnnAssign)):
        parts = ast.walk(field.annotation) if "Literal" not in names_in(field.annotation) else ()
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        trees = [tree for text in texts if (tree := _parsed(text)) is not None]
        trees += [field.annotation] if is_text else []
        yield from (name for tree in trees for name in sorted(names_in(tree)) if name in known)


def _parsed(text: str) -> ast.expr | None:
    """A text as the type that it names; None for one that is no code: `Literal["no such type"]`."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def name_classes(context: Context, outline: Outline) -> None:
    """Lets the Trainer of a worker save arguments whose class the script defines.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    for definition in _classes(outline):
        if not defines_arguments(context.module, definition) or _is_base_only(context.module, definition):
            continue
        if outline.roles.of[definition].moves:
            message = "The class moves into the training function, where pickle does not find it: the Trainer fails"
            advice = "Let the class read nothing that the training makes, so that it can stay where it is."
            context.manual(RM808, definition, f"{message} when it saves its arguments.", advice)
            continue
        message = "The Trainer of a worker could not save its arguments; now pickle finds their class there."
        if context.converts(RM808, definition, message):
            context.plan.need_import("sys")
            outline.start.append(NAMED.format(name=definition.name))


def name_saved_classes(context: Context, outline: Outline) -> None:
    """Lets a worker pickle objects whose class the script defines.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module = context.module
    saved = [(each, call) for call, home, each in saved_classes(module) if home is module]
    saved = [(each, call) for each, call in saved if module.function(each) is None]  # else nobody could pickle it
    of_workers = run_by_workers(outline) if saved else set()
    by_workers = {each: call for each, call in saved if outline.script.step_of(call) in of_workers}
    for definition, call in by_workers.items():
        if NAMED.format(name=definition.name) in outline.start:
            continue
        if outline.roles.of[definition].moves:
            message = f"pickle does not find {definition.name} on a worker, which is made in the training function: a"
            advice = "Let the class read nothing that the training makes, and stand at the top of the script."
            context.manual(RM808, call, f"{message} PicklingError.", advice)
        elif context.converts(RM808, definition, NOT_FOUND.format(definition.name)):
            context.plan.need_import("sys")
            outline.start.append(NAMED.format(name=definition.name))


def _classes(outline: Outline) -> list[ast.ClassDef]:
    """The classes that the module defines for all of its code."""
    classes = [step for step in outline.script.steps if isinstance(step, ast.ClassDef)]
    return [definition for definition in classes if not outline.script.is_in_main(definition)]


def _is_read(module: Module, parser: ast.Call, definition: ast.ClassDef) -> bool:
    """Whether a parser reads a class of the module; where it is given a variable, it may be each dataclass."""
    given = argument(parser, 0, "dataclass_types")
    names = [part for part in ast.walk(given) if isinstance(part, ast.Name)] if given is not None else []
    meant = [module.definition(name) for name in names]
    if names and all(isinstance(m, ast.ClassDef) or module.qualified(n) for m, n in zip(meant, names, strict=True)):
        return definition in meant
    makers = decorators_of(definition)
    return any(module.qualified(maker) == "dataclasses.dataclass" for maker in makers)


def _is_base_only(module: Module, definition: ast.ClassDef) -> bool:
    """Whether a class is there for others to be made from, so that no instance is of this very class."""
    uses = module.uses_of(definition)
    return bool(uses) and all(isinstance(module.parent_of[use], ast.ClassDef) for use in uses)
