"""RM701 and RM702: arguments of `from_pretrained` that were renamed or are gone."""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import FROM_PRETRAINED_CHANGES
from raymigrate.codemods.libraries.argument_edits import change_argument
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase


@codemod(*FROM_PRETRAINED_CHANGES, phase=Phase.LIBRARIES, after=[keyword_arguments])
def loading_arguments(context: Context) -> None:
    """Changes the arguments of every `from_pretrained`."""
    for node, method in context.module.method_calls("from_pretrained"):
        if (context.module.qualified(method) or "").startswith("transformers."):
            for keyword in node.keywords:
                change = FROM_PRETRAINED_CHANGES.get(keyword.arg or "")
                if change is not None:
                    change_argument(context, node, keyword, change)
