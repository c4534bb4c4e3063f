"""RM501 in the file that makes a preprocessor for trainers in other files: it gives a function that maps a dataset."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.batch_mappers import change_helper, function_body, remove_mappers
from raymigrate.codemods.data.preprocessors import RM501
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.requests import DatasetFunction
from raymigrate.facts.ray_data.preprocessor_uses import has_place
from raymigrate.facts.ray_data.preprocessors import Helper, Imported, Mapper, imported_as
from raymigrate.facts.syntax.definitions import Definition


@codemod("BatchMapper", phase=Phase.CONFIGURATION)
def convert_for_others(context: Context) -> None:
    """Lets what other files give to their trainers as preprocessor map a dataset."""
    for request in context.requests:
        if isinstance(request, DatasetFunction) and _convert(context, request.name):
            context.done.append(request)


def _convert(context: Context, name: str) -> bool:
    module = context.module
    bindings = module.scope_of[module.tree].bindings.get(name, [])
    found = imported_as(Definition(module, bindings[0].node, name)) if len(bindings) == 1 else None
    if found is None or not has_place(found.definition):
        return False
    if not all(isinstance(stage, Mapper) for stage in found.stages):
        return False
    message = f"{name} gives a function that maps a dataset, for the trainers in other files."
    if not context.converts(RM501, found.made, message):
        return False
    function = found.definition.function
    if function is not None:
        change_helper(context, Helper(ast.Call(found.made, [], []), function, found.made, found.stages))
    else:
        _change_variable(context, found)
    return True


def _change_variable(context: Context, found: Imported) -> None:
    """`preprocessor = BatchMapper(f)` becomes `def preprocessor(dataset)`."""
    body, parts = function_body(context, found.stages)
    remove_mappers(context, found.made)
    edit = context.plan.statement(context.module.statement(found.definition.node))
    edit.removed, edit.replacement = False, Code(f"def {found.definition.name}(dataset):\n{body}", parts)
