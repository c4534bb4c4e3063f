"""What must hold for any script: generated from the pieces that real legacy scripts are made of."""

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.legacy import TRAINERS
from raymigrate.run.engine import convert

TRAINER_IMPORTS = [
    ("from ray.train.huggingface import TransformersTrainer\n", "TransformersTrainer"),
    ("from ray.train.huggingface import HuggingFaceTrainer as T\n", "T"),
    ("from ray.train.huggingface import (\n    HuggingFaceTrainer,  # the trainer\n)\n", "HuggingFaceTrainer"),
    ("from ray.train.huggingface.transformers import TransformersTrainer\n", "TransformersTrainer"),
    ("import ray.train.huggingface\n", "ray.train.huggingface.TransformersTrainer"),
    ("import ray.train.huggingface as hf\n", "hf.HuggingFaceTrainer"),
    ("import os, sys\nfrom ray.train import huggingface\n", "huggingface.TransformersTrainer"),
]
CONFIG_IMPORTS = [
    ("from ray.air.config import RunConfig, ScalingConfig\n", ""),
    ("from ray.air import ScalingConfig, RunConfig, session\n", ""),
    ("from ray import air, tune\n", "air."),
    ("import ray.air\n", "ray.air."),
    ("from ray.air.config import ScalingConfig\nfrom ray.air.config import RunConfig\n", ""),
]
PARAMETERS = [
    "train_dataset, eval_dataset=None, **config",
    "train_ds, eval_ds, **kwargs",
    "train_dataset: Dataset, eval_dataset: Dataset = None, **config",
    "a, b, lr, epochs=3",
    "*args, lr=1, **config",
]
BODIES = [
    "    args = TrainingArguments('out', evaluation_strategy='epoch', no_cuda=True)\n    return Trainer(model, args)\n",
    "    # built here\n    t = Trainer(args=TrainingArguments(output_dir='x'), train_dataset={train})\n    return t\n",
    "    if {train}:\n        return Trainer()\n    return make_trainer({train}, {evaluation})\n",
    '    """Builds it."""\n    return Trainer(\n        model=model,  # the model\n        tokenizer=tok,\n    )\n',
]
ARGUMENTS = [
    'trainer_init_config={"lr": 1e-3}',
    "trainer_init_config=config",
    "trainer_init_config=vars(args) or {}",
    'datasets={"train": train, "evaluation": evaluation}',
    "datasets=make_datasets()",
    'datasets={"train": read("a"), "evaluation": read("b")}',
    "preprocessor=None",
    'preprocessor=BatchMapper(tokenize, batch_format="pandas")',
    "run_config=RUNCONFIG",
    "resume_from_checkpoint=checkpoint",
    "metadata={'a': 1}",
]


@st.composite
def scripts(draw: st.DrawFn) -> str:
    trainer_import, trainer = draw(st.sampled_from(TRAINER_IMPORTS))
    config_import, prefix = draw(st.sampled_from(CONFIG_IMPORTS))
    parameters = draw(st.sampled_from(PARAMETERS))
    names = [word.strip(" *").split("=")[0].split(":")[0] for word in parameters.split(",")]
    body = draw(st.sampled_from(BODIES)).format(train=names[0], evaluation=names[1])
    arguments = draw(st.lists(st.sampled_from(ARGUMENTS), max_size=5, unique_by=lambda a: a.split("=")[0]))
    arguments.append(
        f"scaling_config={prefix}ScalingConfig(num_workers=2, use_gpu={draw(st.sampled_from(['True', 'gpu']))})"
    )
    run_config = f"{prefix}RunConfig(name='x', verbose={draw(st.integers(0, 3))}, local_dir=where)"
    arguments = [argument.replace("RUNCONFIG", run_config) for argument in arguments]
    positional = draw(st.booleans())
    arguments.insert(0, "init" if positional else "trainer_init_per_worker=init")
    separator = draw(st.sampled_from([", ", ",\n    ", " ,\n        "]))
    call = f"{trainer}({separator.join(arguments)}{draw(st.sampled_from(['', ',']))})"
    use = draw(
        st.sampled_from(["trainer = {}\nresult = trainer.fit()\n", "print({}.fit())\n", "{}.fit().metrics['done']\n"])
    )
    lines = [
        draw(st.sampled_from(["", '"""A script."""\n', "# a comment\n\n", "from __future__ import annotations\n"])),
        "from ray.data.preprocessors import BatchMapper\nfrom transformers import Trainer, TrainingArguments\n",
        *draw(st.permutations([trainer_import, config_import])),
        draw(st.sampled_from(["", "\n\n"])),
        f"def init({parameters}):\n{body}",
        draw(st.sampled_from(["", "\n\n", "init(1, 2)  # without Ray\n", "__all__ = ['init']\n"])),
        use.format(call),
    ]
    text = "".join(lines)
    if draw(st.booleans()):  # everything in a function
        text = "def main():\n" + "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
        text = text.replace("    from __future__ import annotations\n", "")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


STYLES = st.sampled_from(["auto", "inline", "adapter"])


@given(scripts(), STYLES, st.booleans())
@settings(max_examples=120, deadline=None)
def test_any_script_converts_to_python_that_stays_as_it_is(text: str, style: str, unsafe: bool) -> None:
    ast.parse(text)
    options = Options(style=style, unsafe=unsafe, guide=unsafe)
    result = convert(text, "train.py", options)
    assert not [finding for finding in result.findings if finding.kind is Kind.ERROR]
    assert result.after is not None
    ast.parse(result.after)
    assert convert(result.after, "train.py", options).after is None


@given(scripts())
@settings(max_examples=80, deadline=None)
def test_nothing_legacy_is_left_without_a_word(text: str) -> None:
    """Every use of a legacy trainer that stays has a finding on its line."""
    result = convert(text, "train.py").written()
    assert result.after is not None
    told = {finding.line for finding in result.findings}
    module = Module(result.after)
    for reference in module.references:
        if reference.qualified in TRAINERS:
            assert reference.node.lineno in told


@given(scripts())
@settings(max_examples=80, deadline=None)
def test_line_ends_are_those_of_the_script(text: str) -> None:
    after = convert(text, "train.py").after
    assert after is not None
    if "\r\n" in text:
        assert after.count("\n") == after.count("\r\n")
    else:
        assert "\r" not in after


@given(scripts())
@settings(max_examples=80, deadline=None)
def test_looking_finds_what_rewriting_changes(text: str) -> None:
    """`--check`, which never imports LibCST, and a real run agree."""
    looked, rewritten = convert(text, "train.py", rewrite=False), convert(text, "train.py")
    assert looked.changes == rewritten.changes == (rewritten.after is not None)
    assert looked.findings == rewritten.findings


@given(st.text(alphabet="ray.air session import from()\n\t#\"'x=1:\\é", max_size=120))
@settings(max_examples=200, deadline=None)
def test_no_text_brings_the_tool_down(text: str) -> None:
    convert(f"from ray.air import session\n{text}", "x.py")
