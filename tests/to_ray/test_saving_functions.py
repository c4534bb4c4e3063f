"""Functions of the script that save behind the training: the first worker calls them, or it is told what all do."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.projects.files import write
from tests.rules.scripts import converted
from tests.test_cli import invoke

HEAD = """\
import json, os, shutil
from pathlib import Path
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments

"""
TRAIN = """\
tokenizer = AutoTokenizer.from_pretrained("a")
model = AutoModel.from_pretrained("a")
trainer = Trainer(model=model, args=TrainingArguments("runs"))
trainer.train()
"""
SAVES = """\
def save(model, tokenizer, out):
    {line}


"""
LOCKED = "    if trainer.is_world_process_zero():\n        save(model, tokenizer, "
TOLD = "after the training, at the same time as the others"


@pytest.mark.parametrize(
    "line",
    [
        "model.save_pretrained(out)",
        "os.makedirs(out, exist_ok=True); model.save_pretrained(out); shutil.rmtree('old')",
        "if os.path.exists(out):\n        shutil.rmtree(out)\n    tokenizer.save_pretrained(out)",
        "names = sorted(model.config.to_dict().keys())\n    with open(out + '/names', 'w') as f:\n"
        "        json.dump(names, f)",
        "with Path(out).open('w') as f:\n        f.write('done')",
        "with open(out, mode='w') as f:\n        f.write('done')",
        "for part in (model, tokenizer):\n        part.save_pretrained(out)",
    ],
)
def test_the_first_worker_saves(line: str) -> None:
    outcome = converted(f'{HEAD}{SAVES.format(line=line)}{TRAIN}save(model, tokenizer, "final")\n', to_ray=True)
    assert LOCKED in outcome.text
    assert not any(TOLD in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("line", "call", "told"),
    [
        ("model.half()\n    model.save_pretrained(out)", "save(model, tokenizer, 'a')", True),
        ("model.save_pretrained(out)\n    return out", "path = save(model, tokenizer, 'a')\nprint(path, model)", True),
        ("shutil.rmtree('old')\n    trainer.save_model(out)", "save(model, tokenizer, 'a')", True),
        (
            "model.save_pretrained(out)",
            "save(model, tokenizer, 'a')\nprint(AutoModel.from_pretrained('a').config == model.config)",
            True,
        ),
        ("print(model)", "save(model, tokenizer, 'a')", False),
    ],
)
def test_what_has_to_run_everywhere_does(line: str, call: str, told: bool) -> None:
    outcome = converted(f"{HEAD}{SAVES.format(line=line)}{TRAIN}{call}\n", to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text
    assert ("    if trainer.is_world_process_zero():\n        save(" in outcome.text) == (line == "print(model)")
    assert any(TOLD in message for message in outcome.messages) == told


@pytest.mark.parametrize(("kept", "alone"), [("[]", True), ("{}", True), ("0.0", True), ("helper()", False)])
def test_what_a_trainer_of_ones_own_collects_is_no_work_of_all(kept: str, alone: bool) -> None:
    own = f"""from job import helper
class Own(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {kept}
"""
    saved = "with open('seen.json', 'w') as f:\n    json.dump(trainer.seen, f)\n"
    train = TRAIN.replace("Trainer(model", "Own(model")
    outcome = converted(f"{HEAD}{own}{train}{saved}", to_ray=True, workers=2)
    assert ("    if trainer.is_world_process_zero():\n        with open(" in outcome.text) is alone
    assert any(TOLD in message for message in outcome.messages) is not alone


def test_a_method_that_saves_is_called_by_the_first_worker() -> None:
    script = f"""{HEAD}
class Run:
    def __init__(self):
        self.model = AutoModel.from_pretrained("a")

    def train(self):
        self.trainer = Trainer(model=self.model, args=TrainingArguments("runs"))
        self.trainer.train()
        return self

    def save(self, out):
        self.model.save_pretrained(out)
        Path(out, "done").write_text("yes")


run = Run().train()
run.save("final")
"""
    outcome = converted(script, to_ray=True)
    assert "    if ray.train.get_context().get_world_rank() == 0:\n        run.save(" in outcome.text


HELPERS = """\
import os


def save_all(model, out):
    {line}


class Exporter:
    def __init__(self, target):
        os.makedirs(target)
        self.target = target
"""


@pytest.mark.parametrize(
    ("line", "call", "goes", "told"),
    [
        ("model.save_pretrained(out)", 'save_all(model, "final")', True, True),
        ("model.save_pretrained(out)", 'save_all(model, out="final")', True, True),
        ("model.save_pretrained(out)", 'save_all(model, "/data/final")', False, True),
        ("with open(f'{out}/a', 'w') as f:\n        f.write(str(model))", 'save_all(model, "final")', True, True),
        ("print(out, model)", 'save_all(model, "final")', False, False),
        ("print(out, model)", 'print(Exporter("final"), model)', True, False),
    ],
)
def test_functions_of_other_files(line: str, call: str, goes: bool, told: bool, tmp_path: Path) -> None:
    files = {
        "train.py": f"{HEAD}from helpers import Exporter, save_all\n\n{TRAIN}{call}\n",
        "helpers.py": HELPERS.format(line=line),
    }
    write(tmp_path, {"pyproject.toml": "", **files})
    said = " ".join(invoke("--to-ray", "--workers", "2", tmp_path / "train.py").stdout.split())
    after = (tmp_path / "train.py").read_text()
    assert "TorchTrainer(" in after
    assert ("os.chdir(" in after) == goes
    assert (TOLD in said) == told


GIVEN = """\
from transformers import AutoModel, Trainer, TrainingArguments
from helpers import build

MODEL = AutoModel.from_pretrained("bert")


def fit():
    rows = build("a")
    trainer = Trainer(MODEL, TrainingArguments("runs"), train_dataset=rows)
    trainer.train()
    return trainer


def main():
    trainer = fit()
    {behind}


main()
"""
BUILDS = """\
def build(path):
    with open(path, "a") as file:
        file.write("x")
    return path
"""


@pytest.mark.parametrize(
    ("behind", "advice"),
    [
        ("pass", ""),
        ("rows = build('b')\n    trainer.predict(rows)", "All of them need what it gives"),
        ("build(trainer.args.output_dir)", "Let one worker do it"),
    ],
)
def test_a_function_that_trains_stands_where_it_is_called(behind: str, advice: str, tmp_path: Path) -> None:
    """And not where it is defined, though the definition moves: what it does before it trains is none behind it."""
    write(tmp_path, {"pyproject.toml": "", "train.py": GIVEN.format(behind=behind), "helpers.py": BUILDS})
    said = " ".join(invoke("--to-ray", "--workers", "2", tmp_path / "train.py").stdout.split())
    assert "    def fit():\n" in (tmp_path / "train.py").read_text()
    assert said.count("writes a file in this function before it trains") == 1
    assert said.count("writes a file in this function after the training") == bool(advice)
    assert advice in said


@pytest.mark.parametrize("head", ["def read():\n    return os.listdir('logs')\n\n\nprint(read())\n"])
def test_a_constant_stands_above_what_runs_its_function(head: str) -> None:
    outcome = converted(f"{HEAD}{head}{TRAIN}print(read(), model)\n", to_ray=True)
    assert outcome.text.index("LOGS = os.path.abspath(") < outcome.text.index("def read()")


SHARDED = TRAIN.replace('TrainingArguments("runs"', 'TrainingArguments("runs", fsdp="full_shard"')
SPREAD = "FSDP spreads the weights of a model over the workers"


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("pass", 'model.save_pretrained("a")'),
        ("pass", 'trainer.model.push_to_hub("a")'),
        ("pass", 'torch.save(model.state_dict(), "a.pt")'),
        ("model.save_pretrained(out)", "save(model, tokenizer, 'a')"),
        ("weights = model.state_dict()\n    torch.save(weights, out)", "save(model, tokenizer, 'a')"),
    ],
)
def test_weights_that_are_spread_are_not_saved_by_one_worker(line: str, call: str) -> None:
    assert "fsdp" in SHARDED
    script = f"import torch\n{HEAD}{SAVES.format(line=line)}{{train}}{call}\n"
    outcome = converted(script.format(train=SHARDED), to_ray=True, workers=2, gpu=True)
    assert "is_world_process_zero" not in outcome.text
    assert len([message for message in outcome.messages if SPREAD in message]) == 1
    assert not any(TOLD in message for message in outcome.messages)
    outcome = converted(script.format(train=TRAIN), to_ray=True, workers=2, gpu=True)
    assert "if trainer.is_world_process_zero():" in outcome.text
    assert not any(SPREAD in message for message in outcome.messages)


def test_a_tokenizer_is_not_spread() -> None:
    outcome = converted(f'{HEAD}{SHARDED}tokenizer.save_pretrained("a")\n', to_ray=True, workers=2, gpu=True)
    assert "if trainer.is_world_process_zero():" in outcome.text
    assert not any(SPREAD in message for message in outcome.messages)


def test_weights_that_a_file_of_accelerate_spreads(tmp_path: Path) -> None:
    settings = "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"
    write(tmp_path, {"train.py": f'{HEAD}{TRAIN}model.save_pretrained("a")\n', "fsdp.yaml": settings})
    said = " ".join(invoke("--to-ray", tmp_path / "train.py").stdout.split())
    assert SPREAD in said
    assert "is_world_process_zero" not in (tmp_path / "train.py").read_text()


def test_what_all_workers_do_together_is_not_to_go_below_a_condition() -> None:
    line = "model.save_pretrained(out, state_dict=trainer.accelerator.get_state_dict(model))"
    script = f"{HEAD}{SAVES.format(line=line)}{TRAIN}save(model, tokenizer, 'a')\n"
    [finding] = [f for f in convert(script, options=Options(to_ray=True, workers=2)).findings if TOLD in f.message]
    assert "Let all workers come to what they do together in it" in str(finding)


BEHIND_A_BRANCH = """
import json, os
from pathlib import Path
from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments

{before}
def train():
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=rows())
    if args.do_train:
        trainer.train()
    if args.do_predict:
        out = trainer.predict(rows())
        {code}

if __name__ == "__main__":
    train()
"""
FILLS = """with {} as file:
            for row in rows():
                row["prediction"] = 1
                file.write(json.dumps(row))
"""
FUNCTION = """def save(args):
    data = rows()
    with open(args.output_dir + "/p", "w") as file:
        file.write(str(data.pop()))
    return data
"""


@pytest.mark.parametrize(
    ("before", "code", "is_told"),
    [
        ("", FILLS.format("open(os.path.join(args.output_dir, 'p'), 'w')"), True),
        ("", FILLS.format("open('p', mode='a')"), True),
        ("", FILLS.format("(Path(args.output_dir) / 'p').open('w')"), True),
        ("", "file = open('p', 'w')\n        for row in rows():\n            row['a'] = file.write(str(row))", True),
        (FUNCTION, "save(args)", True),
        ("", FILLS.format("open('p', 'r')"), False),
        ("", FILLS.format("open(os.devnull, 'w')"), False),
        ("", FILLS.format("open(f'p{args.process_index}', 'w')"), False),
        ("", FILLS.format("open('p', 'w')").replace('row["prediction"] = 1', "pass"), False),
        (
            "",
            "if not trainer.is_world_process_zero():\n            return\n        " + FILLS.format("open('p', 'w')"),
            False,
        ),
        (FUNCTION, "if trainer.is_world_process_zero():\n            save(args)", False),
    ],
)
def test_a_file_that_is_opened_beside_other_work_is_told(before: str, code: str, *, is_told: bool) -> None:
    found = converted(BEHIND_A_BRANCH.format(before=before, code=code), to_ray=True).messages
    assert any(message.startswith("Every worker writes this file") for message in found) is is_told


def test_a_file_that_the_driver_writes_is_not_told() -> None:
    shows = (
        'history = trainer.state.log_history\nwith open("history.json", "w") as file:\n    json.dump(history, file)\n'
    )
    outcome = converted(HEAD + TRAIN + shows, to_ray=True)
    assert "result.return_value" in outcome.text
    assert not [message for message in outcome.messages if message.startswith("Every worker writes this file")]


@pytest.mark.parametrize(
    ("behind", "told"),
    [
        ("if args.push:\n    best = model.merge_and_unload()\n    best.push_to_hub('me/best')", True),
        ("if args.push:\n    trainer.push_to_hub()", False),
        ("model.push_to_hub('me/best')", False),  # the first worker does it
        ("if args.push and trainer.is_world_process_zero():\n    model.push_to_hub('me/best')", False),
    ],
)
def test_what_every_worker_uploads_is_told(behind: str, told: bool) -> None:
    parsed = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--push')\n"
    script = f"{HEAD}{parsed}args = parser.parse_args()\n{TRAIN}{behind}\n"
    outcome = converted(script, to_ray=True, workers=2)
    message = f"Every worker uploads this {TOLD}: each pushes a commit of its own."
    assert any(message in found for found in outcome.messages) is told
