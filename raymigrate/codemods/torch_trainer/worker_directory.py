"""RM482 and RM483: the working directory of a worker.

Measured with two CPU workers. Ray 2.6.3 ran each worker in its own folder of the trial,
`~/ray_results/<run>/<trial>/rank_0`. Ray 2.60 runs all workers of a node in one folder of the session,
`/tmp/ray/session_.../artifacts/<run>`, and does not set TUNE_ORIG_WORKING_DIR (docs/semantics/traps.md#t24).
Reading a relative path never found the driver's files, and is not reported.
"""

import ast
from pathlib import Path

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.captured_metrics import worker_functions
from raymigrate.facts.legacy import ACCELERATORS
from raymigrate.facts.module import Module
from raymigrate.facts.project import with_imported

STORAGE = "https://docs.ray.io/en/latest/train/user-guides/persistent-storage.html"
RM482 = Rule(
    "RM482",
    "TUNE_ORIG_WORKING_DIR",
    "Legacy Ray left the driver's working directory in this variable; Ray >= 2.51 does not set it on workers: a"
    " KeyError or None.",
    "Take os.getcwd() on the driver and hand it over in train_loop_config.",
    STORAGE,
)
RM483 = Rule(
    "RM483",
    "a file that the workers write to a relative path",
    "Legacy Ray kept it in the folder of the trial, one for each worker. Ray >= 2.51 writes it to a folder of the Ray"
    " session that all workers of a node share, and does not keep it with the results.",
    "Write to an absolute path on rank 0, or into the folder of a checkpoint that is reported.",
    STORAGE,
)

VARIABLE = "TUNE_ORIG_WORKING_DIR"
WRITERS = {"save_pretrained": 0, "save_model": 0}  # methods, with the position of the path
# Arguments that name the folder in which accelerate puts what trackers log and save_state() writes.
FOLDERS = ("project_dir", "logging_dir")
WITH_FOLDERS = (
    *ACCELERATORS,
    "accelerate.utils.ProjectConfiguration",
    "accelerate.utils.dataclasses.ProjectConfiguration",
)
LEGACY_TRIGGERS = ("ray.air", "ray.train.huggingface")


@codemod(VARIABLE, phase=Phase.RESULTS)
def original_directory(context: Context) -> None:
    """Reports reads of the variable."""
    if not context.is_ray_script:
        return
    for node in context.module.of_type(ast.Constant):
        if node.value == VARIABLE:
            parent = context.module.parent_of[node]
            if isinstance(parent, (ast.Call, ast.Subscript)):
                context.manual(RM482, node, f"{VARIABLE} is not set on the workers of Ray >= 2.51.")


@codemod("save_pretrained", "save_model", "save", "open", *FOLDERS, phase=Phase.RESULTS)
def relative_writes(context: Context) -> None:
    """Reports files that a legacy training function writes to its working directory by a literal path."""
    module = context.module
    legacy = any(reference.qualified.startswith(LEGACY_TRIGGERS) for reference in module.references)
    if not legacy or not context.is_ray_script:
        return
    functions = worker_functions(module)
    methods = [call for call, _ in module.method_calls(*WRITERS)]
    for node in (*module.calls("torch.save"), *module.named_calls("open"), *module.calls(*WITH_FOLDERS), *methods):
        path = _written(module, node)
        if path is None or not functions.intersection(module.ancestors(node)) or _is_reported(module, path):
            continue
        context.manual(
            RM483, node, f'"{path}" is written to the session\'s folder on Ray >= 2.51, not kept with the trial.'
        )


def _written(module: Module, call: ast.Call) -> str | None:
    """The relative path that a call writes to, if it is a literal."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else None
    if module.qualified(call.func) == "torch.save":
        position, keyword = 1, "f"
    elif isinstance(call.func, ast.Name) and call.func.id == "open" and _mode(module, call)[:1] in ("w", "a", "x"):
        position, keyword = 0, "file"
    elif method in WRITERS and module.qualified(call.func) is None:
        position, keyword = WRITERS[method], "save_directory" if method == "save_pretrained" else "output_dir"
    elif module.qualified(call.func) in WITH_FOLDERS:
        position, keyword = len(call.args), next((k.arg for k in call.keywords if k.arg in FOLDERS), "")
    else:
        return None
    given = {k.arg: k.value for k in call.keywords}
    node = call.args[position] if len(call.args) > position else given.get(keyword)
    path = module.constant(node)
    relative = isinstance(path, str) and path and not Path(path).is_absolute() and "://" not in path
    return str(path) if relative and not str(path).startswith("~") else None


def _mode(module: Module, call: ast.Call) -> str:
    node = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "mode"), None)
    mode = module.constant(node)
    return mode if isinstance(mode, str) else "r"


def _is_reported(module: Module, path: str) -> bool:
    """Whether the path lies in a folder that the file, or one that it imports, makes a checkpoint of."""
    for home in with_imported(module):
        for call, _ in home.method_calls("from_directory"):
            folder = home.constant(call.args[0]) if call.args else ...
            if not isinstance(folder, str) or folder in (".", "./") or path.startswith(folder):
                return True
    return False
