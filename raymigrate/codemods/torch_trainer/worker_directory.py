"""RM482 and RM483: the working directory of a worker.

Measured with two CPU workers. Ray 2.6.3 ran each worker in its own folder of the trial,
`~/ray_results/<run>/<trial>/rank_0`. Ray 2.60 runs all workers of a node in one folder of the session,
`/tmp/ray/session_.../artifacts/<run>`, and does not set TUNE_ORIG_WORKING_DIR (docs/semantics/traps.md#t24).
Reading a relative path never found the driver's files, and is not reported.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.captured_metrics import worker_functions
from raymigrate.facts.folder_writes import starts
from raymigrate.facts.instances import ACCELERATOR, instance_of
from raymigrate.facts.legacy import ACCELERATORS, HF
from raymigrate.facts.module import Module
from raymigrate.facts.project import with_imported
from raymigrate.facts.storage import is_absolute, may_be_absolute, may_be_relative
from raymigrate.facts.values import Source, argument, head, is_none, keyword_argument, leading_text

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
# Methods, with the argument that is the path: the first one, or the second of `accelerator.save_model(model, path)`.
WRITERS = {
    "save_pretrained": "save_directory",
    "save_model": "output_dir",
    "save_state": "output_dir",
}
# Arguments that name the folder in which accelerate puts what trackers log and save_state() writes.
FOLDERS = ("project_dir", "logging_dir")
WITH_FOLDERS = (
    *ACCELERATORS,
    "accelerate.utils.ProjectConfiguration",
    "accelerate.utils.dataclasses.ProjectConfiguration",
)
PATHS = ("path", "name")  # of a checkpoint and of a temporary file
OPENED = ("open", "as_directory", "to_directory", "get_trial_dir", "get_trial_name")
UNSEEN = "If"


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


@codemod("save_pretrained", "save_model", "save_state", "save", "open", *FOLDERS, phase=Phase.RESULTS)
def relative_writes(context: Context) -> None:
    """Reports files that a legacy training function writes to its working directory."""
    module = context.module
    if not context.of_legacy_job and not module.references_within(HF):  # which converted scripts name too
        return
    functions, told = worker_functions(module), set[str]()
    methods = [call for call, _ in module.method_calls(*WRITERS, "save")]
    writes = (*module.calls("torch.save"), *module.named_calls("open"), *module.calls(*WITH_FOLDERS), *methods)
    for node in sorted(dict.fromkeys(writes), key=module.start):
        path = _path(module, node)
        if path is None or not functions.intersection(module.ancestors(node)):
            continue
        where = _where(module, path)
        is_open = where.startswith(UNSEEN) and module.source(head(module, path).node) in told
        if where and not is_open and not _is_reported(module, path):
            told.add(module.source(head(module, path).node))
            context.manual(
                RM483, node, f"{where} written to the session's folder on Ray >= 2.51, not kept with the trial."
            )


def _where(module: Module, path: ast.expr) -> str:
    """What is written to the working directory, and whether that is sure, as the first half of a sentence."""
    text, source = module.constant(path), " ".join(module.source(path).split())
    absolute = is_absolute(module, path)
    if is_none(path) or text in (None, "") or leading_text(module, path).startswith("~") or absolute:
        return ""
    if absolute is False:
        return f'"{text}" is' if isinstance(text, str) else f"{source} is a relative path:"
    if may_be_relative(module, path):
        return f"{source} can be a relative path, which is"
    is_open = not may_be_absolute(module, path) and _is_path(head(module, path))
    return f"{UNSEEN} {source} is a relative path, it is" if is_open else ""


def _is_path(first: Source) -> bool:
    """Whether what a path begins with may be a path of the user's choice: no file that is open, nor a folder of Ray."""
    return not any(_is_known(source.module, source.node) for source in first.module.origins(first.node))


def _is_known(module: Module, node: ast.expr) -> bool:
    if any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(node)):
        return True
    if isinstance(node, ast.Name):
        bound = module.definition(node)
        return bound is not None and isinstance(module.parent_of.get(bound), ast.withitem)
    if isinstance(node, ast.Attribute):
        return node.attr in PATHS or module.qualified(node) == "os.devnull"
    if not isinstance(node, ast.Call):
        return False
    method = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return method in OPENED or (module.qualified(node.func) or "").startswith(("tempfile.", "io.", "ray."))


def _path(module: Module, call: ast.Call) -> ast.expr | None:
    """The path that a call writes to; None where it writes to none."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else None
    name = module.qualified(call.func)
    if name == "torch.save" or (method == "save" and _owner(module, call) == ACCELERATOR):
        return argument(call, 1, "f")
    if isinstance(call.func, ast.Name) and call.func.id == "open" and _mode(module, call)[:1] in ("w", "a", "x"):
        return argument(call, 0, "file")
    if method in WRITERS and name is None:
        place = 1 if method == "save_model" and len(call.args) > 1 else 0
        return argument(call, place, WRITERS[method], "save_directory")
    return argument(call, len(call.args), *FOLDERS) if name in WITH_FOLDERS else None


def _owner(module: Module, call: ast.Call) -> str:
    """The class of the object whose method a call calls."""
    return instance_of(module, call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _mode(module: Module, call: ast.Call) -> str:
    node = call.args[1] if len(call.args) > 1 else keyword_argument(call, "mode")
    mode = module.constant(node)
    return mode if isinstance(mode, str) else "r"


def _is_reported(module: Module, path: ast.expr) -> bool:
    """Whether the path lies in a folder that the file, or one that it imports, makes a checkpoint of."""
    text, start = leading_text(module, path), starts(head(module, path))
    for home in with_imported(module):
        for call, _ in home.method_calls("from_directory"):
            given = argument(call, 0, "path")
            folder = home.constant(given)
            if isinstance(folder, str):
                if folder in (".", "./") or (text and text.startswith(folder)):
                    return True
            elif given is None or _is_handed_over(first := head(home, given)) or start & starts(first):
                return True
    return False


def _is_handed_over(first: Source) -> bool:
    """Whether a path is given to a function that is called in other files."""
    return any(isinstance(start, ast.arg) for start in starts(first))
