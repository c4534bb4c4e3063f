"""Whether what a model gives has the length of its batch: then batches of two processes do not fit together."""

import ast
import re
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_accelerate.gathering import IGNORED
from raymigrate.facts.syntax.module import Module

# Models of transformers with one output for each token.
BY_TOKEN = lazy_regex(
    r"For(TokenClassification|QuestionAnswering|CausalLM|MaskedLM|Seq2SeqLM|ConditionalGeneration|CTC|SpeechSeq2Seq)$"
    r"|LMHeadModel$|ModelWithLMHead$"
)
PADS = ("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.pad_packed_sequence")
LABELS = lazy_regex(r"label|tag|target|tgt|trg|^ys?(_|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Lengths:
    """How long the outputs of different batches are.

    Args:
        differ: Whether they can have different lengths.
        are_filled: Whether what is missing can be filled with the label that no metric counts.
    """

    differ: bool
    are_filled: bool


def lengths_of(module: Module) -> Lengths:
    """The lengths of the outputs of the models of a module."""
    classes = {part for r in module.references_within("transformers") for part in r.qualified.split(".")}
    by_token = {name for name in classes if BY_TOKEN.search(name)}
    if by_token:
        knows = "DataCollatorForTokenClassification" in classes or _mentions_ignored(module)
        return Lengths(True, knows and all(name.endswith("ForTokenClassification") for name in by_token))
    return Lengths(any(_pads_labels(module, call) for call in module.calls(*PADS)), False)


def _mentions_ignored(module: Module) -> bool:
    """Whether a module has the number -100, by which labels are left out."""
    return any(module.constant(node) == IGNORED for node in module.of_type(ast.UnaryOp))


def _pads_labels(module: Module, call: ast.Call) -> bool:
    """Whether labels are padded to the longest of their batch."""
    names = [node for node in ast.walk(module.statement(call)) if isinstance(node, ast.Name)]
    return any(LABELS.search(name.id) for name in names)
