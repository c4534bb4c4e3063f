"""device_map="auto": what it does to a model that is trained, to one that is not, and nothing on the driver."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.projects.files import write
from tests.test_cli import invoke

SCRIPT = """
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, pipeline
from trl import DPOTrainer


def load(name):
    return AutoModelForCausalLM.from_pretrained(name, device_map="auto")


def main():
    {before}
    trainer.train()
    {behind}


if __name__ == "__main__":
    main()
    {last}
"""
PLAIN = (
    'trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), TrainingArguments("/out"), train_dataset=rows())'
)
AUTO = 'device_map="auto"'
PIPE = f'pipe = pipeline("text-generation", model="/out", {AUTO})'


def told(before: str = PLAIN, behind: str = "pass", last: str = "pass", *, gpu: bool = True) -> list[str]:
    text = SCRIPT.format(before=before.replace("\n", "\n    "), behind=behind, last=last)
    result = convert(text, options=Options(to_ray=True, workers=2, gpu=gpu))
    assert result.after is not None
    return [finding.message for finding in result.findings if AUTO in finding.message]


def made(model: str, trainer: str = "Trainer(model, TrainingArguments('/out'), train_dataset=rows())") -> str:
    return f"model = {model}\ntrainer = {trainer}"


@pytest.mark.parametrize(
    "last", [PIPE, "print(load('/out').generate())", f"AutoModelForCausalLM.from_pretrained('/out', {AUTO})"]
)
def test_nothing_is_told_of_the_driver(last: str) -> None:
    assert not told(last=last)


@pytest.mark.parametrize(
    "before",
    [
        made(f'AutoModelForCausalLM.from_pretrained("gpt2", {AUTO})'),
        made("load('gpt2')"),
        made(f'get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), LoraConfig())'),
        made(
            f'PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), "/a", is_trainable=True)'
        ),
        made(
            'AutoModelForCausalLM.from_pretrained("gpt2")',
            f'DPOTrainer(model, ref_model=AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), train_dataset=rows())',
        ),
        made("'gpt2'", f"DPOTrainer(model, make({AUTO}), train_dataset=rows())"),
        made(f"wrap(make('gpt2', {AUTO}))"),
    ],
)
def test_a_model_that_may_be_trained_is_refused(before: str) -> None:
    [message] = told(before)
    assert "transformers refuses that" in message


@pytest.mark.parametrize(
    "behind",
    [
        f"print(trainer.args, {PIPE.partition(' = ')[2]}('a'))",
        f"print(trainer.args, AutoModelForCausalLM.from_pretrained('/out', {AUTO}).generate())",
        "print(trainer.args, load('/out').generate())",
    ],
)
def test_a_model_that_nobody_trains_is_spread(behind: str) -> None:
    [message] = told(behind=behind)
    assert "refuses" not in message
    assert "the GPUs of all workers on its machine" in message


def test_workers_without_a_gpu_have_nothing_to_spread_it_over() -> None:
    assert not told(made(f'AutoModelForCausalLM.from_pretrained("gpt2", {AUTO})'), gpu=False)


def numbered(given: str, *, gpu: bool = True, workers: int | None = None) -> list[str]:
    """What is said of a model that is loaded with this map."""
    before = made(f'AutoModelForCausalLM.from_pretrained("gpt2", device_map={given})').replace("\n", "\n    ")
    text = "import os\nimport torch\nWHOLE = {'': 0}\n" + SCRIPT.format(before=before, behind="pass", last="pass")
    result = convert(text, options=Options(to_ray=True, workers=workers, gpu=gpu))
    assert result.after is not None
    return [f.message for f in result.findings if "on the same GPU of a machine" in f.message]


@pytest.mark.parametrize("given", ['{"": 0}', "{'': 'cuda:0'}", "0", '"cuda:1"', "WHOLE", "dict([('', 1)]) or {'': 1}"])
def test_a_gpu_by_its_number_is_that_of_all_workers(given: str) -> None:
    assert len(numbered(given)) == (given[0] != "d")  # what is not seen is not told
    assert not numbered(given, workers=1)
    assert not numbered(given, gpu=False)


@pytest.mark.parametrize(
    "given",
    [
        '"cuda"',
        '"cpu"',
        '{"": "cuda"}',
        '{"": "cpu"}',
        '{"": torch.cuda.current_device()}',
        '{"": int(os.environ["LOCAL_RANK"])}',
        '{"lm_head": 0, "model": 1}',
        "None",
        "settings",
    ],
)
def test_other_maps_are_not(given: str) -> None:
    assert not numbered(given)


@pytest.mark.parametrize("word", ["balanced", "sequential"])
def test_other_words_that_spread_a_model_are_told(word: str) -> None:
    text = SCRIPT.format(before=PLAIN, behind="pass", last="pass").replace('"auto"', f'"{word}"')
    text = text.replace("trainer.train()", "trainer.train()\n    print(trainer.args, load('/out'))")
    found = convert(text, options=Options(to_ray=True, workers=2, gpu=True)).findings
    assert sum(f'device_map="{word}" spreads' in finding.message for finding in found) == 1


LOOP = """
from accelerate import Accelerator
from transformers import AutoModelForCausalLM

accelerator = Accelerator()
model = AutoModelForCausalLM.from_pretrained("gpt2", {given})
model, optimizer, loader = accelerator.prepare(model, optimizer_of(model), rows())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    print(epoch)
"""


@pytest.mark.parametrize(
    ("given", "gpu", "words"),
    [
        (AUTO, True, "accelerate refuses that on several workers"),
        (AUTO, False, ""),
        ('device_map="cuda"', True, ""),
        ('device_map={"": 0}', True, "on the same GPU of a machine"),
    ],
)
def test_a_model_that_is_prepared_is_told_too(given: str, gpu: bool, words: str) -> None:
    result = convert(LOOP.format(given=given), options=Options(to_ray=True, workers=2, gpu=gpu))
    assert result.after is not None and "TorchTrainer(" in result.after
    found = [finding.message for finding in result.findings if "device_map=" in finding.message]
    assert len(found) == bool(words) and all(words in message for message in found)


@pytest.mark.parametrize(
    ("test", "told"),
    [("trainer.is_world_process_zero()", False), ("trainer.accelerator.is_main_process", False), ("args.merge", True)],
)
def test_a_model_that_one_worker_spreads_is_not_told(test: str, told: bool) -> None:
    script = f"""\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

args = make()
model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model, TrainingArguments("out", fp16=True))
trainer.train()
trainer.save_model("final")
if {test}:
    merged = AutoModelForCausalLM.from_pretrained("final", device_map="auto")
    merged.push_to_hub(trainer.args.hub_model_id)
"""
    result = convert(script, options=Options(to_ray=True, workers=2))
    assert "TorchTrainer(" in str(result.after)
    assert any("spreads a model of each worker" in finding.message for finding in result.findings) == told


@pytest.mark.parametrize(
    ("device", "told"), [("0", True), ('"cuda:1"', True), ('"cuda"', False), ("-1", False), ("place()", False)]
)
def test_a_pipeline_on_a_numbered_gpu_is_told(device: str, told: bool) -> None:
    script = f"""\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, pipeline

model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model, TrainingArguments("out", fp16=True))
trainer.train()
pipe = pipeline("text-generation", model=model, device={device})
print(pipe("a"), show(model, device=0))
"""
    result = convert(script, options=Options(to_ray=True, workers=2, gpu=True))
    found = [finding for finding in result.findings if "the same GPU of a machine" in finding.message]
    assert [finding.message.startswith("device=") for finding in found] == [True] * told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('AutoModel.from_pretrained("a", device_map={"": state.process_index})', True),
        ('number = Accelerator().process_index\nAutoModel.from_pretrained("a", device_map={"": number})', True),
        ('model.to(torch.device("cuda", torch.distributed.get_rank()))', True),
        ('device = torch.device("cuda", int(os.environ["RANK"]))\nmodel.to(device)', True),
        ('model.to(f"cuda:{args.process_index}")', True),
        ('AutoModel.from_pretrained("a", device_map={"": state.local_process_index})', False),
        ('AutoModel.from_pretrained("a", device_map={"": int(os.environ["LOCAL_RANK"])})', False),
        ("model.to(args.device)", False),
        ('mine = job.Both(rank=torch.distributed.get_rank(), device="cuda")\nmodel.to(mine.device)', False),
        ('model.to("cuda" if state.process_index == 0 else "cpu")', False),
        ("model.to(f'cuda:{state.process_index % torch.cuda.device_count()}')", False),
        ("model.to(state.process_index - 4 * (state.process_index // 4))", False),
        ("model.to(state.process_index - state.process_index // 4 * 4)", False),
        ("model.to(state.process_index - 4)", True),
        ("rank = state.process_index\ngpu = rank % 8\nmodel.to(torch.device('cuda', gpu))", False),
        ("model.to('cuda:%d' % state.process_index)", True),
        ("job.show(args.process_index)", False),
    ],
)
def test_a_gpu_by_the_number_of_the_worker_among_all(line: str, told: bool) -> None:
    script = f"""\
import os
import job
import torch
from accelerate import Accelerator, PartialState
from transformers import AutoModel, Trainer, TrainingArguments

args, state = TrainingArguments("/out"), PartialState()
model = AutoModel.from_pretrained("bert")
{line}
trainer = Trainer(model, args, train_dataset=job.data)
trainer.train()
"""
    result = convert(script, options=Options(to_ray=True, workers=2, gpu=True))
    assert "TorchTrainer(" in str(result.after)
    assert [f.code for f in result.findings if "counts the workers of all machines" in f.message] == ["RM806"] * told


def test_a_gpu_by_such_a_number_that_another_file_names(tmp_path: Path) -> None:
    script = """\
from transformers import AutoModel, Trainer, TrainingArguments
from places import DEVICE

trainer = Trainer(AutoModel.from_pretrained("bert").to(DEVICE), TrainingArguments("/out"), train_dataset=[])
trainer.train()
"""
    places = "import torch\nrank = torch.distributed.get_rank()\nDEVICE = f'cuda:{rank}'\n"
    write(tmp_path, {"pyproject.toml": "", "train.py": script, "places.py": places})
    said = " ".join(invoke("--to-ray", "--workers", "2", "--gpu", tmp_path / "train.py").stdout.split())
    assert "`DEVICE` counts the workers of all machines" in said
    assert "RM903" not in said
