"""RM601 and RM751: what get_training_arguments() and get_model() of the old checkpoint classes become."""

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.results.checkpoint_classes import TRAINING_ARGUMENTS
from tests.rules.scripts import converted

OPENED = """
from ray.train.huggingface import HuggingFaceCheckpoint

c = HuggingFaceCheckpoint.from_directory("/data/ckpt")
"""
GET = "c.get_training_arguments()"


@pytest.mark.parametrize(
    "use",
    [
        "args = {}\nif args is not None:\n    print(args.learning_rate)",
        'print(getattr({}, "fp16", False))',
        "def read():\n    return {}",
        "if {} is None:\n    raise SystemExit",
        "read = lambda: {}",
        "found = [{} for _ in range(2)]",
        "args = {} or TrainingArguments('out')",
        "while not (args := {}):\n    pass",
    ],
)
def test_arguments_that_may_be_missing_are_none_without_their_file(use: str) -> None:
    outcome = converted(OPENED + use.format(GET))
    assert use.format("training_arguments(c)") in outcome.text
    assert outcome.text.count("def training_arguments(checkpoint):") == 1
    assert len(outcome.lines("RM601", Kind.NOTE)) == 1 and not outcome.lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize("folder", ["checkpoint", ".", None])
def test_arguments_are_read_from_either_place(tmp_path: Path, folder: str | None) -> None:
    if folder is not None:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "training_args.bin").write_text("arguments")
    torch = SimpleNamespace(load=lambda path, **_: Path(path).read_text())
    names: dict[str, object] = {"os": os, "torch": torch}
    exec(TRAINING_ARGUMENTS.source(), names)
    read = names["training_arguments"]
    assert callable(read)
    checkpoint = SimpleNamespace(as_directory=lambda: nullcontext(str(tmp_path)))
    assert read(checkpoint) == ("arguments" if folder is not None else None)


def test_a_name_of_the_script_is_left_to_it_and_arguments_of_something_else_are_its_own() -> None:
    taken = converted(f"{OPENED}training_arguments = {GET}\n").text
    assert "training_arguments = training_arguments_2(c)" in taken
    other = "from transformers import Trainer\nfrom own import trainer\nprint(trainer.get_training_arguments())\n"
    assert converted(other).text == other


RUN = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def make(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained({model})
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


scaling = ScalingConfig(num_workers=2, use_gpu=True)
trainer = TransformersTrainer(make, scaling_config=scaling, datasets={{"train": rows}})
checkpoint = TransformersCheckpoint.from_checkpoint(trainer.fit().checkpoint)
{use}
"""


def test_arguments_of_a_converted_run_are_there() -> None:
    outcome = converted(RUN.format(model='"gpt2"', use="args = checkpoint.get_training_arguments()"))
    assert 'args = torch.load(\n        os.path.join(checkpoint_dir, "checkpoint", "training_args.bin")' in outcome.text
    assert not outcome.lines("RM601", Kind.NOTE)
    tested = converted(RUN.format(model='"gpt2"', use="if checkpoint.get_training_arguments():\n    print(1)"))
    assert "if training_arguments(checkpoint):" in tested.text and not tested.lines("RM601", Kind.NOTE)


@pytest.mark.parametrize(
    ("model", "use", "noted"),
    [
        ('"gpt2"', "checkpoint.get_model(AutoModelForCausalLM)", False),
        ('"gpt2"', "model = checkpoint.get_model(model=AutoModelForCausalLM)", False),
        ('"tiiuae/falcon-7b"', "checkpoint.get_model(AutoModelForCausalLM)", True),
        ('"tiiuae/falcon-7b"', "checkpoint.get_model(model=AutoModelForCausalLM, trust_remote_code=True)", True),
        ('"gpt2", torch_dtype="float16"', "checkpoint.get_model(AutoModelForCausalLM)", True),
        ("config['model']", 'checkpoint.get_model(AutoModelForCausalLM, torch_dtype="float32")', False),
        ('"gpt2"', 'TransformersCheckpoint.from_directory("/old").get_model(AutoModelForCausalLM)', True),
        ('"gpt2"', "checkpoint.get_tokenizer(AutoTokenizer)", False),
    ],
)
def test_a_model_that_is_loaded_again_may_have_another_dtype(model: str, use: str, noted: bool) -> None:
    outcome = converted(RUN.format(model=model, use=use).replace("import Auto", "import AutoTokenizer, Auto"))
    last = len(outcome.text.splitlines())
    line = next(n for n, text in enumerate(RUN.format(model=model, use=use).splitlines(), 0) if text == use)
    assert (line in outcome.lines("RM751", Kind.NOTE)) == noted, (line, last, outcome.findings)


TRAINED = """
from ray.air import Checkpoint, ScalingConfig
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(AutoModelForCausalLM.from_pretrained("m"), TrainingArguments("out"), train_dataset=train_dataset)


def load(checkpoint, model_class=AutoModelForCausalLM):
    {load}


result = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets=make()).fit()
{uses}
"""
EXPORTED = 'result.checkpoint.to_directory("exported")\nload(result.checkpoint)\n'
NEW_RUN, OLDER = 'os.path.join(folder, "checkpoint")', "folder itself in one that legacy Ray wrote"


@pytest.mark.parametrize(
    ("load", "uses"),
    [
        ("return checkpoint.get_model(model_class)", EXPORTED + 'load(Checkpoint.from_directory("exported"))'),
        ("return checkpoint.get_tokenizer(*model_class)", EXPORTED + 'load(Checkpoint("exported"))'),
        (
            "return TransformersCheckpoint.from_checkpoint(checkpoint).get_model(model_class)",
            EXPORTED + "load(found())",
        ),
        ("self.model = checkpoint.get_model(model_class())", "load(found_elsewhere())"),
        ("pass", 'TransformersCheckpoint.from_directory("exported").get_model(made())'),
        ("pass", 'print(TransformersCheckpoint.from_directory("exported").get_training_arguments(1))'),
        ("return [checkpoint.get_model(c) for c in (model_class,)]", "load(TransformersCheckpoint('exported'))"),
        ("pass", "class Own(TransformersCheckpoint):\n    pass"),
        ("pass", "open_all(TransformersCheckpoint('exported').as_directory())"),
    ],
)
def test_a_step_for_a_checkpoint_of_either_layout_tells_where_its_files_are(load: str, uses: str) -> None:
    outcome = converted(TRAINED.format(load=load, uses=uses))
    told = [text for text in outcome.messages if NEW_RUN in text]
    assert told and all(OLDER in text for text in told)


@pytest.mark.parametrize("get", ["get_model(made())", "get_tokenizer(*made())", "get_tokenizer(Own.from_pretrained)"])
def test_a_step_for_a_checkpoint_of_a_converted_run_names_its_folder(get: str) -> None:
    outcome = converted(TRAINED.format(load="pass", uses=f"print(result.checkpoint.{get})"))
    assert any(NEW_RUN in text for text in outcome.messages)
    assert not any(OLDER in text for text in outcome.messages)


@pytest.mark.parametrize(
    ("get", "now"),
    [
        ("get_tokenizer(type(tok))", "type(tok).from_pretrained("),
        ("get_tokenizer(tok.__class__, use_fast=True)", "tok.__class__.from_pretrained("),
        ("get_tokenizer(tokenizer=tokenizer_class)", "tokenizer_class.from_pretrained("),
        ("get_tokenizer(made())", "made().from_pretrained("),
        ("get_model(type(model))", "type(model).from_pretrained("),
        ("get_model(model=model.__class__)", "model.__class__.from_pretrained("),
    ],
)
def test_a_class_may_be_any_expression_that_is_one(get: str, now: str) -> None:
    outcome = converted(TRAINED.format(load="pass", uses=f"loaded = result.checkpoint.{get}"))
    assert f'loaded = {now}os.path.join(checkpoint_dir, "checkpoint")' in outcome.text
    assert not outcome.lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize("get", ["get_model(model)", "get_model(type(model)())", "get_model(made.type(model))"])
def test_what_may_be_a_model_is_left_to_a_person(get: str) -> None:
    outcome = converted(TRAINED.format(load="pass", uses=f"loaded = result.checkpoint.{get}"))
    assert f"loaded = result.checkpoint.{get}" in outcome.text
    assert outcome.lines("RM601", Kind.MANUAL)


LOADS = "AutoModelForCausalLM.from_pretrained"


@pytest.mark.parametrize(
    "uses",
    [
        f"model = {LOADS}('m', num_labels=2)\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m')\nmine = result.checkpoint.get_model(model=model)",
        f"mine = result.checkpoint.get_model({LOADS}('m'))",
        f"def own():\n    model = {LOADS}('m')\n    mine = result.checkpoint.get_model(model)\n    return mine",
    ],
)
def test_a_model_that_is_loaded_for_get_model_alone_gives_its_class(uses: str) -> None:
    outcome = converted(TRAINED.format(load="pass", uses=uses))
    assert f'mine = {LOADS}(os.path.join(checkpoint_dir, "checkpoint")' in outcome.text
    assert outcome.text.count(LOADS) == 2
    assert not outcome.lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize(
    "uses",
    [
        f"model = {LOADS}('m')\nmodel.cuda()\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m')\nmine = result.checkpoint.get_model(model)\nmodel.generate()",
        f"model = other = {LOADS}('m')\nmine = result.checkpoint.get_model(model)\nprint(other)",
        f"model = {LOADS}('m', torch_dtype='float16')\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m', id2label={{0: 'no', 1: 'yes'}})\nmine = result.checkpoint.get_model(model)",
        f"with torch.device('cuda'):\n    model = {LOADS}('m')\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m', **kw)\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m').cuda()\nmine = result.checkpoint.get_model(model)",
        f"model = {LOADS}('m')\nmine = result.checkpoint.get_model(model, use_cache=False)",
        "model = AutoModelForCausalLM.from_config(c)\nmine = result.checkpoint.get_model(model)",
    ],
)
def test_a_model_that_may_be_another_one_by_then_is_left(uses: str) -> None:
    outcome = converted(TRAINED.format(load="pass", uses=uses))
    assert outcome.lines("RM601", Kind.MANUAL) and "checkpoint.get_model(model" in outcome.text


LIGHTNING = """
import ray
import pytorch_lightning as pl
from transformers import AutoModel
{head}


class Net(pl.LightningModule):
    pass


def load(checkpoint, result):
    return {read}
"""


@pytest.mark.parametrize(
    ("head", "read"),
    [
        ("from ray.train.lightning import LightningTrainer", "result.checkpoint.get_model(model_class=Net)"),
        ("", "checkpoint.get_model(model_class=Net, map_location='cpu')"),
        ("", "checkpoint.get_model(Net)"),
        ("from ray.train import lightning", "checkpoint.get_model(kinds['net'], map_location=lightning)"),
    ],
)
def test_a_module_of_lightning_is_loaded_by_its_own_method(head: str, read: str) -> None:
    messages = converted(LIGHTNING.format(head=head, read=read)).messages
    (message,) = (text for text in messages if "Checkpoint.get_model() raises" in text)
    assert 'load_from_checkpoint(os.path.join(folder, "checkpoint.ckpt"))' in message
    assert "from_pretrained" not in message


@pytest.mark.parametrize("read", ["checkpoint.get_model(AutoModel)", "checkpoint.get_tokenizer(model_class)"])
def test_what_transformers_loads_is_not(read: str) -> None:
    messages = converted(LIGHTNING.format(head="from ray.air import session", read=read)).messages
    assert not any("load_from_checkpoint" in message for message in messages)


def test_a_module_of_torch_is_not() -> None:
    head = "import torch\nfrom ray.air import session\n\nclass Plain(torch.nn.Module):\n    pass\n"
    messages = converted(LIGHTNING.format(head=head, read="checkpoint.get_model(Plain)")).messages
    assert [text for text in messages if "Checkpoint.get_model() raises" in text]
    assert not any("load_from_checkpoint" in message for message in messages)


HANDED_ON = """
from ray.train.huggingface import {trainer}, {checkpoint} as Saved
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2LMHeadModel


def fit(trainer: {trainer}):
    result = trainer.fit()
    {body}
"""


@pytest.mark.parametrize("old", ["HuggingFace", "Transformers"])
@pytest.mark.parametrize(
    "body",
    [
        'm = result.checkpoint.get_model(AutoModelForCausalLM)\n    return Saved.from_model(m, path="/m")',
        'm = result.checkpoint.get_model(model=GPT2LMHeadModel, n_layer=2)\n    Saved.from_model(m, path="/m")',
        "c = Saved.from_checkpoint(result.checkpoint)\n    m = c.get_model(AutoModelForCausalLM)\n"
        '    t = c.get_tokenizer(AutoTokenizer)\n    return Saved.from_model(model=m, tokenizer=t, path="/m")',
        'm = Saved.from_directory("/c").get_model(AutoModelForCausalLM)\n    return Saved.from_model(m, path="/m")',
    ],
)
def test_a_model_of_one_checkpoint_is_saved_as_another_in_the_same_run(old: str, body: str) -> None:
    text = HANDED_ON.format(trainer=f"{old}Trainer", checkpoint=f"{old}Checkpoint", body=body)
    outcome = converted(text)
    assert 'm.save_pretrained("/m")' in outcome.text
    assert "get_model" not in outcome.text and "from_model" not in outcome.text
    assert not [code for code, _, _ in converted(outcome.text).findings if code == "RM601"]


@pytest.mark.parametrize(
    "got",
    ["result.checkpoint.get_model(net)", "result.checkpoint.get_model(Net)", "store.get_model(AutoModelForCausalLM)"],
)
def test_what_may_have_no_save_pretrained_is_not_saved_with_it(got: str) -> None:
    body = f'm = {got}\n    return Saved.from_model(m, path="/m")'
    text = HANDED_ON.format(trainer="HuggingFaceTrainer", checkpoint="HuggingFaceCheckpoint", body=body)
    outcome = converted(f"import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n\n{text}")
    assert "save_pretrained" not in outcome.text
    assert outcome.lines("RM601", Kind.MANUAL)


OF_TORCH = """
from ray.train.torch import TorchCheckpoint, TorchTrainer
from job import loop, net, kept

result = TorchTrainer(loop).fit()
"""


@pytest.mark.parametrize(
    "use",
    [
        "checkpoint = TorchCheckpoint.from_checkpoint(result.checkpoint)\nmodel = checkpoint.get_model(model=net)",
        "def load(found):\n    ckpt = TorchCheckpoint.from_checkpoint(found)\n    return ckpt.get_model(net)",
        "def load(checkpoint: TorchCheckpoint):\n    return checkpoint.get_model(net)",
        "model = TorchCheckpoint.from_checkpoint(result.checkpoint).get_model(net)",
    ],
)
def test_a_torch_checkpoint_has_the_method(use: str) -> None:
    assert not converted(OF_TORCH + use).lines("RM601", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        "model = result.checkpoint.get_model(net)",
        "checkpoint = result.checkpoint\nmodel = checkpoint.get_model(model=net)",
        "checkpoint = TorchCheckpoint.from_checkpoint(result.checkpoint) if kept else result.checkpoint\n"
        "model = checkpoint.get_model(net)",
    ],
)
def test_the_checkpoint_of_a_result_lacks_it(use: str) -> None:
    assert converted(OF_TORCH + use).lines("RM601", Kind.MANUAL)
