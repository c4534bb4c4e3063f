"""How converted code gets at the files of a checkpoint: a `with` block around the statement, and the folder in it."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.ray_train.checkpoint_folders import local_folder, open_folder
from raymigrate.facts.ray_train.results import Layout, layout
from raymigrate.facts.ray_train.storage import is_absolute
from raymigrate.facts.syntax.evaluated_once import is_evaluated_once
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
# Legacy Ray put the files of Transformers at the root of a checkpoint, RayTrainReportCallback puts them into the folder
# "checkpoint" (docs/semantics/traps.md#t4).
EITHER_PLACE = (
    "Where the files of Transformers are in a checkpoint: in a folder of it, or at its root if legacy Ray wrote it."
)
TRANSFORMERS_DIR = Helper(
    "transformers_dir",
    f'''
def $name(checkpoint_dir):
    """{EITHER_PLACE}"""
    folder = os.path.join(checkpoint_dir, "checkpoint")
    return folder if os.path.isdir(folder) else checkpoint_dir
''',
    (("os", None),),
)
NOT_CARRIED = (
    "A checkpoint no longer carries its files along: {who} on other nodes find them only if the folder is on storage"
    " that all nodes share."
)
FROM_HERE = (
    " Give it an absolute path: a relative one is looked for in the current folder of the process, which a working_dir"
    " changes."
)
JOINS = ("os.path.join", "pathlib.Path", "pathlib.PurePath")
PATHS = ("pathlib.Path", "str", "os.fspath")
MOST_FUNCTIONS = 3  # of the project that hand a folder on
METHODS = ("get_model", "get_tokenizer", "get_training_arguments")
# The same in words, for a person who has the folder of a checkpoint.
FILES = {Layout.NESTED: 'os.path.join(folder, "checkpoint")', Layout.ROOT: "folder", Layout.UNKNOWN: "files"}
WHERE_FILES_ARE = (
    ' files is os.path.join(folder, "checkpoint") in a checkpoint of a new run, and folder itself in one that legacy'
    " Ray wrote or that to_directory() copied: os.path.isdir() tells which."
)


def not_carried(module: Module, checkpoint: ast.expr, who: str) -> str:
    """What to know where a checkpoint goes to other processes; empty unless it may be made from a local folder.

    Args:
        module: The module.
        checkpoint: The checkpoint.
        who: The processes that get it.
    """
    folder = local_folder(module, checkpoint)
    if folder is None:
        return ""
    made_absolute = folder.module is module and _of_open_folder(folder)
    is_open = not made_absolute and not is_absolute(folder.module, folder.node)
    return NOT_CARRIED.format(who=who) + FROM_HERE * is_open


def _of_open_folder(folder: Source) -> bool:
    """Whether the checkpoint of a folder is one of those whose path is made absolute where they are made."""
    made = folder.module.taking(folder.node)
    return made is not None and open_folder(Source(folder.module, made)) is folder.node


def layout_after(context: Context, checkpoint: ast.expr) -> Layout | None:
    """Where the files lie in a checkpoint once this module is converted; None where it is not known to be one."""
    found = layout(context.module, checkpoint)
    return Layout.UNKNOWN if found is Layout.NESTED and _has_unconverted_trainers(context) else found


def in_words(advice: str, place: Layout = Layout.UNKNOWN) -> str:
    """What to do with the files of a checkpoint, which the text calls {files}; and where these are, if it depends."""
    return advice.format(files=FILES[place]) + (WHERE_FILES_ARE if place is Layout.UNKNOWN else "")


def _has_unconverted_trainers(context: Context) -> bool:
    """Whether a run may be one of a legacy Transformers trainer: made, restored, or of a class derived from it."""
    module = context.module
    bases = (base for home in module.of_type(ast.ClassDef) for base in home.bases)
    restored = (f"{trainer}.restore" for trainer in TRANSFORMERS_TRAINERS)
    return (
        any(call not in context.plan.calls for call in module.calls(*TRANSFORMERS_TRAINERS))
        or any(module.calls(*restored))
        or any(module.qualified(base) in TRANSFORMERS_TRAINERS for base in bases)
    )


def can_open(context: Context, node: ast.expr, checkpoint: ast.expr) -> bool:
    """Whether the statement of a node can be put into `with checkpoint.as_directory()`: see `opened`."""
    module = context.module
    edit = context.plan.statements.get(module.statement(node))
    if edit is not None and edit.within is not None:
        other = edit.within.parts["checkpoint"]
        if not isinstance(other, ast.expr) or module.source(other) != module.source(checkpoint):
            return False
    return before_statement(context, node)


def opened(context: Context, node: ast.expr, checkpoint: ast.expr) -> str:
    """Puts the statement of a node into `with checkpoint.as_directory()`, which `can_open` allows.

    Args:
        context: The module.
        node: What needs the folder.
        checkpoint: The checkpoint, an expression inside the node.

    Returns:
        The name of the folder there.
    """
    edit = context.plan.statement(context.module.statement(node))
    name = folder_name(context)
    if edit.within is None:
        edit.within = Code(f"with $checkpoint.as_directory() as {name}:\n    pass", {"checkpoint": checkpoint})
    return name


def before_statement(context: Context, node: ast.expr) -> bool:
    """Whether what is put before the statement of a node, or around it, is done once, just before the node is."""
    statement = context.module.statement(node)
    return isinstance(statement, SIMPLE) and _alone(context, statement) and is_evaluated_once(context.module, node)


def folder_name(context: Context) -> str:
    """A name for the folder of a checkpoint: the same everywhere in a module."""
    if ("checkpoint_dir", None) not in context.emitted:
        context.emitted["checkpoint_dir", None] = context.fresh("checkpoint_dir")
    return context.emitted["checkpoint_dir", None]


def files_in(context: Context, user: ast.AST, place: Layout, folder: str, *names: str) -> str:
    """Source of the folder with the files of Transformers, or of a file in it.

    Args:
        context: The module.
        user: A part of the statement that looks for them.
        place: Where the files lie in the checkpoint.
        folder: Source of the checkpoint's folder.
        names: Name of a file.
    """
    if place is Layout.NESTED:
        names = ("checkpoint", *names)
    elif place is Layout.UNKNOWN:
        folder = f"{add_once(context, TRANSFORMERS_DIR, user)}({folder})"
    if not names:
        return folder
    context.plan.need_import("os")
    return f"os.path.join({', '.join([folder, *(string_literal(name) for name in names)])})"


def leads_to_files(context: Context, folder: ast.expr) -> bool:
    """Whether the files of Transformers are looked for where they are now, as in converted code.

    Such code may be seen with the trainer that wrote the checkpoint as it was: in another file, which is converted too.

    Args:
        context: The module.
        folder: What stands for the folder of a checkpoint.
    """
    return _leads_to_files(context.module, folder, MOST_FUNCTIONS)


def _leads_to_files(module: Module, folder: ast.expr, depth: int) -> bool:
    """The same, through functions of the project that are given the folder."""
    user = module.parent_of[folder]
    text = module.parent_of.get(user)
    if isinstance(user, ast.FormattedValue) and isinstance(text, ast.JoinedStr):
        rest = [part.value for part in text.values[1:2] if isinstance(part, ast.Constant)]
        return text.values[0] is user and bool(rest) and f"{rest[0]!s}/".startswith("/checkpoint/")
    if isinstance(user, ast.BinOp) and user.left is folder:
        return module.constant(user.right) == ("checkpoint" if isinstance(user.op, ast.Div) else "/checkpoint")
    if not isinstance(user, ast.Call):
        return False
    name = module.qualified(user.func)
    if name in JOINS and len(user.args) > 1 and user.args[0] is folder:
        return module.constant(user.args[1]) == "checkpoint"
    if name in PATHS and user.args == [folder]:
        return depth > 0 and _leads_to_files(module, user, depth - 1)
    if name == "os.listdir":
        return isinstance(text, ast.Compare) and user in text.comparators and module.constant(text.left) == "checkpoint"
    return depth > 0 and _called_leads_to_files(module, user, folder, depth)


def _called_leads_to_files(module: Module, call: ast.Call, folder: ast.expr, depth: int) -> bool:
    """Whether a function of the project that a call runs looks for the files where they are now."""
    function, home = module.definition(call.func), module
    if isinstance(function, ast.alias) and module.project is not None:
        imported = module.project.definition(module, call.func)
        function, home = (imported.function, imported.module) if imported is not None else (None, module)
    if not isinstance(function, ast.FunctionDef):
        return False
    if ast.get_docstring(function) == EITHER_PLACE:
        return True
    taken = function.args.args[call.args.index(folder) :][:1] if folder in call.args else []
    scope = home.scope(function)
    return any(_leads_to_files(home, use, depth - 1) for one in taken for use in home.uses(one.arg, scope))


def _alone(context: Context, statement: ast.stmt) -> bool:
    """Whether no other statement is on the lines of this one: `a = 1; b = 2`, `if x: a = 1`."""
    module = context.module
    line, column = module.start(statement)
    end, after = module.end(statement)
    rest = module.lines[end - 1][after:].strip()
    return not module.lines[line - 1][:column].strip() and (not rest or rest.startswith("#"))
