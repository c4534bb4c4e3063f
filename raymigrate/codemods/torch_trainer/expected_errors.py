"""RM428: tests that expect a legacy trainer, or something else of legacy Ray, to raise or to warn.

Its constructor looked at more than TorchTrainer's does: whether transformers or accelerate is there, whether datasets
have a "train", which parameters the init function takes (ray 2.6.3, ray/train/huggingface/transformers/
transformers_trainer.py). On the workers it refused some TrainingArguments
(docs/semantics/legacy-transformers.md#arguments-that-were-checked), and the older names of the trainers warned, as did
those of their checkpoints and predictors (huggingface_checkpoint.py, huggingface_predictor.py). The functions of
ray.air.session warn outside of a training function, where those of ray.train raise a RuntimeError (measured on 2.60).
"""

import ast
from collections.abc import Collection, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.ray_air.ray_air import MOVED
from raymigrate.codemods.shared.torch_models import FROM_DICT
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.guards import (
    EXPECTING,
    EXPECTING_WARNINGS,
    blocks_around,
    expecting,
    goes_on_without,
    heads_of,
    waits_for,
)
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import sources
from raymigrate.knowledge.legacy import GONE_TORCH_TRAINERS, HF, RL_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.knowledge.libraries import look_up

RM428 = Rule(
    "RM428",
    "an error or a warning that a test expects of legacy Ray",
    "TorchTrainer takes what the legacy trainer refused when it was constructed, or on its workers, and gives none of"
    " its warnings: nothing is raised there, or something else, and the test fails. The same goes for what replaces"
    " other names of legacy Ray.",
    "Expect the error where it comes today, mostly from fit(), or remove the test.",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
    unproven="Which error comes depends on what the test gives the constructor.",
)
# transformers 5.23 itself asks of load_best_model_at_end that evaluation and saving go together (training_args.py).
CHECKED = (
    "The legacy trainer raised for load_best_model_at_end=True, for strategies of logging, evaluation and saving that"
    " differ, and for steps that do not fit together. TorchTrainer checks none of this: if this test waits for one of"
    " these errors, usually none comes."
)
MAY_TAKE = "what takes its place may raise none, or another"
OF_A_TRIAL = "a Tuner takes its place, which raises nothing where a trial fails"
IN_RESULT = "Look at the error of the result: tuner.fit()[0].error."
GIVES_NONE = "what takes its place gives none of these"
OUTSIDE = "outside of a training function what takes its place raises a RuntimeError"
TAKE_OUT = "Take the test out, or expect what such a job does today."
DROP_HEAD = "Drop this block's head, or take the test out."
SESSION = "ray.air.session"
# What pytest.warns() without a class, or for one of these, may wait for.
DEPRECATIONS = frozenset({"DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "RayDeprecationWarning"})
ANY_WARNING = DEPRECATIONS | {"UserWarning", "Warning"}


@codemod("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "deprecated_call", "fit")
def expected_errors(context: Context) -> None:
    """Reports `with pytest.raises(ValueError): TransformersTrainer(...)`, and the same around fit() and an import."""
    module = context.module
    for trainer in module.calls(*TRAINERS):
        name = ast.unparse(trainer.func)
        for block in blocks_around(module, trainer):
            for expected in () if _fits(block) else heads_of(module, block, EXPECTING):
                message = f"This waits for an error that {name}() raised: TorchTrainer may take what it refused."
                context.manual(RM428, expected, message)
            for expected in heads_of(module, block, EXPECTING_WARNINGS):
                message = f"This waits for a warning that {name}() gave: TorchTrainer gives none of these."
                context.manual(RM428, expected, message, DROP_HEAD)
    for fit, _ in module.method_calls("fit"):
        heads = expecting(module, fit)
        if heads and trainers_of(module, fit) & TRANSFORMERS_TRAINERS:
            context.manual(RM428, heads[0], CHECKED, TAKE_OUT)
    for statement in module.imports:
        if isinstance(statement, ast.Import) and any(alias.name == HF for alias in statement.names):
            for expected in _expecting_import(module, statement):
                message = f"{HF} is an empty package today: this import raises nothing, whatever is not installed."
                context.manual(RM428, expected, message, TAKE_OUT)


@codemod("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "deprecated_call")
def expected_of_others(context: Context) -> None:
    """Reports the same around what else legacy Ray had: checkpoints, predictors, functions of ray.air."""
    module = context.module
    for call in _calls_that_errors_are_expected_of(module):
        blocks = list(blocks_around(module, call))
        name = _legacy_name(module, call.func) if blocks else ""
        if not name or _comes_today(module, call):
            continue
        of_session = name.startswith(f"{SESSION}.")
        called = ast.unparse(call.func)
        for block in blocks:
            is_of_fit = _fits(block) and not _fitted(name)
            for expected in () if of_session or is_of_fit else heads_of(module, block, EXPECTING):
                comes, advice = (OF_A_TRIAL, IN_RESULT) if _fitted(name) in RL_TRAINERS else (MAY_TAKE, TAKE_OUT)
                context.manual(RM428, expected, f"This waits for an error that {called}() raised: {comes}.", advice)
            for expected in heads_of(module, block, EXPECTING_WARNINGS):
                if _may_be(expected, ANY_WARNING if of_session else DEPRECATIONS):
                    comes = OUTSIDE if of_session else GIVES_NONE
                    message = f"This waits for a warning that {called}() gave: {comes}."
                    context.manual(RM428, expected, message, TAKE_OUT if of_session else DROP_HEAD)


def _calls_that_errors_are_expected_of(module: Module) -> list[ast.Call]:
    """The calls in blocks in which a test waits for something: most files have none."""
    blocks: list[ast.With | ast.AsyncWith] = [*module.of_type(ast.With), *module.of_type(ast.AsyncWith)]
    waiting = [block for block in blocks if any(heads_of(module, block, EXPECTING | EXPECTING_WARNINGS))]
    inside = {node for block in waiting for node in module.below(block)}
    return [call for call in module.of_type(ast.Call) if call in inside] if inside else []


def _fitted(name: str) -> str:
    """The class of the trainer whose fit() a name is; empty for other names."""
    return name.removesuffix(".fit").removesuffix(".restore") if name.endswith(".fit") else ""


def _legacy_name(module: Module, function: ast.expr) -> str:
    """The name in Ray of what a call calls, where it is not a trainer, and gone or soon renamed; else empty."""
    name = module.qualified(function)
    if name is None and isinstance(function, ast.Attribute):
        makers = [source.func for source in sources(module, function.value) if isinstance(source, ast.Call)]
        made = [found for maker in makers if (found := module.qualified(maker)) is not None]
        name = next((f"{found}.{function.attr}" for found in made if _is_legacy(found)), None)
    return name if name is not None and _is_legacy(name) else ""


def _is_legacy(name: str) -> bool:
    if _fitted(name) in GONE_TORCH_TRAINERS:
        return False  # fit() of a TorchTrainer raises the same
    if not name.startswith("ray.") or any(f"{name}.".startswith(f"{trainer}.") for trainer in TRAINERS):
        return False
    return name.startswith(f"{SESSION}.") or _is_gone(name)


def _is_gone(name: str) -> bool:
    """Whether a name is gone, and not only moved to another module."""
    if name in FROM_DICT:
        return True
    owner = next((old for old in MOVED if f"{name}.".startswith(f"{old}.")), None)
    if owner is not None:
        name = f"{MOVED[owner].module}.{MOVED[owner].name}{name.removeprefix(owner)}"
    return look_up(name).gone is not None


def _comes_today(module: Module, call: ast.Call) -> bool:
    """Whether a name that is gone raises what is waited for: where it is imported, if that is in the block, or used."""
    reference = module.reference_at.get(call.func)
    if reference is None or not _is_gone(reference.binding.qualified or ""):
        return waits_for(module, call, AttributeError)
    statement = reference.binding.statement
    return statement is not None and goes_on_without(module, statement)


def _may_be(expected: ast.Call, warnings: Collection[str]) -> bool:
    """Whether a head waits for one of these warnings, or does not say for which."""
    named = expected.args[0] if expected.args else None
    kinds = named.elts if isinstance(named, ast.Tuple) else [named]
    return named is None or any(ast.unparse(kind).rpartition(".")[2] in warnings for kind in kinds if kind is not None)


def _expecting_import(module: Module, statement: ast.Import) -> Iterator[ast.Call]:
    for block in blocks_around(module, statement):
        yield from heads_of(module, block, EXPECTING)


def _fits(block: ast.With | ast.AsyncWith) -> bool:
    """Whether the training starts in a block too, whose error is another matter (RM427)."""
    return any(isinstance(node, ast.Attribute) and node.attr == "fit" for node in ast.walk(block))
