"""RM402, for what reads the folder of an experiment: a relative path is no path today.

Ray 2.60: ExperimentAnalysis, Tuner.restore and Tuner.can_restore hand it to pyarrow (train/_internal/storage.py,
`get_fs_and_path`), which raises an ArrowInvalid, "URI has empty scheme" (measured), and puts the home in place of `~`.
Up to 2.6 they opened it as a folder.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import ABSOLUTE, RM402
from raymigrate.facts.ray_train.storage import absolute, is_absolute, is_taken, may_be_relative
from raymigrate.facts.ray_tune.trials import ANALYSES, ANALYZED
from raymigrate.facts.ray_tune.tuners import RESTORED, TUNERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_none, keyword_argument

FILESYSTEM = "storage_filesystem"
CAN_RESTORE = "Tuner.can_restore"
READERS = {
    **dict.fromkeys(ANALYSES, ("ExperimentAnalysis", *ANALYZED)),
    **dict.fromkeys(RESTORED, ("Tuner.restore", "path")),
    **{f"{tuner}.can_restore": (CAN_RESTORE, "path") for tuner in TUNERS},
}  # how each is spoken of, and the names of its first argument


@codemod("ExperimentAnalysis", "restore", "can_restore", phase=Phase.RESULTS)
def relative_folders(context: Context) -> None:
    """Makes a relative path absolute; one that is relative in some cases only is told."""
    module = context.module
    for call in module.calls(*READERS):
        name, *parameters = READERS[called_name(module, call)]
        folder = argument(call, 0, *parameters)
        if (
            folder is None
            or _is_on_filesystem(module, call, name)
            or is_taken(module, folder)
            or not may_be_relative(module, folder)
        ):
            continue
        message = f"{name}() raises an ArrowInvalid for a relative path"
        if is_absolute(module, folder) is not False:
            context.manual(RM402, folder, f"{message}; this one can be relative.", ABSOLUTE)
        elif context.converts(RM402, folder, f"{message}; now absolute."):
            context.plan.need_import("os")
            context.plan.replace(folder, absolute(module, folder), value=folder)


def _is_on_filesystem(module: Module, call: ast.Call, name: str) -> bool:
    """Whether a path is one of the file system that is given beside it, and so no path of this machine."""
    given = argument(call, 1, FILESYSTEM) if name == CAN_RESTORE else keyword_argument(call, FILESYSTEM)
    return given is not None and not is_none(module.value(given))
