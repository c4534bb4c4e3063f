"""An `if` whose arms do nothing but train: a run that goes on does so once, before them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from raymigrate.codemods.to_ray.trainer_calls import common_branch
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callees import functions_run
from raymigrate.facts.syntax.module import Module

RESUME = """\
if {checkpoint}:
    with {checkpoint}.as_directory() as {folder}:
        {target}{trainer}.train({keyword}=os.path.join({folder}, "checkpoint"))
"""


@dataclass(frozen=True)
class Arms:
    """The arms of an `if` that trains in each, and in the `else` at its end.

    Args:
        tests: The conditions.
        calls: The calls that train: one for each condition, and the one of the `else`.
        target: What stands before each call: `result = `, `return `, or nothing.
    """

    tests: list[ast.expr]
    calls: list[ast.expr]
    target: str

    def resumed(self, trainer: str, keyword: str, names: dict[str, str]) -> Code:
        """The `if`, with an arm before the others that goes on from a checkpoint.

        Args:
            trainer: The Trainer.
            keyword: What its train() calls the checkpoint.
            names: What the variables of the checkpoint are called.
        """
        given = {"checkpoint": names["checkpoint"], "folder": names["checkpoint_dir"], "target": self.target}
        text = RESUME.format(trainer=trainer, keyword=keyword, **given)
        text += "".join(f"elif $test{n}:\n    {self.target}$train{n}\n" for n in range(len(self.tests)))
        text += f"else:\n    {self.target}$train{len(self.tests)}\n"
        parts: dict[str, ast.expr | str] = {f"test{n}": test for n, test in enumerate(self.tests)}
        return Code(text, {**parts, **{f"train{n}": call for n, call in enumerate(self.calls)}})


def shared_branch(module: Module, trains: Sequence[ast.Call]) -> ast.If | None:
    """The `if` in whose branches a Trainer trains that was made before it; None if each call sets up its own."""
    branch = common_branch(module, trains)
    receivers = {module.source(call.func.value) for call in trains}  # type: ignore[attr-defined]
    below = module.below(branch) if branch is not None else ()
    made = (node for node in below if isinstance(getattr(node, "ctx", None), ast.Store))
    return None if any(module.source(node) in receivers for node in made) else branch


def arms_of(module: Module, branch: ast.If) -> Arms | None:
    """The arms of an `if`, where each is one statement that calls train(), in one way; None where there is more to it.

    Args:
        module: The module.
        branch: The `if`.
    """
    tests, statements, rest = list[ast.expr](), list[ast.stmt](), list[ast.stmt]([branch])
    while len(rest) == 1 and isinstance(arm := rest[0], ast.If):
        tests.append(arm.test)
        statements += arm.body
        rest = arm.orelse
    statements += rest
    values = [getattr(statement, "value", None) for statement in statements]
    calls = [value for value in values if isinstance(value, ast.Call)]
    heads = {module.source(s).removesuffix(module.source(call)) for s, call in zip(statements, calls, strict=False)}
    is_bare = len(calls) == len(values) == len(tests) + 1 and len(heads) == 1 and bool(rest)
    holds_more = "#" in module.source(branch) or any(isinstance(part, ast.NamedExpr) for part in ast.walk(branch))
    # A run that goes on does not come to the tests: one that loads weights, say, has to stay before train().
    asked = (part for test in tests for part in ast.walk(test) if isinstance(part, ast.Call))
    holds_more = holds_more or any(function for call in asked for function in functions_run(module, call))
    is_annotated = any(isinstance(statement, ast.AnnAssign) for statement in statements)
    return Arms(tests, [*calls], heads.pop()) if is_bare and not holds_more and not is_annotated else None
