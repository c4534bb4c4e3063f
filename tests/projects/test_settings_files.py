"""Keys and options for TrainingArguments in the settings files and shell scripts of a legacy job."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.files.discovery import SUFFIXES, discover
from raymigrate.files.needles import needles
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
from raymigrate.run.session import run
from tests.projects.files import convert, write

JOB = """
import json
import sys
from dataclasses import dataclass
from ray.train.huggingface import TransformersTrainer
from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Data:
    past_index: int = 0


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make(), {args}, train_dataset=train_dataset)


TransformersTrainer(init, datasets={{"train": rows}}).fit()
"""
SEEN = 'TrainingArguments("out", evaluation_strategy=config["evaluation_strategy"])'
UNSEEN = [
    "TrainingArguments(**json.load(open(sys.argv[1])))",
    "HfArgumentParser(TrainingArguments).parse_json_file(sys.argv[1])[0]",
    "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]",
]
ALIKE = {
    "args.json": '{\n\t"output_dir": "out",\n\t"evaluation_strategy": "epoch"}\n',
    "conf/a.yaml": "job:\n  trainer:\n    learning_rate: 1\n    evaluation_strategy: epoch  # each\n",
    "b.yml": "evaluation_strategy: epoch\n",
    "run.sh": "python job.py --output_dir out \\\n  --evaluation_strategy=epoch\n",
    "hydra.sh": "python job.py \\\n  trainer.evaluation_strategy=epoch\n",
}
SURE = "trainer:\n  _target_: transformers.TrainingArguments\n  no_cuda: true\n"


def told(summary: Summary) -> list[tuple[str, str, int]]:
    return [(Path(f.path).name, f.code, f.line) for f in summary.findings if not f.path.endswith(".py")]


@pytest.mark.parametrize("args", UNSEEN)
@pytest.mark.parametrize("name", ALIKE)
def test_keys_like_those_of_training_arguments_are_told_where_these_are_made_of_what_is_not_seen(
    args: str, name: str, tmp_path: Path
) -> None:
    write(tmp_path, {"job.py": JOB.format(args=args), "setup.py": ""})
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(ALIKE[name])
    [(file, code, line)] = told(convert(tmp_path))
    assert (file, code) == (Path(name).name, "RM701")
    assert "evaluation_strategy" in ALIKE[name].split("\n")[line - 1]


def test_keys_that_a_script_reads_one_by_one_may_stay(tmp_path: Path) -> None:
    write(tmp_path, {"job.py": JOB.format(args=SEEN), "setup.py": "", **ALIKE})
    assert not told(convert(tmp_path))


@pytest.mark.parametrize("args", [SEEN, *UNSEEN])
def test_what_names_its_class_is_told_in_any_case(args: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.py": JOB.format(args=args), "setup.py": "", "conf/a.yaml": SURE})
    assert told(convert(tmp_path)) == [("a.yaml", "RM701", 3)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"past_index": 1, "output_dir": "out"}'),  # of Data, in the other one's dataclass
        ("a.json", '{"_target_": "mine.Arguments", "output_dir": "o", "no_cuda": true}'),
        ("a.yaml", "no_cuda: true\nepochs: 3\n"),
        ("a.yaml", "output_dir: out\neval_strategy: epoch\n# evaluation_strategy: epoch\n"),
        ("a.yaml", "{% if a %}\noutput_dir: out\nevaluation_strategy: epoch\n"),  # a template
        ("a.yaml", "a: &a [*a]\noutput_dir: o\n: evaluation_strategy"),
        ("a.json", '{"text": "evaluation_strategy"}'),
        ("run.sh", "python job.py --no_cuda_graphs --my_evaluation_strategy x"),
        ("notes.txt", "evaluation_strategy: epoch\n"),
    ],
)
def test_other_keys_are_left_alone(name: str, text: str, tmp_path: Path) -> None:
    args = "HfArgumentParser((Data, TrainingArguments)).parse_json_file(sys.argv[1])[1]"
    write(tmp_path, {"job.py": JOB.format(args=args), "setup.py": ""})
    (tmp_path / name).write_text(text)
    assert not told(convert(tmp_path))


def test_a_file_beside_the_script_is_read(tmp_path: Path) -> None:
    args = 'HfArgumentParser(TrainingArguments).parse_json_file("a.json")[0]'
    write(tmp_path, {"job.py": JOB.format(args=args), "a.json": '{"output_dir": "o", "no_cuda": true}'})
    messages = [f.message for f in convert(tmp_path / "job.py").findings if f.code == "RM706"]
    assert messages == ["The file gives no_cuda, which TrainingArguments lost: such keys raise a ValueError."]
    write(tmp_path, {"job.py": JOB.format(args=args), "a.json": '{"output_dir": "o", "use_cpu": true}'})
    assert not [f for f in convert(tmp_path / "job.py").findings if f.code == "RM706"]


def test_comments_and_choices_of_rules_hold_for_settings(tmp_path: Path) -> None:
    skipped = SURE.replace("no_cuda: true", "no_cuda: true  # raymigrate: skip RM701")
    write(tmp_path, {"job.py": JOB.format(args=SEEN), "setup.py": "", "a.yaml": SURE, "b.yaml": skipped})
    shown = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)]).stdout
    assert "a.yaml:3:3: RM701 manual" in shown and "b.yaml:3:3: RM701 skipped" in shown
    assert not told(convert(tmp_path, job=Job(Options(ignore=("RM701",)))))


def test_settings_outside_the_paths_given_and_of_no_job_are_not_told(tmp_path: Path) -> None:
    files = {"job/job.py": JOB.format(args=SEEN), "setup.py": "", "conf/a.yaml": SURE}
    write(tmp_path, files)
    assert not told(convert(tmp_path / "job"))
    write(tmp_path, files)
    assert told(convert(tmp_path))
    write(tmp_path, {"job/job.py": "import ray.air\nfrom ray.air import session\nsession.report({})\n"})
    assert not told(convert(tmp_path))


def test_names_of_legacy_ray_in_the_same_file_are_told_too(tmp_path: Path) -> None:
    text = f"{SURE}scaling:\n  _target_: ray.air.config.ScalingConfig\n"
    write(tmp_path, {"job.py": JOB.format(args=SEEN), "setup.py": "", "a.yaml": text})
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "a.yaml:3:3: RM701" in shown and "a.yaml:5:13: RM695" in shown


PARSING = "HfArgumentParser((Data, TrainingArguments)).parse_args_into_dataclasses()[1]"
PLAIN = """
import transformers
from transformers import HfArgumentParser, Trainer


class Mine(transformers.TrainingArguments):
    past_index: int = 0


def train():
    args = HfArgumentParser(Mine).parse_args_into_dataclasses()[0]
    trainer = Trainer(make(), args, train_dataset=rows, tokenizer=tokenizer)
    trainer.train()


train()
"""
PAGES = {
    "README.md": "```bash\npython train.py --output_dir o \\\n  --evaluation_strategy no\n```\n",
    "docs.rst": "Run::\n\n    GPUS=0 python scripts/train.py --fp16 True --evaluation_strategy=no | tee log\n\nand\n",
    "run.markdown": "`torchrun --nproc_per_node 2 train.py --evaluation_strategy no`, or so\n",
    "module.md": "python -m scripts.train --evaluation_strategy no\n",
}


@pytest.mark.parametrize("script", [PLAIN, JOB.format(args=PARSING)])
@pytest.mark.parametrize("name", PAGES)
def test_options_in_commands_of_a_page_are_told(name: str, script: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": script, "setup.py": "", name: PAGES[name]})
    shown = CliRunner().invoke(main, ["--check", "--to-ray", str(tmp_path)]).stdout
    [place] = [line for line in shown.splitlines() if f"{name}:" in line]
    assert "RM701 manual" in place
    assert "evaluation_strategy" in PAGES[name].split("\n")[int(place.partition(f"{name}:")[2].split(":")[0]) - 1]


@pytest.mark.parametrize(
    "page",
    [
        "python other.py --evaluation_strategy no\n",
        "python retrain.py --evaluation_strategy no\n",
        "python train.py --output_dir o; python other.py --evaluation_strategy no\n",
        "python train.py\n\nWith --evaluation_strategy no it was slower.\n",
        "python train.py --past_index 3 --my_evaluation_strategy no\n",
        "train.py has --evaluation_strategy\n".replace("has ", "has\n"),
    ],
)
def test_other_words_of_a_page_are_left_alone(page: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": JOB.format(args=PARSING), "setup.py": "", "README.md": page})
    assert not told(convert(tmp_path))


def test_pages_of_a_script_whose_arguments_are_seen_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": JOB.format(args=SEEN), "setup.py": "", **PAGES})
    assert not told(convert(tmp_path))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (
            "torchrun --nproc_per_node=4 train.py --evaluation_strategy no --logging_dir=x --past_index 3 --fp16",
            "but without --evaluation_strategy (now --eval_strategy), --logging_dir, which TrainingArguments refuses",
        ),
        ("accelerate launch --num_processes 2 train.py --eval_strategy no", ""),
        ("accelerate launch --fsdp_transformer_layer_cls_to_wrap A train.py --output_dir o", ""),
        ("torchrun --nproc_per_node=4 -m scripts.train --no_cuda", "without --no_cuda (now --use_cpu), which"),
    ],
)
def test_the_line_that_launched_a_script_names_options_that_are_gone(line: str, named: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": PLAIN, "setup.py": "", "README.md": f"```\n{line}\n```\n"})
    shown = CliRunner().invoke(main, ["--check", "--verbose", "--to-ray", str(tmp_path / "train.py")]).stdout
    [said] = [line for line in shown.splitlines() if "README.md:2 says" in line]
    assert (named in said) if named else ("but without" not in said)


FROM_FILES = """
import sys, yaml
from dataclasses import dataclass
from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments
from trl import TrlParser


@dataclass
class Data:
    past_index: int = 0


def main():
    {args}
    Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=rows()).train()


if __name__ == "__main__":
    main()
"""
OF_FILES = [
    "(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file(sys.argv[1])",
    "(args,) = HfArgumentParser(TrainingArguments).parse_json_file(json_file=sys.argv[-1])",
    "parser = HfArgumentParser((Data, TrainingArguments))\n    data, args = parser.parse_yaml_file('a.yaml')",
    "(args,) = TrlParser((TrainingArguments,)).parse_args_and_config()",
    "args = TrainingArguments(**yaml.safe_load(open(sys.argv[1])))",
    "with open('a.yaml') as f:\n        loaded = yaml.safe_load(f)\n    args = TrainingArguments(**loaded['training'])",
]


def to_ray(folder: Path) -> Summary:
    found = discover([str(folder)], needles=needles(to_ray=True), suffixes=SUFFIXES)
    return run(found, Job(Options(to_ray=True)), jobs=1)


@pytest.mark.parametrize("args", OF_FILES)
@pytest.mark.parametrize("name", ["args.json", "conf/a.yaml"])
def test_a_plain_script_that_makes_its_arguments_of_a_file_is_told_of_its_keys(
    args: str, name: str, tmp_path: Path
) -> None:
    write(tmp_path, {"job.py": FROM_FILES.format(args=args), "setup.py": ""})
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(ALIKE[name])
    assert [(file, code) for file, code, _ in told(to_ray(tmp_path))] == [(Path(name).name, "RM701")]
    assert not told(convert(tmp_path))


@pytest.mark.parametrize(
    "args",
    [
        "args = TrainingArguments('out')",
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()",
        "loaded = yaml.safe_load(open('b.yaml'))\n    args = TrainingArguments('out', eval_strategy=loaded['a'])",
        "parser = HfArgumentParser(Data)\n    parser.parse_yaml_file('a.yaml')\n    args = TrainingArguments('out')",
    ],
)
def test_a_plain_script_that_makes_them_otherwise_is_not(args: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.py": FROM_FILES.format(args=args), "setup.py": "", **ALIKE})
    assert not told(to_ray(tmp_path))


def test_a_key_of_the_file_that_a_plain_script_names_is_told_at_its_parser_too(tmp_path: Path) -> None:
    args = "(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file('a.yaml')"
    write(tmp_path, {"job.py": FROM_FILES.format(args=args), "a.yaml": "output_dir: out\nevaluation_strategy: epoch\n"})
    found = [f for f in to_ray(tmp_path).findings if f.code == "RM706"]
    assert ["The file gives evaluation_strategy, which TrainingArguments lost" in f.message for f in found] == [True]
