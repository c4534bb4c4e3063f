"""The parameters of a function: others, under other names, or without their defaults."""

from collections.abc import Sequence

import libcst as cst

from raymigrate.edits.plan import FunctionEdit
from raymigrate.edits.sequences import append


def parsed(source: str) -> cst.Parameters:
    """The parameters that a text spells."""
    function = cst.parse_statement(f"def f({source}): pass")
    assert isinstance(function, cst.FunctionDef)
    return function.params


def with_others(function: cst.FunctionDef, edit: FunctionEdit) -> cst.Parameters:
    """The parameters of a function with the one that an edit adds, with new names, and less those that it drops."""

    def named(parameter: cst.Param) -> cst.Param:
        old = parameter.name.value
        annotation = None if old in edit.unannotated else parameter.annotation
        if old in edit.annotated:
            annotation = cst.Annotation(cst.parse_expression(edit.annotated[old]))
        return parameter.with_changes(name=cst.Name(edit.renamed.get(old, old)), annotation=annotation)

    def kept(parameters: Sequence[cst.Param]) -> list[cst.Param]:
        left = [named(parameter) for parameter in parameters if parameter.name.value not in edit.without]
        if left and parameters[-1].name.value in edit.without:
            left[-1] = left[-1].with_changes(comma=parameters[-1].comma)
        return left

    parameters, opening = function.params, function.whitespace_before_params
    added = parsed(edit.added_parameter or "")
    params, kwonly = kept(parameters.params), kept(parameters.kwonly_params)
    if added.params:
        for parameter in added.params:
            params = append(params, parameter.with_changes(comma=cst.MaybeSentinel.DEFAULT), opening)
        return parameters.with_changes(params=params, kwonly_params=kwonly)
    if not added.kwonly_params:
        return parameters.with_changes(params=params, kwonly_params=kwonly)
    if kwonly or isinstance(parameters.star_arg, cst.Param) or not params:
        changed = parameters.with_changes(params=params, kwonly_params=append(kwonly, added.kwonly_params[0], opening))
        is_starred = kwonly or isinstance(parameters.star_arg, cst.Param)
        return changed if is_starred else changed.with_changes(star_arg=added.star_arg)
    *params, last, only = append(params, added.kwonly_params[0], opening)
    star = cst.ParamStar(comma=last.comma) if isinstance(last.comma, cst.Comma) else added.star_arg
    return parameters.with_changes(params=[*params, last], star_arg=star, kwonly_params=[only])


def without_defaults(parameters: cst.Parameters, names: set[str]) -> cst.Parameters:
    """Parameters of which those with some names have no default any more."""

    def bare(parameter: cst.Param) -> cst.Param:
        if parameter.name.value not in names:
            return parameter
        return parameter.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)

    return parameters.with_changes(
        posonly_params=[bare(parameter) for parameter in parameters.posonly_params],
        params=[bare(parameter) for parameter in parameters.params],
    )


def with_header(function: cst.FunctionDef, edit: FunctionEdit) -> cst.FunctionDef:
    """A function with the name, the parameters and the annotation that an edit gives it."""
    changes: dict[str, object] = {}
    if edit.name:
        changes["name"] = cst.Name(edit.name)
    if edit.parameters is not None:
        changes.update(params=parsed(edit.parameters), whitespace_before_params=cst.SimpleWhitespace(""))
    if edit.drop_return_annotation:
        changes["returns"] = None
    if edit.added_parameter or edit.renamed or edit.without:
        changes["params"] = with_others(function, edit)
    if edit.undefault:
        changes["params"] = without_defaults(function.params, edit.undefault)
    return function.with_changes(**changes)
