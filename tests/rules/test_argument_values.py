"""RM757: fields of TrainingArguments that hold something else in transformers 5."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import transformers
from dataclasses import dataclass
from ray.train.torch import TorchTrainer
from transformers import HfArgumentParser, Trainer, TrainingArguments
from job import model, rows, Other, Unseen, UnseenTrainer


@dataclass
class Own(TrainingArguments):
    folder: str = ""


class OwnTrainer(Trainer):
    def first(self):
        return self.args.local_rank in (-1, 0)


local_rank = None

"""
TODAY = HEAD.replace("self.args.local_rank", "self.args.local_process_index")
MADE = 'args = TrainingArguments("out")\n'


@pytest.mark.parametrize(
    "body",
    [
        MADE + "if args.local_rank == 0:\n    model.save_pretrained('out')\n",
        MADE + "print(args.local_rank in [-1, 0], args.local_rank <= 0)\n",
        MADE + "print(args.local_rank != -1, -1 < args.local_rank)\n",
        MADE + "def train():\n    global local_rank\n    local_rank = args.local_rank\n",
        MADE + "print(f'{args.local_rank}')\n",
        "args = Own('out')\nprint(args.local_rank)\n",
        "other, args = HfArgumentParser((Other, Own)).parse_args_into_dataclasses()\nprint(args.local_rank)\n",
        "args, rest = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(return_remaining_strings=True)\n"
        "print(args.local_rank)\n",
        "other, args = HfArgumentParser((Other, Unseen)).parse_json_file('a')\nprint(args.local_rank)\n"
        "trainer = Trainer(model=model, args=args)\n",
        "trainer = Trainer(model, Own('out'))\nif trainer.args.local_rank == 0:\n    trainer.save_model()\n",
        "trainer = OwnTrainer(model=model, args=Own('out'))\nprint(trainer.args.local_rank)\n",
        "def log(args: TrainingArguments):\n    print(args.local_rank)\n",
        "class Box:\n    def __init__(self, args: Own):\n        self.args = args\n\n"
        "    def show(self):\n        print(self.args.local_rank)\n",
        "class More(TrainingArguments):\n    def __post_init__(self):\n"
        "        super().__post_init__()\n        print(self.local_rank)\n",
        "def log(args):\n    print(args.local_rank)\n\n\nlog(TrainingArguments('out'))\n",
    ],
)
def test_the_rank_is_read_where_it_is_today(body: str) -> None:
    outcome = converted(HEAD + body)
    new = body.replace("args.local_rank", "args.local_process_index").replace(
        "self.local_rank", "self.local_process_index"
    )
    assert outcome.text == (TODAY + new).lstrip("\n")
    assert not outcome.lines("RM757", Kind.MANUAL)
    again = converted(outcome.text)
    assert again.text == outcome.text
    assert not [code for code, _, _ in again.findings if code == "RM757"]


def test_a_read_by_name_is_one_too() -> None:
    outcome = converted(HEAD + MADE + "rank = getattr(args, 'local_rank', -1)\n")
    assert "rank = args.local_process_index\n" in outcome.text


def test_what_may_be_arguments_is_told() -> None:
    body = "other, given = HfArgumentParser((Other, Unseen)).parse_args_into_dataclasses()\n"
    body += "print(given.local_rank)\ntrainer = UnseenTrainer(model=model, args=given)\n"
    outcome = converted(HEAD + body)
    assert len(outcome.lines("RM757", Kind.MANUAL)) == 1
    assert "given.local_rank" in outcome.text


@pytest.mark.parametrize(
    "body",
    [
        "import argparse\nargs = argparse.ArgumentParser().parse_args()\nprint(args.local_rank)\n",
        "@dataclass\nclass Plain:\n    local_rank: int = 0\n\n\nargs = Plain()\nprint(args.local_rank)\n",
        "class Group:\n    def __init__(self):\n        self.local_rank = 0\n\n"
        "    def show(self):\n        return self.local_rank\n",
        "import ray\nprint(ray.train.get_context().local_rank)\n",
        "class More(TrainingArguments):\n    def __post_init__(self):\n"
        "        print(self.local_rank)\n        super().__post_init__()\n",
        "def log(settings):\n    print(settings.local_rank)\n",
    ],
)
def test_the_rank_of_something_else_is_left(body: str) -> None:
    outcome = converted(TODAY + body)
    assert outcome.text == (TODAY + body).lstrip("\n")
    assert not [code for code, _, _ in outcome.findings if code == "RM757"]


def test_a_rank_that_the_script_sets_is_left() -> None:
    body = MADE + "args.local_rank = 3\nprint(args.local_rank)\n"
    assert not [code for code, _, _ in converted(TODAY + body).findings if code == "RM757"]


def test_a_plain_script_gets_it_with_to_ray() -> None:
    text = """
    from transformers import AutoModel, Trainer, TrainingArguments
    args = TrainingArguments("/data/out")
    trainer = Trainer(model=AutoModel.from_pretrained("bert"), args=args)
    trainer.train()
    if args.local_rank == 0:
        trainer.save_model()
    """
    assert "if args.local_process_index == 0:" in converted(text, to_ray=True).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if len(args.fsdp) > 0: pass", "if args.fsdp: pass"),
        ("if len(args.fsdp) > 0 or args.deepspeed: pass", "if args.fsdp or args.deepspeed: pass"),
        ("if not len(args.fsdp): pass", "if not args.fsdp: pass"),
        ("if len(args.fsdp) == 0 and model: pass", "if not args.fsdp and model: pass"),
        ("shards = len(args.fsdp) != 0", "shards = bool(args.fsdp)"),
        ("shards = len(args.fsdp) < 1", "shards = (not args.fsdp)"),
    ],
)
def test_fsdp_is_asked_itself(old: str, new: str) -> None:
    assert converted(TODAY + MADE + old + "\n").text == (TODAY + MADE + new + "\n").lstrip("\n")


@pytest.mark.parametrize(
    "use",
    [
        "'full_shard' in args.fsdp",
        "'full_shard' not in args.fsdp",
        "args.fsdp[0]",
        "len(args.fsdp)",
        "len(args.fsdp) > 1",
        "' '.join(args.fsdp)",
        "[option for option in args.fsdp]",
    ],
)
def test_other_uses_of_the_list_are_told(use: str) -> None:
    outcome = converted(TODAY + MADE + f"print({use})\n")
    assert len(outcome.lines("RM757", Kind.MANUAL)) == 1
    assert f"print({use})" in outcome.text


@pytest.mark.parametrize(
    "body",
    [
        MADE + "if args.fsdp and not args.fsdp is None: print(bool(args.fsdp), str(args.fsdp))\n",
        MADE + "args.fsdp = ['full_shard']\nprint(len(args.fsdp))\n",
        "import argparse\nargs = argparse.ArgumentParser().parse_args()\nprint(len(args.fsdp) > 0)\n",
    ],
)
def test_what_works_with_true_or_none_is_left(body: str) -> None:
    assert not [code for code, _, _ in converted(TODAY + body).findings if code == "RM757"]
