"""RM482 and RM483: the working directory of a worker.

Measured with two CPU workers. Ray 2.6.3 ran each worker in its own folder of the trial,
`~/ray_results/<run>/<trial>/rank_0`. Ray 2.60 runs all workers of a node in one folder of the session,
`/tmp/ray/session_.../artifacts/<run>`, and does not set TUNE_ORIG_WORKING_DIR (docs/semantics/traps.md#t24).
Reading a relative path never found the driver's files, and is not reported. What every worker writes and reads back
itself is a race today: of eight processes that did so at once with one JSON file, 337 of 2400 reads found a part of it.
"""

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.captured_metrics import given_functions, reached_functions
from raymigrate.facts.folders.downloads import FUNCTIONS as DOWNLOADS
from raymigrate.facts.folders.downloads import UNPACK, downloads, is_in_turn
from raymigrate.facts.folders.entered_folders import goes_to_folder, is_in_other_folder
from raymigrate.facts.folders.folder_writes import is_by_rank, saves_by_accelerate, starts
from raymigrate.facts.folders.given_by_methods import given_by_methods
from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.folders.read_back import is_read_back
from raymigrate.facts.folders.shell_downloads import shell_downloads
from raymigrate.facts.hugging_face.instances import ACCELERATOR, instance_of
from raymigrate.facts.hugging_face.output_folders import all_absolute, output_folders
from raymigrate.facts.hugging_face.trainer_saves import is_in_checkpoint
from raymigrate.facts.projects.places import Place
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.ray_train.storage import is_absolute, may_be_absolute, may_be_relative
from raymigrate.facts.ray_train.trainers import train_on_one_worker
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.syntax.scopes import FUNCTIONS as ALL_FUNCTIONS
from raymigrate.facts.values import (
    Source,
    argument,
    called_name,
    head,
    is_call_by_name,
    is_none,
    last_name,
    leading_text,
)
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.knowledge.legacy import ACCELERATORS, HF

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
    " session that all workers of a node share, and does not keep it with the results. A worker that reads it back may"
    " find what another one has written or downloaded in part.",
    "Write to an absolute path on rank 0, or into the folder of a checkpoint that is reported; what each worker reads"
    " itself, into a temporary folder.",
    STORAGE,
)

NOT_KEPT = "{where} written to the session's folder on Ray >= 2.51, not kept with the trial."
SHARED = "{where} one file for all workers of a node on Ray >= 2.51: one may read it while another one writes it."
AT_ONCE = "{where} one for all workers of a node on Ray >= 2.51: they download to it at once, and one may read a part."
KEEP = "Write to an absolute path on rank 0, or into the folder of a checkpoint that is reported."
OWN_FILE = (
    "Give each worker a file of its own, in a folder of tempfile.mkdtemp(). Where a dict is taken as well, as"
    " TrainingArguments(deepspeed=) does, hand over that and write no file."
)
BY_PROGRAM = "What {program} writes here is"
HANDED_IN = (
    "{where} one file for all workers of a node on Ray >= 2.51: rank 0 may report it while another one writes it."
)
OWN_FOLDER = "Write it on rank 0 only, which reports it, or into a folder of tempfile.mkdtemp()."
IN_TURN = (
    "Download before the trainer is built, to an absolute path that all nodes see; or let one worker of a node after"
    " the other do so: with filelock.FileLock(os.path.expanduser('~/download.lock'))."
)
VARIABLE = "TUNE_ORIG_WORKING_DIR"
# Methods, with the argument that is the path: the first one, or the second of `accelerator.save_model(model, path)`.
WRITERS = {
    "save_pretrained": "save_directory",
    "save_model": "output_dir",
    "save_state": "output_dir",
    "save_to_disk": "dataset_path",
    "to_csv": "path_or_buf",
    "savefig": "fname",
}
OF_PATH = ("write_text", "write_bytes")  # methods of a path
# Functions, with the place and name of the argument that is the path.
FUNCTIONS = {
    "torch.save": (1, "f"),
    "numpy.save": (0, "file"),
    "numpy.savez": (0, "file"),
    "numpy.savez_compressed": (0, "file"),
    "numpy.savetxt": (0, "fname"),
    "safetensors.torch.save_file": (1, "filename"),
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


@codemod(VARIABLE, phase=Phase.RESULTS, in_ray_scripts=True)
def original_directory(context: Context) -> None:
    """Reports reads of the variable."""
    for node in context.module.of_type(ast.Constant):
        if node.value == VARIABLE:
            if isinstance(context.module.parent_of[node], (ast.Call, ast.Subscript)):
                context.manual(RM482, node, f"{VARIABLE} is not set on the workers of Ray >= 2.51.")


@codemod(*WRITERS, *OF_PATH, *(name.rpartition(".")[2] for name in FUNCTIONS), "open", *FOLDERS, phase=Phase.RESULTS)
def relative_writes(context: Context) -> None:
    """Reports files that a legacy training function writes to its working directory."""
    module = context.module
    if not context.of_legacy_job and not module.references_within(HF):  # which converted scripts name too
        return
    writes = _writes(module)
    functions, told = _functions(context, writes) if writes else set(), set[tuple[str, bool]]()
    several = not train_on_one_worker(module)
    for node in sorted(writes, key=module.start):
        path = writes[node]
        if not functions.intersection(module.ancestors(node)) or is_in_checkpoint(module, node, path):
            continue
        if is_in_other_folder(module, node):
            continue
        where, start = _where(module, path), head(module, path)
        first = start.module.source(start.node)
        by_all = several and not is_by_rank(module, node, path) and not saves_by_accelerate(module, node)
        if not where or _is_reported(module, path):
            if where and by_all and is_absolute(module, path) is False:
                context.manual(RM483, node, HANDED_IN.format(where=where), OWN_FOLDER)
            continue
        shared = by_all and is_read_back(module, path, functions, set(writes))
        if not where.startswith(UNSEEN) or (first, shared) not in told:
            message, advice = (SHARED, OWN_FILE) if shared else (NOT_KEPT, KEEP)
            context.manual(RM483, node, message.format(where=where), advice)
        told.add((first, shared))


@codemod("download", UNPACK, *(name.rpartition(".")[2] for name in DOWNLOADS), phase=Phase.RESULTS)
def relative_downloads(context: Context) -> None:
    """Reports what each worker of a legacy training function downloads to its working directory."""
    module = context.module
    if not context.of_legacy_job and not module.references_within(HF):
        return
    found = downloads(module)
    functions = _functions(context, [call for call, _ in found]) if not train_on_one_worker(module) else set()
    told = set[str]()
    for call, path in found:
        where = _where(module, path)
        above = leading_text(module, path).startswith("..")  # the folder of the trial, which the workers shared before
        if where in told or not where or where.startswith(UNSEEN) or above:
            continue
        if functions.intersection(module.ancestors(call)) and not is_in_other_folder(module, call):
            told.add(where)
            context.manual(RM483, call, AT_ONCE.format(where=where), IN_TURN)


@codemod("system", "popen", "subprocess", UNPACK, phase=Phase.RESULTS)
def downloads_by_programs(context: Context) -> None:
    """Reports the programs that each worker of a legacy training function starts to download or unpack something."""
    module = context.module
    if not context.of_legacy_job and not module.references_within(HF):
        return
    unpack = [call for call, _ in module.method_calls(UNPACK) if not call.args and not call.keywords]
    found = [*shell_downloads(module), *((call, f"{UNPACK}()") for call in unpack)]
    found = [(call, program) for call, program in found if not is_in_turn(module, call)]
    functions = _functions(context, [call for call, _ in found]) if not train_on_one_worker(module) else set()
    for call, program in found:
        if functions.intersection(module.ancestors(call)):
            where = BY_PROGRAM.format(program=program)
            context.manual(RM483, call, AT_ONCE.format(where=where), IN_TURN)


def _functions(context: Context, nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """The functions that run on workers in Ray's folder, also where another file hands them to a trainer.

    Args:
        context: The file.
        nodes: What is asked about: there is none where none of these is run so.
    """
    module = context.module
    given = given_functions(module)
    # Other files are read for each function: those by which none of the nodes is run are asked last.
    leading = _leading_to(module, nodes)
    if not leading or not (given or any(_is_handed(context, made) for made in leading)):
        return set()
    if not given and _is_used_in_own_folders(module):
        return set()
    handed = [made for made in module.of_type(ast.FunctionDef) if _is_handed(context, made)]
    roots = [root for root in (*handed, *given) if root is not None]
    elsewhere = reached_functions(module, [root for root in roots if goes_to_folder(module, root)])
    # Of a class that is named there all methods run there, and so do functions within others.
    return reached_functions(module, [r for r in roots if elsewhere.isdisjoint((r, *module.ancestors(r)))])


def _is_handed(context: Context, function: ast.AST) -> bool:
    return isinstance(function, ast.FunctionDef) and context.place_of(function.body[0]) is Place.WORKER


def _leading_to(module: Module, nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """The functions and classes of a module by which some nodes can be run, as far as it names them."""
    found, waiting = set[ast.AST](), list(nodes)
    while waiting:
        around = {
            outer for outer in module.ancestors(waiting.pop()) if isinstance(outer, (*ALL_FUNCTIONS, ast.ClassDef))
        }
        waiting += [use for outer in around - found for use in module.uses_of(outer)]
        found |= around
    return found


def _is_used_in_own_folders(module: Module) -> bool:
    """Whether the files that import a module train, and all of their workers go to a folder of their own choice."""
    users = importing_modules(module)
    given = [(user, function) for user in users for function in given_functions(user)]
    return bool(given) and all(goes_to_folder(user, function) for user, function in given)


def _writes(module: Module) -> dict[ast.Call, ast.expr]:
    """The calls that write to a path, each with the path."""
    methods = [call for call, _ in module.method_calls(*WRITERS, *OF_PATH, "open", "save")]
    calls = (*module.calls(*FUNCTIONS, *WITH_FOLDERS), *module.named_calls("open"), *methods)
    found = ((call, _path(module, call)) for call in dict.fromkeys(calls))
    return {call: path for call, path in found if path is not None}


def _where(module: Module, path: ast.expr) -> str:
    """What is written to the working directory, and whether that is sure, as the first half of a sentence."""
    text, source = module.constant(path), " ".join(module.source(path).split())
    absolute = is_absolute(module, path)
    if is_none(path) or text in (None, "") or leading_text(module, path).startswith("~"):
        return ""
    if absolute is None and (folders := output_folders(module, path)):
        absolute = all_absolute(folders)
    if absolute:
        return ""
    if absolute is False:
        return f'"{text}" is' if isinstance(text, str) else f"{source} is a relative path:"
    first = head(module, path)
    seen = given_by_methods(module, first, private=True)
    if seen and all(is_absolute(*given) for given in seen):
        return ""
    if may_be_relative(module, path) or any(is_absolute(*given) is False for given in given_by_methods(module, first)):
        return f"{source} can be a relative path, which is"
    is_open = not may_be_absolute(module, path) and _is_path(first)
    return f"{UNSEEN} {source} is a relative path, it is" if is_open else ""


def _is_path(first: Source) -> bool:
    """Whether what a path begins with may be a path of the user's choice: no file that is open, nor a folder of Ray."""
    return not any(_is_known(source.module, source.node) for source in first.module.origins(first.node))


def _is_known(module: Module, node: ast.expr) -> bool:
    if "__file__" in names_in(node):
        return True
    if isinstance(node, ast.Name):
        bound = module.definition(node)
        return bound is not None and isinstance(module.parent_of.get(bound), ast.withitem)
    if isinstance(node, ast.Attribute):
        return node.attr in PATHS or module.qualified(node) == "os.devnull"
    if not isinstance(node, ast.Call):
        return False
    method = last_name(node.func)
    return method in OPENED or called_name(module, node).startswith(("tempfile.", "io.", "ray."))


def _path(module: Module, call: ast.Call) -> ast.expr | None:
    """The path that a call writes to; None where it writes to none."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else None
    name = module.qualified(call.func)
    if name in FUNCTIONS:
        return argument(call, *FUNCTIONS[name])
    if method == "save" and _owner(module, call) == ACCELERATOR:
        return argument(call, 1, "f")
    if is_call_by_name(call, "open") and opens_to_write(module, call):
        return argument(call, 0, "file")
    if isinstance(call.func, ast.Attribute) and _is_write_of_path(module, call, call.func.attr):
        return call.func.value
    if method in WRITERS and name is None:
        place = 1 if method == "save_model" and len(call.args) > 1 else 0
        return argument(call, place, WRITERS[method], "save_directory")
    if name not in WITH_FOLDERS:
        return None
    given = argument(call, len(call.args), *FOLDERS)
    return given if given is not None else unpacked_value(module, call, *FOLDERS)


def _is_write_of_path(module: Module, call: ast.Call, method: str) -> bool:
    """Whether a call is `path.write_text(...)` or `path.open("w")`."""
    if method == "open":
        is_path = isinstance(call.func, ast.Attribute) and _makes_path(module, call.func.value)
        return is_path and opens_to_write(module, call)
    return method in OF_PATH and module.qualified(call.func) is None


def _makes_path(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a pathlib.Path, where that can be seen."""
    value = module.value(node)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return _makes_path(module, value.left)
    return called_name(module, value).startswith("pathlib.")


def _owner(module: Module, call: ast.Call) -> str:
    """The class of the object whose method a call calls."""
    return instance_of(module, call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _is_reported(module: Module, path: ast.expr) -> bool:
    """Whether the path lies in a folder that the file, or one that it imports, makes a checkpoint of."""
    text, start = leading_text(module, path), starts(head(module, path))
    for home in with_imported(module):
        for call, _ in home.method_calls("from_directory"):
            given = argument(call, 0, "path")
            folder = home.constant(given)
            if isinstance(folder, str):
                if _lies_in(text, folder):
                    return True
            elif given is None or _is_handed_over(first := head(home, given)) or start & starts(first):
                return True
    return False


def _lies_in(path: str, folder: str) -> bool:
    """Whether a path is in a folder, however both are spelled: "./out/model" is in "out", and "outputs" is not."""
    within = PurePosixPath(folder).parts
    return PurePosixPath(path).parts[: len(within)] == within


def _is_handed_over(first: Source) -> bool:
    """Whether a path is given to a function that is called in other files."""
    return any(isinstance(start, ast.arg) for start in starts(first))
