"""RM701: arguments of Accelerator about data loading, which are in a DataLoaderConfiguration today.

docs/semantics/traps.md#t39.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import DATALOADER_ARGUMENTS
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.edits.plan import Part
from raymigrate.knowledge.legacy import ACCELERATORS


@codemod("Accelerator", phase=Phase.LIBRARIES, after=[keyword_arguments])
def dataloader_config(context: Context) -> None:
    """Makes a DataLoaderConfiguration of the arguments about data loading."""
    for call in context.module.calls(*ACCELERATORS):
        _configure(context, call)


def _configure(context: Context, call: ast.Call) -> None:
    moved = {keyword.arg: keyword for keyword in call.keywords if keyword.arg in DATALOADER_ARGUMENTS}
    if not moved or "dataloader_config" in {keyword.arg for keyword in call.keywords}:
        return
    for name, keyword in moved.items():
        message = f"Accelerator({name}=) is refused or ignored today; now in DataLoaderConfiguration."
        if not context.converts(RM701, keyword, message):
            return
    near = context.module.import_of(call.func)
    context.plan.need_import("accelerate.utils", "DataLoaderConfiguration", near=near)
    edit = context.plan.call(call)
    edit.remove |= {str(name) for name in moved}
    given: dict[str, Part] = {str(name): keyword.value for name, keyword in moved.items()}  # with other edits in them
    source = ", ".join(f"{name}=${name}" for name in given)
    edit.set("dataloader_config", f"DataLoaderConfiguration({source})", **given)
