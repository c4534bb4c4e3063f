"""A spelling does not change the result: `x: T = value` is converted as `x = value` is."""

import ast
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.run.engine import convert

FIXTURES = Path(__file__).parents[1] / "fixtures"
OPTIONS = {"to_accelerate": Options(to_accelerate=True), "to_ray": Options(to_ray=True)}
OF_TYPES = {"RM103", "RM209"}  # what a trainer is said to be is rewritten too
CASES = (  # those whose rules once asked for `x = value` alone
    "accelerate_trainer/report_from_helper",
    "data/settings_that_are_gone",
    "ray_air/conditional_dict_checkpoint",
    "ray_air/own_class_in_checkpoints",
    "to_accelerate/ddp_by_hand",
    "to_accelerate/gan",
    "to_accelerate/phases",
    "to_accelerate/tagging",
    "to_accelerate/trainer_class",
    "to_accelerate/trainer_class_given_in_place",
    "transformers_trainer/chain_preprocessor_and_batch_predictor",
    "transformers_trainer/gpt2_wikitext_own_data",
    "transformers_trainer/metric_loaded_on_the_driver",
    "transformers_trainer/old_tokenizer_calls",
    "transformers_trainer/predictions_in_a_temporary_folder",
    "tuner/tuner_regression",
)


class _Annotated(ast.NodeTransformer):
    """Says of each name and attribute what class it holds, where a class is called, and elsewhere `object`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, (ast.Name, ast.Attribute)):
            return node
        called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        kind = called if called.rpartition(".")[2][:1].isupper() else "object"
        annotation = ast.parse(kind, mode="eval").body
        return ast.AnnAssign(target, annotation, node.value, simple=int(isinstance(target, ast.Name)))


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.Assign([node.target], node.value)


def _annotated(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_Annotated().visit(ast.parse(text))))


def _plain(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_Plain().visit(ast.parse(text))))


@pytest.mark.parametrize("case", CASES)
def test_annotated_assignments_are_converted_as_plain_ones(case: str) -> None:
    options = OPTIONS.get(case.partition("/")[0], Options())
    text = ast.unparse(ast.parse((FIXTURES / case / "before.py").read_text()))
    plain, annotated = convert(text, options=options), convert(_annotated(text), options=options)
    assert plain.after is not None and annotated.after is not None
    assert _plain(annotated.after) == _plain(plain.after)
    assert {f.code for f in annotated.findings} - OF_TYPES == {f.code for f in plain.findings}


def test_the_type_of_a_result_is_said_once_where_a_run_is_resumed() -> None:
    script = (FIXTURES / "to_ray" / "resumes_in_fixed_folder" / "before.py").read_text()
    result = convert(_annotated(script), options=OPTIONS["to_ray"])
    assert result.after is not None
    assert result.after.count("result: object") == 1
    assert result.after.count("result = ") == 2


def test_a_dict_that_a_checkpoint_becomes_is_not_called_a_checkpoint() -> None:
    script = (FIXTURES / "ray_air" / "conditional_dict_checkpoint" / "before.py").read_text()
    result = convert(script.replace("checkpoint = None", "checkpoint: Checkpoint | None = None"))
    assert "checkpoint_data: dict | None = None" in (result.after or "")


@pytest.mark.parametrize(
    ("statement", "bound"), [("x = 1", "x"), ("x: int = 1", "x"), ("x: int", None), ("x += 1", None)]
)
def test_what_a_statement_binds(statement: str, bound: str | None) -> None:
    [node] = ast.parse(statement).body
    target = only_target(node)
    assert (target and ast.unparse(target)) == bound
    assert is_assignment(node) == (bound is not None)
