"""RM701, for the two switches of pipelines that find entities, which became one choice."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.libraries.pipeline_calls import calls_pipeline
from raymigrate.codemods.phases import Phase
from raymigrate.facts.values import called_name, written

CLASSES = tuple(f"transformers.{module}TokenClassificationPipeline" for module in ("", "pipelines."))
GROUPED, SUBWORDS, NEW = "grouped_entities", "ignore_subwords", "aggregation_strategy"
REFUSED = "raises a TypeError since transformers 5"


@codemod(GROUPED, SUBWORDS, phase=Phase.LIBRARIES)
def grouped_entities(context: Context) -> None:
    """Gives pipelines the strategy that their switches stood for.

    Both switches went before aggregation_strategy= (transformers 4.30, pipelines/token_classification.py:
    `_sanitize_parameters`).
    """
    for call in dict.fromkeys(call for call, _ in context.module.keywords(GROUPED, SUBWORDS)):
        given = {keyword.arg: keyword for keyword in call.keywords if keyword.arg in (GROUPED, SUBWORDS)}
        if calls_pipeline(context.module, call, CLASSES):
            _change(context, call, list(given.values()))
        elif called_name(context.module, call).startswith("ray."):
            for keyword in given.values():
                _tell(context, keyword)


def _change(context: Context, call: ast.Call, given: list[ast.keyword]) -> None:
    values = {keyword.arg: written(keyword.value) for keyword in given}
    for keyword in given:
        if ... in values.values():
            _tell(context, keyword)
        elif context.converts(RM701, keyword, f"{keyword.arg}= {REFUSED}; now {NEW}=."):
            edit = context.plan.call(call)
            edit.remove.add(str(keyword.arg))
            if any(value is not None for value in values.values()):
                edit.set(NEW, f'"{_strategy(bool(values.get(GROUPED)), bool(values.get(SUBWORDS)))}"')


def _strategy(grouped: bool, first: bool) -> str:
    return ("first" if first else "simple") if grouped else "none"


def _tell(context: Context, keyword: ast.keyword) -> None:
    context.manual(
        RM701,
        keyword,
        f"{keyword.arg}= {REFUSED}; {NEW}= took its place.",
        f'Give {NEW}= "none" where {GROUPED} is false; else "first" where {SUBWORDS} is true, and "simple" where it is'
        " not.",
    )
