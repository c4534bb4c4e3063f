"""Parsers that make objects of dataclasses: those of transformers and trl, and the classes of what they give."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.values.arguments import argument, is_method_call

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

TRL_PARSERS = tuple(f"trl.{module}TrlParser" for module in ("", "scripts.", "scripts.utils.", "commands.cli_utils."))
HF_PARSERS = ("transformers.HfArgumentParser", "transformers.hf_argparser.HfArgumentParser", *TRL_PARSERS)
HF_PARSING = (
    *("parse_args_into_dataclasses", "parse_args_and_config"),
    *("parse_dict", "parse_json_file", "parse_yaml_file"),
)


def parsed_into(module: Module, call: ast.Call, place: int) -> ast.expr | None:
    """The class of one of the objects that `HfArgumentParser((First, Second)).parse_dict(values)` returns.

    Args:
        module: The module.
        call: The call, if it is one.
        place: Which of the objects.
    """
    if not is_method_call(call, *HF_PARSING):
        return None
    parsers = module.origins(call.func.value, elsewhere=False)
    parser = parsers[0].node if len(parsers) == 1 else None
    if not isinstance(parser, ast.Call) or module.qualified(parser.func) not in HF_PARSERS:
        return None
    classes = argument(parser, 0, "dataclass_types")
    several = module.value(classes) if classes is not None else None
    if isinstance(several, (ast.List, ast.Tuple)):
        return several.elts[place] if -len(several.elts) <= place < len(several.elts) else None
    return classes if place in (0, -1) else None
