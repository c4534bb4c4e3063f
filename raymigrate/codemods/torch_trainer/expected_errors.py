"""RM428: tests that expect the constructor of a legacy trainer to raise.

It looked at more than TorchTrainer does: whether transformers or accelerate is there, whether datasets have a "train",
which parameters the init function takes (ray 2.6.3, ray/train/huggingface/transformers/transformers_trainer.py).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.guards import expecting
from raymigrate.facts.legacy import TRAINERS

RM428 = Rule(
    "RM428",
    "an error that a test expects of a trainer's constructor",
    "TorchTrainer takes what the legacy trainer refused when it was constructed: no error comes there, or another one,"
    " and the test fails.",
    "Expect the error where it comes today, mostly from fit(), or take the test out.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
    unproven="Which error comes depends on what the test gives the constructor.",
)


@codemod("raises", "assertRaises", "assertRaisesRegex")
def expected_errors(context: Context) -> None:
    """Reports `with pytest.raises(ValueError): TransformersTrainer(...)`."""
    module = context.module
    for trainer in module.calls(*TRAINERS):
        for block in module.ancestors(trainer):
            if isinstance(block, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                break
            if not isinstance(block, (ast.With, ast.AsyncWith)) or _fits(block):
                continue
            for expected in expecting(module, block):
                name = ast.unparse(trainer.func)
                message = f"This waits for an error that {name}() raised: TorchTrainer may take what it refused."
                context.manual(RM428, expected, message)


def _fits(block: ast.With | ast.AsyncWith) -> bool:
    """Whether the training starts in a block too, whose error is another matter (RM427)."""
    return any(isinstance(node, ast.Attribute) and node.attr == "fit" for node in ast.walk(block))
