"""RM752, for the pipelines that a script makes itself."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.generation import GENERATING, RM752, differences, unsaid
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, named_arguments, sources

CLASSES = tuple(f"transformers.{module}TextGenerationPipeline" for module in ("", "pipelines."))


@codemod("pipeline", "TextGenerationPipeline", phase=Phase.LIBRARIES)
def generating_pipelines(context: Context) -> None:
    """Reports pipelines of a legacy script whose calls leave open how much they write, and how."""
    module = context.module
    if not is_for_old_transformers(context):
        return
    for made in module.calls(*PIPELINES, *CLASSES):
        if module.qualified(made.func) in PIPELINES and module.constant(argument(made, 0, "task")) != GENERATING:
            continue
        left = unsaid(module, named_arguments(made), _calls(module, made))
        if left:
            today, before = differences(left)
            message = (
                f"Unless the generation_config of the model says otherwise, this {today} since transformers 5. Before,"
                f" it {before}, or did what task_specific_params of the model's config says."
            )
            context.manual(RM752, made, message)


def _calls(module: Module, made: ast.Call) -> list[ast.Call]:
    """The calls of the pipeline that a call makes, as far as they are seen."""
    calls = (call for call in module.of_type(ast.Call) if module.qualified(call.func) is None)
    return [call for call in calls if call is not made and made in sources(module, call.func)]
