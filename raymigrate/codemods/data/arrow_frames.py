"""RM515: DataFrames whose columns are Arrow's.

Ray Data keeps its blocks as Arrow tables. Since Ray 2.56 the DataFrames that it makes of them have Arrow's dtypes,
unless the DataContext says otherwise (docs/semantics/data.md#frames).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.helpers import top_level
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callers import is_used_elsewhere, users_of
from raymigrate.facts.projects.places import Place
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_data.datasets import MAKERS, Known, is_made_here, may_be_shard
from raymigrate.facts.ray_data.frame_readers import FrameReader, frame_readers
from raymigrate.facts.ray_tune.tuners import TUNERS
from raymigrate.facts.syntax.module import Module

SETTING = "enable_arrow_backed_pandas_conversion"

RM515 = Rule(
    "RM515",
    "DataFrames of Ray Data with columns of Arrow",
    "Since Ray 2.56 columns of the DataFrames that Ray Data makes have Arrow's types, such as int64[pyarrow]: % raises"
    " a NotImplementedError, where(..., 0.5) puts 0 into whole numbers, .values is not an array, several columns make"
    " an array of objects, which torch refuses, a missing value is pandas.NA, and a cell with a list holds no array."
    r" \w, \d and \s in a pattern of .str find nothing outside ASCII, lookarounds raise an ArrowInvalid, and"
    " .str.split() gives empty texts for blanks at the ends.",
    "Where code does with a DataFrame what may come out differently,"
    f" ray.data.DataContext.get_current().{SETTING} = False keeps columns of NumPy. It has to be set before the first"
    " Dataset is made.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.DataContext.html",
    errors=(
        "NotImplementedError: mod not implemented",
        "can't convert np.ndarray of type numpy.object_",
        "expected np.ndarray (got ArrowExtensionArray)",
        "Invalid regular expression: invalid",
    ),
)
MESSAGE = "On Ray >= 2.56 {frame} has columns of Arrow, and {use} may fail or come out differently"
ADVICE = f"Before the first Dataset is made, ray.data.DataContext.get_current().{SETTING} = False keeps those of NumPy."
SET = f"# DataFrames with columns of NumPy, as before Ray 2.56\n{{context}}.get_current().{SETTING} = False"
LONGEST = 50
NOTEBOOK = ".ipynb"


@codemod("pandas", "map_batches", "BatchMapper", phase=Phase.LIBRARIES, in_ray_scripts=True)
def arrow_frames(context: Context) -> None:
    """Keeps DataFrames with columns of NumPy where the code may do what comes out differently with those of Arrow."""
    if SETTING.lower() in context.module.text.lower():
        return
    readers = _readers(context)
    first = _first_made(context) if readers else None
    known, written = Known(), False
    for reader in readers:
        message = MESSAGE.format(frame=_frame(reader), use=_use(reader))
        if first is None or _may_be_made_elsewhere(context, reader, known):
            if not _is_set_by_users(context, reader):
                context.manual(RM515, reader.place, f"{message}.", ADVICE)
        elif context.converts(RM515, reader.place, f"{message}; now those of NumPy.") and not written:
            written = True
            _write(context, *first)


def _readers(context: Context) -> list[FrameReader]:
    return [found for found in frame_readers(context.module) if found.needs_old or context.of_legacy_job]


def _is_set_by_users(context: Context, reader: FrameReader) -> bool:
    """Whether each file that uses what reads a DataFrame keeps columns of NumPy: it says so, or this run lets it."""
    users = users_of(context.module, reader.place)
    return bool(users) and all(
        SETTING.lower() in user.text.lower()
        or (context.may_ask(user.path) and _is_set_by_run(Context(user, context.options, user.path)))
        for user in users
    )


def _is_set_by_run(context: Context) -> bool:
    """Whether a file gets the setting by `arrow_frames`."""
    if not context.is_ray_script or _first_made(context) is None:
        return False
    return not all(_may_be_made_elsewhere(context, reader, Known()) for reader in _readers(context))


def _frame(reader: FrameReader) -> str:
    place = reader.place
    name = place.name if isinstance(place, ast.FunctionDef) else ast.unparse(place)
    return f"the DataFrame that {name}() gets" if not isinstance(place, (ast.Call, ast.Lambda)) else "this DataFrame"


def _use(reader: FrameReader) -> str:
    """What to call what is done with a DataFrame."""
    if not reader.differing:
        return "what is done with them, which is not seen,"
    texts = [f"`{ast.unparse(node)}`" for node in reader.differing]
    return next((text for text in texts if len(text) <= LONGEST), "what is done with them")


def _may_be_made_elsewhere(context: Context, reader: FrameReader, known: Known) -> bool:
    """Whether another file, or another process, may make the Dataset or the trainer before this one sets anything."""
    module = context.module
    if module.path.endswith(NOTEBOOK) and not _is_of_others(module, reader):
        return False  # no other file imports it
    if reader.dataset is None:
        return is_used_elsewhere(module, reader.place)
    if may_be_shard(module, reader.dataset):  # its worker has the settings of the process that calls fit()
        return any(module.calls(*TUNERS)) or is_used_elsewhere(module, reader.place)
    return not is_made_here(module, reader.dataset, known, several=reader.several)


def _is_of_others(module: Module, reader: FrameReader) -> bool:
    """Whether a notebook is seen to have the Dataset from a file of its project, or a library other than Ray."""
    if any(home is not module for home in with_imported(module)):
        return True
    made = module.origins(reader.dataset)
    names = [module.qualified(source.node.func) for source in made if isinstance(source.node, ast.Call)]
    return any(name and not name.startswith("ray.") for name in names)


def _first_made(context: Context) -> tuple[ast.stmt, ast.Call] | None:
    """The statement before which nothing makes a Dataset, with the first call that makes one; None if none is seen."""
    module = context.module
    made = module.calls_if(lambda name: name.startswith(MAKERS))
    made = [call for call in made if context.place_of(call) is not Place.WORKER]
    if not made:
        return None
    made.sort(key=module.start)
    if len({module.function(call) for call in made}) > 1:
        return (top_level(module, made[0]), made[0]) if _is_imported_at_top(module, made[0]) else None
    statement = module.statement(made[0])
    while not _is_before_all(module, statement, made):
        statement = module.statement(module.parent_of[statement])
    statement = next(part for part in module.block_of(statement) if part.lineno == statement.lineno)  # a; b
    return None if isinstance(module.parent_of[statement], ast.ClassDef) else (statement, made[0])


def _is_before_all(module: Module, statement: ast.stmt, made: list[ast.Call]) -> bool:
    """Whether a statement is in a block that has all the calls, that runs once, and that has lines of its own."""
    if isinstance(module.parent_of[statement], (ast.For, ast.AsyncFor, ast.While)):
        return False
    block = module.block_of(statement)
    line, column = module.start(block[0])
    around = set(block)
    return not module.lines[line - 1][:column].strip() and all(
        not around.isdisjoint(module.ancestors(call)) for call in made
    )


def _is_imported_at_top(module: Module, call: ast.Call) -> bool:
    reference = module.reference_at.get(call.func)
    imported = reference.binding.statement if reference is not None else None
    return imported is not None and isinstance(module.scope_of[imported].node, ast.Module)


def _write(context: Context, statement: ast.stmt, call: ast.Call) -> None:
    module = context.module
    if isinstance(call.func, ast.Attribute):
        name = f"{module.source(call.func.value)}.DataContext"
    else:
        imported = module.import_of(call.func)
        context.plan.need_import("ray.data", "DataContext", near=context.nested(imported))
        name = "DataContext"
    context.plan.statement(statement).before.insert(0, Code(SET.format(context=name)))
