"""In which mode a script opens a file, `open(path, "w")`, and what else writes one, `path.write_text(text)`."""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, free_name, last_name
from raymigrate.facts.values.constants import constants

WRITING = lazy_regex("[wax][bt+]*")  # modes in which a file is written; it may be read too

SAVE = "torch.save"
# What else writes files, besides open(), and what copies them.
WRITERS = (
    *("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "joblib.dump"),
    *("matplotlib.pyplot.savefig", "torchvision.utils.save_image"),
)
COPIERS = (
    *("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.copytree"),
    *("shutil.make_archive", "shutil.unpack_archive"),
)
TABLES = frozenset({"to_csv", "to_json", "to_parquet", "to_pickle", "to_excel", "to_feather"})  # pandas, datasets
OF_TABLES = frozenset({"path", "path_or_buf", "excel_writer"})
OPEN = ("io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open")
# Methods of a path, and of what transformers writes as JSON: the state of a Trainer, a configuration.
TO_PATHS = frozenset({"write_text", "write_bytes", "save_to_json", "to_json_file"})


def written_files(module: Module) -> Iterator[ast.Call]:
    """The calls that write a file, less torch.save()."""
    for call in module.of_type(ast.Call):
        if called_name(module, call) in WRITERS or writes_by_method(call) or opens_file(module, call):
            yield call


def writes_by_method(call: ast.Call) -> bool:
    """Whether a method of `TO_PATHS`, or of a table, writes a file; one of a table without a path gives the text."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in TABLES:
        return bool(call.args) or any(keyword.arg in (*OF_TABLES, None) for keyword in call.keywords)
    return call.func.attr in TO_PATHS


def written_path(module: Module, call: ast.Call) -> ast.expr | None:
    """The path of a file that a call of `written_files` writes; None where it is not seen.

    Args:
        module: The module.
        call: The call.
    """
    name = called_name(module, call)
    if name in WRITERS:
        is_second = name in ("joblib.dump", "torchvision.utils.save_image")
        return argument(call, 1 if is_second else 0, *("file", "fname", "filename", "fp"))
    if not isinstance(call.func, ast.Attribute) or module.qualified(call.func) is not None:
        return argument(call, 0, "file", "filename")
    if call.func.attr in TABLES:
        return argument(call, 0, *OF_TABLES)
    is_of_path = call.func.attr in ("open", "write_text", "write_bytes")
    return call.func.value if is_of_path else argument(call, 0)


def opens_to_write(module: Module, call: ast.Call) -> bool:
    """Whether a call of open() surely opens a file to write it, whatever its mode can be.

    Args:
        module: The module.
        call: The call, of the function of Python, of one of a module, or of the method of a path.
    """
    mode = argument(call, 0 if is_method_of_path(module, call) else 1, "mode")
    known = {text for _, text in constants(module, mode)} if mode is not None else set()
    return bool(known) and all(isinstance(text, str) and WRITING.fullmatch(text) for text in known)


def opens_file(module: Module, call: ast.Call) -> bool:
    """Whether a call is of an open() that writes a file: of Python, of a module such as io, or of a path."""
    is_open = last_name(call.func) == "open" and (is_method_of_path(module, call) or _is_function(module, call.func))
    if not is_open or not opens_to_write(module, call):
        return False
    path = argument(call, 0, "file")
    return path is None or not (module.qualified(path) == "os.devnull" or module.constant(path) == "/dev/null")


def _is_function(module: Module, function: ast.expr) -> bool:
    return free_name(module, function) == "open" or module.qualified(function) in OPEN


def is_method_of_path(module: Module, call: ast.Call) -> bool:
    """Whether a call of an open() is the method of an object, whose mode comes first, and not a function's."""
    return isinstance(call.func, ast.Attribute) and module.qualified(call.func) is None
