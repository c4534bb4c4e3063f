"""Calls that download or unpack to a path: datasets of torchvision and torchaudio, functions such as urlretrieve()."""

import ast
import re

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.folders.folder_writes import on_some_ranks
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call, keyword_argument

# Classes with `download=`, and the argument that is the folder.
DATASETS = ("torchvision.datasets.", "torchaudio.datasets.")
FOLDER = (0, "root")
# Functions, with the place and name of the argument that is the path.
FUNCTIONS = {
    "urllib.request.urlretrieve": (1, "filename"),
    "torch.hub.download_url_to_file": (1, "dst"),
    "torchvision.datasets.utils.download_url": (1, "root"),
    "torchvision.datasets.utils.download_and_extract_archive": (1, "download_root"),
    "gdown.download": (1, "output"),
    "wget.download": (1, "out"),
    "shutil.unpack_archive": (1, "extract_dir"),
}
UNPACK = "extractall"  # of an archive of zipfile or tarfile
# `with FileLock(...)`, `with accelerator.local_main_process_first()`: one process after the other.
IN_TURN = lazy_regex(r"lock|process_first", re.IGNORECASE)


def downloads(module: Module) -> list[tuple[ast.Call, ast.expr]]:
    """The calls by which several workers may download at once, each with the path, in source order."""
    calls = [*module.calls(*FUNCTIONS), *(call for call, _ in module.keywords("download"))]
    calls += [call for call, _ in module.method_calls(UNPACK)]
    found = ((call, _path(module, call)) for call in sorted(calls, key=module.start))
    return [(call, path) for call, path in found if path is not None and not is_in_turn(module, call)]


def _path(module: Module, call: ast.Call) -> ast.expr | None:
    name = called_name(module, call)
    if name in FUNCTIONS:
        return argument(call, *FUNCTIONS[name])
    if is_method_call(call, UNPACK) and not name:
        return argument(call, 0, "path")
    is_download = name.startswith(DATASETS) and module.constant(keyword_argument(call, "download")) is True
    return argument(call, *FOLDER) if is_download else None


def is_in_turn(module: Module, call: ast.Call) -> bool:
    """Whether only some of the workers come to a call, or one after the other."""
    around = (outer for outer in module.ancestors(call) if isinstance(outer, ast.With))
    held = (module.source(item.context_expr) for outer in around for item in outer.items)
    return on_some_ranks(module, call) or any(IN_TURN.search(source) for source in held)
