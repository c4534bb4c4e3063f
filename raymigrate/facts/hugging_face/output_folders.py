"""What the output_dir of an object of TrainingArguments is, also of the one that transformers hands to a callback."""

import ast

from raymigrate.facts.hugging_face.instances import TRAINING_ARGUMENTS, instance_of
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.storage import is_absolute
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, has_unpacking, head
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS as CLASSES


def output_folders(module: Module, path: ast.expr) -> list[Source]:
    """What a path that begins with `args.output_dir` can begin with; none where that is not seen."""
    first = head(module, path)
    if not isinstance(first.node, ast.Attribute) or first.node.attr != "output_dir":
        return []
    owner = first.node.value
    made = [source for source in first.module.origins(owner) if called_name(*source) in CLASSES]
    if not made and instance_of(first.module, owner) == TRAINING_ARGUMENTS:  # handed over by transformers
        made = [Source(home, call) for home in with_imported(module) for call in home.calls(*CLASSES)]
    folders = [_output_dir(source) for source in made]
    return [folder for folder in folders if folder is not None] if None not in folders else []


def all_absolute(folders: list[Source]) -> bool | None:
    """True if all of these are absolute paths, False if none is; None where that is not known."""
    found = {is_absolute(folder.module, folder.node) for folder in folders}
    return found.pop() if len(found) == 1 else None


def _output_dir(source: Source) -> Source | None:
    if not isinstance(source.node, ast.Call) or has_unpacking(source.node):
        return None
    given = argument(source.node, 0, "output_dir")
    return Source(source.module, given) if given is not None else None
