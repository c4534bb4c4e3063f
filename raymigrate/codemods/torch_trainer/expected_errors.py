"""RM428: tests that expect a legacy trainer to raise or to warn.

Its constructor looked at more than TorchTrainer's does: whether transformers or accelerate is there, whether datasets
have a "train", which parameters the init function takes (ray 2.6.3, ray/train/huggingface/transformers/
transformers_trainer.py). On the workers it refused some TrainingArguments
(docs/semantics/legacy-transformers.md#arguments-that-were-checked), and the older names of the trainers warned.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.guards import EXPECTING, EXPECTING_WARNINGS, blocks_around, heads_of
from raymigrate.facts.legacy import HF, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.results import trainers_of

RM428 = Rule(
    "RM428",
    "an error or a warning that a test expects of a trainer",
    "TorchTrainer takes what the legacy trainer refused when it was constructed, or on its workers, and gives none of"
    " its warnings: nothing is raised there, or something else, and the test fails.",
    "Expect the error where it comes today, mostly from fit(), or take the test out.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
    unproven="Which error comes depends on what the test gives the constructor.",
)
# transformers 5.23 itself asks of load_best_model_at_end that evaluation and saving go together (training_args.py).
CHECKED = (
    "The legacy trainer raised for load_best_model_at_end=True, for strategies of logging, evaluation and saving that"
    " differ, and for steps that do not fit together. TorchTrainer checks none of this: if this waits for one of these"
    " errors, mostly none comes."
)
TAKE_OUT = "Take the test out, or expect what such a job does today."


@codemod("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "deprecated_call", "fit")
def expected_errors(context: Context) -> None:
    """Reports `with pytest.raises(ValueError): TransformersTrainer(...)`, and the like around fit() and an import."""
    module = context.module
    for trainer in module.calls(*TRAINERS):
        name = ast.unparse(trainer.func)
        for block in blocks_around(module, trainer):
            for expected in () if _fits(block) else heads_of(module, block, EXPECTING):
                message = f"This waits for an error that {name}() raised: TorchTrainer may take what it refused."
                context.manual(RM428, expected, message)
            for expected in heads_of(module, block, EXPECTING_WARNINGS):
                message = f"This waits for a warning that {name}() gave: TorchTrainer gives none of these."
                context.manual(RM428, expected, message, "Drop this block's head, or take the test out.")
    for fit, _ in module.method_calls("fit"):
        expecting = [head for block in blocks_around(module, fit) for head in heads_of(module, block, EXPECTING)]
        if expecting and trainers_of(module, fit) & TRANSFORMERS_TRAINERS:
            context.manual(RM428, expecting[0], CHECKED, TAKE_OUT)
    for statement in module.imports:
        if isinstance(statement, ast.Import) and any(alias.name == HF for alias in statement.names):
            for expected in _expecting_import(module, statement):
                message = f"{HF} is an empty package today: this import raises nothing, whatever is not installed."
                context.manual(RM428, expected, message, TAKE_OUT)


def _expecting_import(module: Module, statement: ast.Import) -> Iterator[ast.Call]:
    for block in blocks_around(module, statement):
        yield from heads_of(module, block, EXPECTING)


def _fits(block: ast.With | ast.AsyncWith) -> bool:
    """Whether the training starts in a block too, whose error is another matter (RM427)."""
    return any(isinstance(node, ast.Attribute) and node.attr == "fit" for node in ast.walk(block))
