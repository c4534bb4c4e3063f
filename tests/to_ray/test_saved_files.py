"""What a plain script saves behind its training and loads again: on Ray the first worker saves, and all wait for it."""

import textwrap

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

from job import rows


def train(settings):
    folder = "merged"
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    args = TrainingArguments("out", num_train_epochs=1)
    trainer = Trainer(model=model, args=args, train_dataset=rows)
    trainer.train()
{end}


if __name__ == "__main__":
    train({{}})
"""
WAIT = "ray.train.collective.barrier()"


def converted(end: str, **options: object) -> str:
    text = SCRIPT.format(end=textwrap.indent(textwrap.dedent(end).strip("\n"), "    "))
    given = {"to_ray": True, "gpu": False, "workers": 2} | options
    result = convert(text, options=Options(**given))  # type: ignore[arg-type]
    assert not any(finding.code.startswith("RM90") for finding in result.findings)
    after = str(result.after)
    assert convert(after, options=Options(**given)).after is None  # type: ignore[arg-type]
    return after


@pytest.mark.parametrize(
    "end",
    [
        'trainer.save_model("merged")\nmodel = AutoPeftModelForCausalLM.from_pretrained("merged")',
        'trainer.save_model("merged")\nmodel = AutoPeftModelForCausalLM.from_pretrained(folder)',
        "trainer.save_model(output_dir=folder)\nmodel = AutoPeftModelForCausalLM.from_pretrained(folder)",
        "trainer.save_model()\nmodel = AutoPeftModelForCausalLM.from_pretrained(args.output_dir)",
        'trainer.save_model()\nmodel = AutoPeftModelForCausalLM.from_pretrained("out")',
        "trainer.save_model(args.output_dir)\nmodel = AutoPeftModelForCausalLM.from_pretrained('out')",
        'trainer.push_to_hub("saved")\nmodel = AutoPeftModelForCausalLM.from_pretrained("out")',
        "model.save_pretrained(folder + '/a')\nm = AutoPeftModelForCausalLM.from_pretrained(f'{folder}/a')",
        "model.save_pretrained(folder)\ndel trainer\nmodel = AutoPeftModelForCausalLM.from_pretrained(folder)",
        "model.save_pretrained(folder)\nwith open('x') as f:\n    m = AutoPeftModelForCausalLM.from_pretrained(folder)",
        "model.save_pretrained(folder)\nif settings:\n    m = AutoPeftModelForCausalLM.from_pretrained(folder)",
    ],
)
def test_all_wait_before_they_load_it(end: str) -> None:
    lines = [line.strip() for line in converted(end).splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith(WAIT))
    assert "save" in "".join(lines[:place])
    assert any("AutoPeftModelForCausalLM" in line for line in lines[place : place + 3])


@pytest.mark.parametrize(
    "load",
    [
        "PeftModel.from_pretrained(model, folder)",
        "peft.PeftModelForCausalLM.from_pretrained(model=model, model_id='merged')",
        "model.load_adapter(peft_model_id=folder)",
        "model.load_adapter(folder, 'default')",
        "transformers.pipeline('text-generation', model=folder)",
        "transformers.pipeline('text-generation', 'merged')",
    ],
)
def test_the_folder_is_found_where_it_is_not_the_first_argument(load: str) -> None:
    names = "import peft\nimport transformers\nfrom peft import PeftModel\n"
    after = converted(f"{names}trainer.model.save_pretrained(folder)\nother = {load}\nother.save_pretrained('whole')")
    assert f"\n    {WAIT}  # the first worker may still be saving what all of them load\n    other = " in after


@pytest.mark.parametrize(
    "end",
    [
        "model.save_pretrained(folder)",
        "model.save_pretrained(folder + '/a')\nm = AutoPeftModelForCausalLM.from_pretrained(f'{folder}/b')",
        'model.push_to_hub("out")\nother = AutoModelForCausalLM.from_pretrained("out")',
        'model.save_pretrained(folder)\nother = AutoModelForCausalLM.from_pretrained("gpt2")',
        "model = AutoPeftModelForCausalLM.from_pretrained(folder)\nmodel.save_pretrained(folder)",
        "model.save_pretrained(folder)\n"
        "if trainer.is_world_process_zero():\n    m = AutoPeftModelForCausalLM.from_pretrained(folder)",
    ],
)
def test_nobody_waits_where_it_is_not_loaded_again_by_all(end: str) -> None:
    assert WAIT not in converted(end)


@pytest.mark.parametrize("workers", [None, 2])
def test_all_wait_wherever_there_may_be_several(workers: int | None) -> None:
    end = "model.save_pretrained(folder)\nmodel = AutoPeftModelForCausalLM.from_pretrained(folder)"
    assert WAIT in converted(end, workers=workers)


def test_one_worker_waits_for_nobody() -> None:
    end = "model.save_pretrained(folder)\nmodel = AutoPeftModelForCausalLM.from_pretrained(folder)"
    assert WAIT not in converted(end, workers=1)


@pytest.mark.parametrize("gone", ["del trainer", "del model, trainer", "del (model, trainer)"])
def test_a_deleted_trainer_is_not_asked_for_the_rank(gone: str) -> None:
    after = converted(f'{gone}\ntokenizer.save_pretrained("merged")')
    assert "if ray.train.get_context().get_world_rank() == 0:" in after
    assert "is_world_process_zero" not in after


def test_the_loss_stays_that_of_torchrun_where_an_old_argument_is_left() -> None:
    after = converted("").replace('"out", ', '"out", fsdp_transformer_layer_cls_to_wrap="GPT2Block", ')
    assert "fsdp_transformer_layer_cls_to_wrap" in after
    assert convert(after, options=Options()).after is None


HELPERS = """
def save(trainer, folder):
    trainer.save_model(folder)


def load(folder):
    return AutoPeftModelForCausalLM.from_pretrained(folder)


def both(trainer, folder):
    save(trainer, folder)
    model = load(folder)


def train("""


@pytest.mark.parametrize(
    ("end", "before"),
    [
        ("save(trainer, folder)\nmodel = load(folder)", "model = load(folder)"),
        ("trainer.save_model(folder)\nmodel = load(folder)", "model = load(folder)"),
        ("save(trainer, folder)\nm = AutoPeftModelForCausalLM.from_pretrained(folder)", "m = AutoPeft"),
        ("model = load(folder)\nsave(trainer, folder)", ""),
        ("save(trainer, folder)", ""),
        ("model = load(folder)", ""),
        ("if trainer.is_world_process_zero():\n    save(trainer, folder)\n    model = load(folder)", ""),
    ],
)
def test_all_wait_where_functions_save_and_load(end: str, before: str) -> None:
    text = SCRIPT.replace("def train(", HELPERS.lstrip("\n"), 1).format(end=textwrap.indent(end, "    "))
    after = convert(text, options=Options(to_ray=True, gpu=False, workers=2)).after
    lines = [line.strip() for line in str(after).splitlines()]
    places = [number for number, line in enumerate(lines) if line.startswith(WAIT)]
    assert "TorchTrainer(" in str(after)
    assert [lines[place + 1].startswith(before) for place in places] == ([True] if before else [])
