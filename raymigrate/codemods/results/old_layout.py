"""RM609 and RM304, in texts: folders and files that legacy Ray made in a run, and no new run has.

docs/semantics/results.md#files-of-a-run: the folder of a trial, named after the class of the trainer, and
dict_checkpoint.pkl. A file that reads them may hold no trainer, and no result: it looks into a folder on disk.
"""

import ast
import re

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.ray_air.checkpoint_dicts import RM304
from raymigrate.codemods.results.checkpoint_numbers import RM609
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE

TRAINERS = ("TorchTrainer", "HuggingFaceTrainer", "TransformersTrainer", "AccelerateTrainer")
# As a pattern, for glob or re, or the beginning of a name: a whole name is that of a run that there was.
PATTERN = re.compile(rf"(?:^|/)\^?(?:{'|'.join(TRAINERS)})_[^/]*[*?\[\\]")
BEGINNING = re.compile(rf"(?:{'|'.join(TRAINERS)})_?")
IN_THE_RUN = (
    "No new run has a folder with the name of its trainer: Ray >= 2.51 puts the checkpoints into the folder of the run,"
    " storage_path/name."
)
LOOK_THERE = (
    "For new runs look there for checkpoint_[0-9]*, or take result.checkpoint.path; what legacy Ray wrote stays where"
    " it is. A trial of a Tuner is called by the name of its function."
)
DICT_FILE = "dict_checkpoint.pkl"
NO_FILE = f"No new checkpoint holds a {DICT_FILE}: legacy Ray wrote it, for a checkpoint that was made from a dict."
OTHER_FILE = (
    f"Read that where it is there; what converted code wrote is in {CHECKPOINT_FILE}, for torch.load(path,"
    ' map_location="cpu", weights_only=False).'
)


@codemod("ray", in_ray_scripts=True)
def folders_of_trials(context: Context) -> None:
    """Reports patterns that find the folders of trials of legacy trainers."""
    module = context.module
    for node in module.of_type(ast.Constant):
        if not isinstance(node.value, str) or isinstance(module.parent_of[node], ast.Expr):
            continue
        if PATTERN.search(node.value) or (BEGINNING.fullmatch(node.value) and _is_beginning(context, node)):
            context.manual(RM609, node, IN_THE_RUN, LOOK_THERE)


def _is_beginning(context: Context, node: ast.Constant) -> bool:
    """Whether a name is looked for by how it begins."""
    outer = context.module.parent_of[node]
    return isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr == "startswith"


@codemod("ray", in_ray_scripts=True)
def packed_dicts(context: Context) -> None:
    """Reports reads of the file that held a dict, where the one that takes its place is not read too."""
    module = context.module
    if DICT_FILE not in module.text:
        return
    texts = [node for node in module.of_type(ast.Constant) if isinstance(node.value, str)]
    if any(CHECKPOINT_FILE in node.value for node in texts):  # type: ignore[operator]
        return
    for node in texts:
        if str(node.value).rpartition("/")[2] == DICT_FILE and not isinstance(module.parent_of[node], ast.Expr):
            context.manual(RM304, node, NO_FILE, OTHER_FILE)
