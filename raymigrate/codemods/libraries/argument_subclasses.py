"""RM701, RM704 and RM705 in classes made from TrainingArguments: fields that Trainer no longer reads, or whose default
is refused, and their own devices.

A field that TrainingArguments lost is one of the class alone where the class declares it: it is parsed, and no more.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES, VALUES
from raymigrate.codemods.libraries.argument_rules import RM701, RM705
from raymigrate.codemods.libraries.refused_values import MEANT_ALL
from raymigrate.codemods.libraries.trainer_methods import RM704
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.own_arguments import is_training_arguments
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import constants, has_unpacking, keyword_named
from raymigrate.facts.values.constructors import is_dataclass
from raymigrate.facts.values.members import field_default

RENAMED = {name: change.name for name, change in TRAINING_ARGUMENTS_CHANGES.items() if change.name is not None}
SWITCHES = {name: change.value for name, change in TRAINING_ARGUMENTS_CHANGES.items() if change.otherwise is not None}
DEVICES, STATE = "_setup_devices", "distributed_state"


@codemod(*RENAMED, phase=Phase.LIBRARIES)
def lost_fields(context: Context) -> None:
    """Tells of fields of the script's own that had a meaning for Trainer, unless the class makes something of them."""
    module = context.module
    for home in module.of_type(ast.ClassDef):
        found = [field for field in _fields(home) if field.id in RENAMED]
        if not found or not _is_arguments(module, home):
            continue
        for field in found:
            new = RENAMED[field.id]
            if module.stores(new) or any(module.inside(read, home) for read in module.attributes(field.id)):
                continue  # the script makes something of it
            message = f"Trainer does not look at {field.id} today: as a field of {home.name} alone it has no effect."
            value = f", with {SWITCHES[field.id]} for True" if field.id in SWITCHES else ""
            advice = f"Declare {new} in its place{value}, and give that where the arguments are made or parsed."
            context.manual(RM701, field, message, advice)


@codemod(*VALUES, phase=Phase.LIBRARIES)
def refused_defaults(context: Context) -> None:
    """Tells of fields whose default is a value that is refused where no other one is given."""
    module = context.module
    for home in module.of_type(ast.ClassDef):
        fields = [field for field in _fields(home) if field.id in VALUES]
        if not fields or not is_dataclass(home) or not _is_arguments(module, home):
            continue
        for field in fields:
            default = field_default(module, module.assigned(field))
            values = [known for _, known in constants(module, default)] if default is not None else []
            choices: dict[object, str] = VALUES[field.id]  # type: ignore[assignment]
            refused = [known for known in values if isinstance(known, (str, type(None))) and known in choices]
            if not refused or _is_stored_in(module, home, field.id) or _is_always_given(module, home, field.id):
                continue
            message = f"{field.id}={refused[0]!r}, the default here, raises a ValueError today."
            meant = f" {MEANT_ALL}" if refused[0] is None else ""
            context.manual(RM705, field, message, f"Write {choices[refused[0]]}, or declare no such field.{meant}")


def _is_stored_in(module: Module, home: ast.ClassDef, name: str) -> bool:
    """Whether a class gives its objects another value by itself, in __post_init__() say."""
    return any(isinstance(read.ctx, ast.Store) and module.inside(read, home) for read in module.attributes(name))


def _is_always_given(module: Module, home: ast.ClassDef, name: str) -> bool:
    """Whether all that is seen of a class are calls that give a field by its name."""
    calls = [module.calling(use) for use in module.uses_of(home)]
    return bool(calls) and all(
        call is not None and (keyword_named(call, name) is not None or has_unpacking(call)) for call in calls
    )


@codemod(DEVICES, phase=Phase.LIBRARIES)
def own_devices(context: Context) -> None:
    """Tells of arguments that set their devices up without the state that TrainingArguments asks today."""
    module = context.module
    for method in module.of_type(ast.FunctionDef):
        home = module.parent_of[method]
        if method.name != DEVICES or not isinstance(home, ast.ClassDef) or not _is_arguments(module, home):
            continue
        if any(module.inside(node, method) for node in module.attributes(STATE, DEVICES)):
            continue  # it sets the state, or asks the method of the library first
        message = (
            f"TrainingArguments reads self.{STATE} today, which its own {DEVICES}() sets: this raises an"
            " AttributeError."
        )
        advice = f"Leave {DEVICES}() out: TrainingArguments joins the workers, and chooses the device of each."
        context.manual(RM704, method, message, advice)


def _fields(home: ast.ClassDef) -> list[ast.Name]:
    """The names of the fields that the body of a class declares."""
    targets = [statement.target for statement in home.body if isinstance(statement, ast.AnnAssign)]
    return [target for target in targets if isinstance(target, ast.Name)]


def _is_arguments(module: Module, home: ast.ClassDef) -> bool:
    return any(is_training_arguments(name) for name in library_bases(module, home))
