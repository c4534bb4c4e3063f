"""A spelling does not change the result: what stands below `if True:`, or is imported in a `try`, is converted as ever.

Annotated assignments are in `test_annotated_assignments.py`.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from raymigrate.run.engine import convert
from scripts.update_twins import options_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
DEFINED = (ast.FunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
Respelling = Callable[[ast.stmt], str]


def _below(test: str, *kinds: type[ast.stmt]) -> Respelling:
    """Puts statements of some kinds below a condition."""

    def respell(statement: ast.stmt) -> str:
        text = ast.unparse(statement)
        return (
            f"{test}\n" + "".join(f"    {line}\n" for line in text.splitlines())
            if isinstance(statement, kinds)
            else text
        )

    return respell


def _tried(handler: str) -> Respelling:
    """Puts each import into a `try`."""

    def respell(statement: ast.stmt) -> str:
        text = ast.unparse(statement)
        return f"try:\n    {text}\nexcept ImportError:\n    {handler}" if isinstance(statement, IMPORTS) else text

    return respell


def _respelled(text: str, respell: Respelling) -> str:
    """The program with each statement at its top in another spelling; a text at its beginning stays the first."""
    tree = ast.parse(text)
    return "\n".join(map(respell, tree.body))


class _Plain(ast.NodeTransformer):
    """Takes the statements out of the blocks again, and leaves imports out, which have places of their own."""

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        test = ast.unparse(node.test)
        if test == "TYPE_CHECKING":
            return node.orelse
        return node.body if test in ("True", "FLAG") else node

    def visit_Try(self, node: ast.Try) -> ast.stmt | list[ast.stmt]:
        only_imports = all(isinstance(part, (*IMPORTS, ast.Pass)) for part in node.body)
        return [] if only_imports else self.generic_visit(node)  # type: ignore[return-value]

    def visit_Import(self, _: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, _: ast.ImportFrom) -> None:
        return None


def _meant(text: str) -> set[str]:
    """The statements at the top of a program, whatever their order: new functions stand above others."""
    return {ast.unparse(statement) for statement in _Plain().visit(ast.parse(text)).body}


RESPELLINGS: dict[str, tuple[str, Respelling]] = {
    "if True": ("", _below("if True:", *DEFINED, ast.Assign)),
    "else of TYPE_CHECKING": (
        "from typing import TYPE_CHECKING\n",
        _below("if TYPE_CHECKING:\n    pass\nelse:", *DEFINED, ast.Assign),
    ),
    "if FLAG": ("import os\nFLAG = 'FLAG' in os.environ\n", _below("if FLAG:", *DEFINED)),
    "try, raise": ("", _tried("raise")),
    "try, exit": ("", _tried("raise SystemExit('pip install ray')")),
}
CASES = (
    ("transformers_trainer/readme_example", "if True", "else of TYPE_CHECKING", "if FLAG", "try, raise"),
    ("accelerate_trainer/bert_mrpc", "if True", "if FLAG", "try, exit"),
    ("to_ray/accelerate_folds", "try, raise", "try, exit"),
    ("to_ray/module_level", "try, raise"),
    ("libraries/attributes_of_own_classes", "else of TYPE_CHECKING"),  # these were passed over there
    ("libraries/rotary_settings", "else of TYPE_CHECKING"),
    ("gone/boosted_trees", "else of TYPE_CHECKING"),
    ("to_accelerate/gan", "if True", "else of TYPE_CHECKING"),
)


@pytest.mark.parametrize(("case", "name"), [(case, name) for case, *names in CASES for name in names])
def test_a_respelled_program_is_converted_as_it_was(case: str, name: str) -> None:
    path = FIXTURES / case / "before.py"
    head, respell = RESPELLINGS[name]
    text = head + ast.unparse(ast.parse(path.read_text()))
    plain, other = (convert(each, str(path), options_of(path)) for each in (text, _respelled(text, respell)))
    assert _meant(other.after or "") == _meant(plain.after or "")
    assert {f.code for f in other.findings} == {f.code for f in plain.findings}


def test_a_dotted_import_beside_one_in_a_try_binds_its_first_part() -> None:
    other = "from contextlib import suppress\nwith suppress(ImportError):\n    import ray.ml\n"
    found = convert(f"try:\n    import ray\nexcept ImportError:\n    ray = None\n{other}print(ray)\n").findings
    assert [finding.code for finding in found] == ["RM692"]


def test_the_first_parameter_of_a_static_method_is_what_it_is_annotated_as() -> None:
    script = (FIXTURES / "ray_air" / "conditional_dict_checkpoint" / "before.py").read_text()
    function = "def describe(checkpoint: Checkpoint):\n    return sorted(checkpoint.to_dict())\n"
    method = "class Kept:\n    @staticmethod\n" + "".join(f"    {line}\n" for line in function.splitlines())
    assert function in script
    text = convert(
        script.replace("describe(", "Kept.describe(").replace(f"{function[:4]}Kept.{function[4:]}", method)
    ).after
    assert text is not None
    assert "return sorted(load_checkpoint(checkpoint))" in text
