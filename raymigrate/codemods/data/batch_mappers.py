"""RM503, and what becomes of BatchMappers: `map_batches` with the same arguments; the mapper itself goes away."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.preprocessor_advice import default_batch_size, is_copied
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_data.preprocessor_uses import is_preprocessor_argument
from raymigrate.facts.ray_data.preprocessors import (
    BATCH_MAPPERS,
    CHAINS,
    Helper,
    Mapper,
    Stage,
    arguments,
    class_name,
    stages,
)
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.values import called_name, names_of

RM503 = Rule(
    "RM503",
    "a batch that is changed in place",
    "Current Ray hands out read-only batches where it need not copy (ValueError: assignment destination is read-only),"
    " and since pandas 3 a change to a part of a DataFrame that is a copy has no effect.",
    "batch_size= together with zero_copy_batch=False gives the function a copy that it may change.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.map_batches.html",
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def map_batches_arguments(context: Context, mapper: Mapper, letter: str, parts: dict[str, Part]) -> str:
    """A template for the arguments of map_batches that do what a BatchMapper did; its parts go to `parts`."""
    given = arguments(mapper.call)
    constant = context.module.constant
    parts[f"fn_{letter}"] = given["fn"]
    template = f"$fn_{letter}"
    batch_format = constant(given.get("batch_format"))
    if batch_format in (None, "default"):  # what Ray 2.0 to 2.3 allowed: DataFrames
        batch_format = "pandas"
        template += ', batch_format="pandas"'
    else:
        parts[f"batch_format_{letter}"] = given["batch_format"]
        template += f", batch_format=$batch_format_{letter}"
    if "batch_size" in given and constant(given["batch_size"]) != "default":
        parts[f"batch_size_{letter}"] = given["batch_size"]
        template += f", batch_size=$batch_size_{letter}"
    else:
        template += f", batch_size={default_batch_size(context)}"
    function = BatchFunction(context.module, given["fn"])
    if batch_format == "pandas":
        for place in function.lost_assignments if function.visible else ():
            report_lost_assignment(context, place, function, mapper.call)
    return f"{template}, zero_copy_batch=False" if is_copied(context, mapper, str(batch_format)) else template


def made_once(context: Context, mapper: Mapper) -> ast.Call | None:
    """The call that makes the function of a BatchMapper, which made it once, whatever datasets there were.

    `functools.partial` makes one as it stands, as often as it is written.
    """
    made = arguments(mapper.call)["fn"]
    is_cheap = called_name(context.module, made) == "functools.partial"
    return made if isinstance(made, ast.Call) and not is_cheap else None


def report_lost_assignment(context: Context, place: ast.AST, function: BatchFunction, call: ast.Call) -> None:
    """Reports a change to a column of a DataFrame that goes to a copy; at the call, if it is in another file."""
    what = "this"
    if function.elsewhere:
        place, what = call, f"`{ast.unparse(place)}` in {function.module.path}"
    context.manual(
        RM503,
        place,
        f"Since pandas 3 {what} changes a copy of the column, and the batch stays as it was, without an error.",
        'Assign to the frame: frame.loc[rows, "column"] = value, or frame["column"] = frame["column"].method(...).',
    )


def function_body(context: Context, mappers: list[Stage]) -> tuple[str, dict[str, Part]]:
    """The body of a function of `dataset` that does what BatchMappers did, and the parts of its template."""
    parts, lines = dict[str, Part](), list[str]()
    for number, stage in enumerate(mappers):
        assert isinstance(stage, Mapper)
        lines.append(f"dataset.map_batches({map_batches_arguments(context, stage, LETTERS[number], parts)})")
    return "".join(f"    dataset = {line}\n" for line in lines[:-1]) + f"    return {lines[-1]}\n", parts


def change_helper(context: Context, made: Helper) -> None:
    """Lets a helper return a function that maps a dataset."""
    body, parts = function_body(context, made.stages)
    name = context.fresh("preprocess", "preprocess_dataset")
    returned = context.module.parent_of[made.value]
    assert isinstance(returned, ast.Return)
    inner = f"def {name}(dataset):\n{body}\nreturn {name}\n"
    context.plan.statement(returned).replacement = Code(inner, parts)
    context.plan.function(made.function).drop_return_annotation = made.function.returns is not None
    if made.function.returns is not None:
        context.take_out(made.function.returns)
    remove_mappers(context, made.value)


def remove_mappers(context: Context, node: ast.expr) -> str:
    """Takes away `preprocessor = BatchMapper(...)` lines that only the trainer used; returns their comments."""
    module = context.module
    value = module.value(node)
    if not isinstance(value, ast.Call) or class_name(module, value) is None:
        return ""
    if module.qualified(value.func) not in BATCH_MAPPERS | CHAINS:
        return ""
    if module.qualified(value.func) in CHAINS and not any(isinstance(s, Mapper) for s in stages(module, node) or ()):
        return ""
    comments = "" if isinstance(node, ast.Name) else comments_of(module, value)
    for name in names_of(module, node):
        bound = module.definition(name)
        statement = module.parent_of[bound] if bound is not None else None
        is_alone = isinstance(statement, ast.AnnAssign) or (
            isinstance(statement, ast.Assign) and statement.targets == [bound]
        )
        if not is_alone or not isinstance(statement, ast.stmt) or _is_used_besides(context, name):
            return comments  # `self.mapper = mapper = BatchMapper(...)` and `rows, mapper = ...` bind more
        context.plan.statement(statement).removed = True
        comments += comments_of(module, statement)
        if isinstance(statement, ast.AnnAssign):
            context.take_out(statement.annotation)
    reference = module.reference_at.get(value.func)
    if reference is not None:
        context.handle(reference, gone=True)
    if module.qualified(value.func) in CHAINS:
        comments += "".join(
            remove_mappers(context, argument) for argument in value.args if isinstance(argument, ast.Name)
        )
        for argument in value.args:
            if not isinstance(argument, ast.Name):
                remove_mappers(context, argument)  # its comments are those of the Chain
    return comments


def _is_used_besides(context: Context, node: ast.Name) -> bool:
    """Whether a name for BatchMappers has other readers than trainers whose preprocessor= is removed."""
    module = context.module
    others = [use for use in module.uses_of(node) if use is not node] if module.bound_in(node) else [node]
    return not all(
        context.plan.statement(module.statement(use)).removed
        or (
            is_preprocessor_argument(module, use)
            and isinstance(call := module.parent_of[module.parent_of[use]], ast.Call)
            and call in context.plan.calls
            and "preprocessor" in context.plan.calls[call].remove
        )
        for use in others
    )
