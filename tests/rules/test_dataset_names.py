"""RM714, RM715: datasets that are found under another name, or are scripts."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert
from tests.rules.scripts import Outcome, converted

SCRIPT = "import ray\nfrom datasets import load_dataset\n\nrows = load_dataset({arguments})\n"
COPY = 'revision="refs/convert/parquet"'


@pytest.mark.parametrize(
    ("arguments", "now"),
    [
        ('"conll2003"', f'"eriktks/conll2003", {COPY}'),
        ('path="conll2003", split="train"', f'path="eriktks/conll2003", split="train", {COPY}'),
        # That copy has no configurations: ValueError: BuilderConfig 'conll2003' not found. Available: ['default']
        ('"eriktks/conll2003", "conll2003"', f'path="eriktks/conll2003", {COPY}'),
        ('"conll2003", name="conll2003", split="test"', f'"eriktks/conll2003", split="test", {COPY}'),
        ('"conll2003", None', f'path="eriktks/conll2003", {COPY}'),
        ('"trec", trust_remote_code=True', f'"CogComp/trec", {COPY}'),
        ('"EdinburghNLP/xsum"', f'"EdinburghNLP/xsum", {COPY}'),
    ],
)
def test_a_dataset_that_is_a_script_is_loaded_from_its_parquet_copy(arguments: str, now: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments))
    assert f"load_dataset({now})" in outcome.text
    assert outcome.lines("RM715", Kind.CONVERTED) == [4]


@pytest.mark.parametrize("more", ["**options", "*rest", "options.name", "name=options.name"])
def test_arguments_that_cannot_be_seen_are_left_to_a_person(more: str) -> None:
    assert converted(SCRIPT.format(arguments=f'"conll2003", {more}')).lines("RM715", Kind.MANUAL) == [4]


@pytest.mark.parametrize("arguments", ['"sshleifer_dataset", "cola"', 'path="some_set"'])
def test_a_dataset_of_which_nothing_is_known_may_be_a_script(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments))
    assert outcome.lines("RM714", Kind.MANUAL) == [4]
    assert any(COPY in message and "data_files=" in message for message in outcome.messages)


def test_a_dataset_that_is_known_to_hold_data_is_no_script() -> None:
    outcome = converted(SCRIPT.format(arguments='"glue" if x else "imdb"'))
    assert outcome.lines("RM714", Kind.CONVERTED) == [4, 4]
    assert not any(COPY in message for message in outcome.messages)


@pytest.mark.parametrize("arguments", ['"nyu-mll/glue", "cola"', f'"eriktks/conll2003", {COPY}', '"imdb"'])
def test_other_datasets_are_loaded_as_they_are(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments))
    assert not outcome.lines("RM715", Kind.CONVERTED) and not outcome.lines("RM715", Kind.MANUAL)


def test_a_call_whose_arguments_are_all_unpacked_is_left() -> None:
    assert not converted(SCRIPT.format(arguments="**options")).lines("RM714")


def test_a_name_that_is_written_twice_is_told_at_both_places() -> None:
    script = "import ray\nfrom datasets import load_dataset\n\nname = 'my_set'\nif ray:\n    name = 'my_set'\n"
    assert converted(f"{script}rows = load_dataset(name)\n").lines("RM714", Kind.MANUAL) == [4, 6]


def test_a_name_that_many_calls_share_is_told_once() -> None:
    calls = "\n".join(f"part{number} = load_dataset(args.name, split='train[{number}]')" for number in range(4))
    script = (
        "import argparse\nimport ray\nfrom datasets import load_dataset\nfrom ray.air import session\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--name', default='imdb')\n"
        "args = parser.parse_args()\n"
        f"{calls}\nother = load_dataset(args.other)\nsession.report({{}})\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM714", Kind.MANUAL) == [6, 12]
    assert any('"imdb". So do 3 more calls with args.name. ' in message for message in outcome.messages)
    kept = script.replace("train[1]')", "train[1]')  # raymigrate: skip[RM714]")
    assert converted(kept).lines("RM714", Kind.SKIPPED) == [9]
    assert any("So do 2 more calls with args.name." in message for message in converted(kept).messages)


SET_TWICE = """\
import argparse
import ray
from datasets import load_dataset
from ray.air import session

{code}
session.report({{}})
"""
RUNNER = """\
class Runner:
    def __init__(self, dataset="conll2003"):
        self.dataset = dataset

    def read(self):
        return load_dataset(self.dataset)

parser = argparse.ArgumentParser()
parser.add_argument("--dataset", default={given})
Runner(parser.parse_args().dataset).read()
Runner().read()
"""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (RUNNER.format(given='"conll2003"'), [7, 14]),
        (RUNNER.format(given='"imdb"'), [7, 14]),
        (RUNNER.format(given='"own/rows"'), [7]),
        ('def read(name="imdb"):\n    return load_dataset(name)\n\nread()\nread("imdb")\nread("own/rows")\n', [6, 10]),
        # Two calls that get it from one place
        ('def read(name="imdb"):\n    return load_dataset(name), load_dataset(name)\n\nread()\nread("own/a")\n', [6]),
    ],
    ids=["option", "another name", "in full", "calls", "one place"],
)
def test_a_name_is_told_at_each_place_that_sets_it(code: str, lines: list[int]) -> None:
    assert converted(SET_TWICE.format(code=code)).lines("RM714", Kind.MANUAL) == lines


LOCAL = """\
import os
from pathlib import Path
from ray.air import session
from datasets import load_dataset

def read(name, given=None):
    {code}

session.report({{}})
"""
TABLE = """\
import sys
import ray.train
from datasets import load_dataset

CONFIGS = {{"a": {{"train": "cifar100", "label": "fine"}}, "b": {{"train": "own/rows", "label": "glue"}}}}
{how}
"""


@pytest.mark.parametrize(
    "how",
    [
        'config = CONFIGS[sys.argv[1]]\nload_dataset(config["train"])',
        'load_dataset(CONFIGS[sys.argv[1]]["train"], split="train")',
        'def load(name):\n    row = CONFIGS[name]\n    return load_dataset(path=row["train"])',
        'key = "train"\nname = CONFIGS[sys.argv[1]][key]\nload_dataset(name)',
        'NAMES = {"x": "cifar100"}\nload_dataset(NAMES[sys.argv[1]])',
    ],
)
def test_a_name_that_an_unseen_key_chooses_from_a_dict_is_told(how: str) -> None:
    found = [f for f in convert(TABLE.format(how=how)).findings if f.code == "RM714"]
    assert [f.message.partition(" raises ")[2] for f in found] == ['an HfUriError today where it gets "cifar100".']
    assert [TABLE.split("\n")[f.line - 1].startswith("CONFIGS") or "NAMES" in how for f in found] == [True]
    assert "uoft-cs/cifar100" in found[0].advice


@pytest.mark.parametrize(
    "how",
    [
        'load_dataset(CONFIGS["b"]["train"])',
        'print(CONFIGS[sys.argv[1]]["train"])',
        "load_dataset(other()[sys.argv[1]])",
        'NAMES = {"x": "own/rows"}\nload_dataset(NAMES[sys.argv[1]])',
    ],
)
def test_other_dicts_are_not(how: str) -> None:
    assert [f.message for f in convert(TABLE.format(how=how)).findings if f.code == "RM714"] == []


@pytest.mark.parametrize(
    "code",
    [
        "if os.path.exists(name):\n        load_dataset(name)",
        "if not os.path.isdir(name):\n        raise ValueError\n    load_dataset(name)",
        "rows = load_dataset(name) if Path(name).exists() else None",
        "assert os.path.isfile(str(name))\n    load_dataset(name)",
        "if not Path(name).is_dir():\n        print(1)\n    else:\n        load_dataset(name)",
        "if given and os.path.exists(name):\n        def load(path):\n            return load_dataset(path)\n"
        "        load(name)",
        "if not name or not os.path.exists(name):\n        return\n    load_dataset(name)",
        "folder = Path(name)\n    if folder.exists():\n        load_dataset(folder)",
    ],
)
def test_a_folder_that_is_looked_for_first_is_no_dataset_of_the_hub(code: str) -> None:
    assert not converted(LOCAL.format(code=code)).lines("RM714", Kind.MANUAL)


@pytest.mark.parametrize(
    "code",
    [
        "if not os.path.exists(name):\n        load_dataset(name)",
        "if os.path.exists(name):\n        pass\n    else:\n        load_dataset(name)",
        "if os.path.exists(name) or given:\n        load_dataset(name)",
        "if os.path.exists(given):\n        load_dataset(name)",
        "if os.path.exists(name):\n        print(1)\n    load_dataset(name)",
        "if os.path.exists(name):\n        return\n    load_dataset(name)",
        "if Own.exists(name):\n        load_dataset(name)",
        "if os.path.exists(given.below(name)):\n        load_dataset(name)",
    ],
)
def test_a_folder_that_may_not_be_there_is_told(code: str) -> None:
    assert converted(LOCAL.format(code=code)).lines("RM714", Kind.MANUAL)


HELPER = """\
import ray.train
from datasets import load_dataset
from ray.air import session
from ray.train.torch import TorchTrainer

name = "gbharti/finance-alpaca"


def load(name):
    session.report({{}})
    return load_dataset(name, split="train")


{use}
TorchTrainer(print).fit()
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("rows = load(name)", 0),
        ("rows = load(name=name)", 0),
        ("# rows = load(name)", 0),
        ("rows = load(args.name)", 1),
        ("rows = [load(n) for n in names()]", 1),
        ("__all__ = ['load']", 1),
    ],
)
def test_a_helper_is_given_what_its_callers_show(use: str, *, told: bool) -> None:
    assert len(converted(HELPER.format(use=use)).lines("RM714", Kind.MANUAL)) == told


def test_a_helper_that_nothing_here_calls_may_be_for_another_script() -> None:
    script = HELPER.format(use="").replace("TorchTrainer(print).fit()", "")
    assert len(converted(script).lines("RM714", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ('"squad_v2" if v2 else "squad"', '"rajpurkar/squad_v2" if v2 else "rajpurkar/squad"'),
        ('v2 or "squad"', 'v2 or "rajpurkar/squad"'),
        ('{"a": "imdb", "b": "glue"}[v2]', '{"a": "stanfordnlp/imdb", "b": "nyu-mll/glue"}[v2]'),
        ('"own/rows" if v2 == "squad" else "squad"', '"own/rows" if v2 == "squad" else "rajpurkar/squad"'),
    ],
)
def test_names_among_which_the_call_chooses_get_their_namespace(given: str, now: str) -> None:
    outcome = converted(
        "from datasets import load_dataset\nfrom ray.air import session\n\ndef loop(config):\n"
        f'    v2 = config["v2"]\n    rows = load_dataset({given})\n    session.report({{"n": len(rows)}})\n'
    )
    assert f"load_dataset({now})" in outcome.text


@pytest.mark.parametrize("given", ['"xsum" if v2 else "squad_of_ours"', 'NAMES["a" if v2 else "b"]'])
def test_those_that_the_call_cannot_name_in_full_are_told(given: str) -> None:
    outcome = converted(
        "from datasets import load_dataset\nfrom ray.air import session\n\nNAMES = load()\n\ndef loop(config):\n"
        f'    v2 = config["v2"]\n    rows = load_dataset({given})\n    session.report({{"n": len(rows)}})\n'
    )
    assert f"load_dataset({given})" in outcome.text
    assert outcome.lines("RM714", Kind.MANUAL)


OF_CONFIGURATION = """
import ray
from dataclasses import dataclass
from datasets import load_dataset
from ray.air import session

@dataclass
class Config:
    dataset: str = "imdb"

class Job:
    cfg: Config

    def rows(self):
        return load_dataset(self.cfg.dataset)

"""


def told_of(outcome: Outcome) -> list[str]:
    return [message for message in outcome.messages if "raises an HfUriError today where it gets" in message]


def test_the_attribute_of_an_object_is_what_its_class_says() -> None:
    [message] = told_of(converted(OF_CONFIGURATION))
    assert 'load_dataset(self.cfg.dataset) raises an HfUriError today where it gets "imdb".' in message
    assert message.endswith('Use "stanfordnlp/imdb" where the name is set.')


@pytest.mark.parametrize("given", ["cfg.dataset", "path=cfg.dataset", "name"])
def test_the_field_of_a_configuration_is_told_and_not_completed_at_the_call(given: str) -> None:
    outcome = converted(f"{OF_CONFIGURATION}cfg = Config()\nname = cfg.dataset\nprint(name)\nload_dataset({given})\n")
    assert "stanfordnlp" not in outcome.text
    assert all(message.endswith('Use "stanfordnlp/imdb" where the name is set.') for message in told_of(outcome))


@pytest.mark.parametrize("given", ["Config.dataset", "path=Config.dataset", "name"])
def test_nobody_is_told_to_change_a_name_that_other_calls_complete(given: str) -> None:
    script = OF_CONFIGURATION.replace("@dataclass\n", "").replace(": str", "")
    first = converted(f"{script}name = Config.dataset\nprint(name)\nload_dataset({given})\n")
    assert '"stanfordnlp/' in first.text
    for outcome in (first, converted(first.text)):
        [message] = told_of(outcome)
        assert 'Write "stanfordnlp/" before it here' in message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('"facebook/voxpopuli", "en", trust_remote_code=True', True),
        ('path="facebook/voxpopuli", trust_remote_code=TRUST', True),
        ('"facebook/voxpopuli", "en", trust_remote_code=False', False),
        ('"facebook/voxpopuli", "en"', False),
        ('"nyu-mll/glue", "cola", trust_remote_code=True', False),
        (f'"facebook/voxpopuli", "en", trust_remote_code=True, {COPY}', False),
        ('"./data/rows", trust_remote_code=True', False),
        ('"csv", trust_remote_code=True', False),
    ],
)
def test_a_dataset_whose_code_is_trusted_may_be_a_script(arguments: str, told: bool) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments).replace("\n\n", "\nTRUST = True\n", 1))
    assert outcome.lines("RM715", Kind.MANUAL) == ([4] if told else [])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('f"{args.owner}/{args.name}"', False),
        ('"nyu-mll/" + args.name', False),
        ('args.owner + "/" + args.name', False),
        ('"nyu-mll/%s" % args.name', False),
        ('"glue" + args.paths["a/b"]', True),
        ("args.name", True),
    ],
)
def test_a_name_that_has_a_slash_has_its_namespace(given: str, *, told: bool) -> None:
    legacy = "from ray.train.huggingface import TransformersTrainer\nfrom datasets import load_dataset\n"
    outcome = converted(f"{legacy}from own import args\n\nTransformersTrainer(load_dataset({given}))\n")
    assert any("without its namespace" in message for message in outcome.messages) is told


PUT = """from datasets import load_dataset
from own import Config
from ray.train.huggingface import TransformersTrainer


def make(config, fast):
{body}
    return rows


TransformersTrainer(make)
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('config.name = "owner/set"\nrows = load_dataset(config.name)', False),
        ('config.data.name = "owner/set"\nif fast:\n    rows = load_dataset(path=config.data.name)', False),
        ('config = Config()\nconfig.name = "owner/" + "set"\nrows = load_dataset(config.name, split="train")', False),
        ('if fast:\n    config.name = "owner/set"\nrows = load_dataset(config.name)', True),
        ('if fast:\n    config.name = "owner/set"\nelse:\n    rows = load_dataset(config.name)', True),
        ('config.name = "owner/set"\nconfig = Config()\nrows = load_dataset(config.name)', True),
        ('config.name = "owner/set"\nconfig.name += fast\nrows = load_dataset(config.name)', True),
        ('config.name = "owner/set"\nconfig.name, _ = fast\nrows = load_dataset(config.name)', True),
        ('config.data.name = "owner/set"\nconfig.data = fast\nrows = load_dataset(config.data.name)', True),
        ('config.other = "owner/set"\nrows = load_dataset(config.name)', True),
        ('rows = load_dataset(config.name)\nconfig.name = "owner/set"', True),
        ('name = "owner/set"\nrows = load_dataset(config().name)', True),
        ('config.name = "owner/set"\nconfig.merge_from_list(fast)\nrows = load_dataset(config.name)', True),
        ('config.data.name = "owner/set"\nconfig.data.update(fast)\nrows = load_dataset(config.data.name)', True),
        ('config.name = "owner/set"\nsetattr(config, *fast)\nrows = load_dataset(config.name)', True),
        ('config.name = "owner/set"\nvars(config).update(fast)\nrows = load_dataset(config.name)', True),
        ('config.name = "owner/set"\nprint(config, config.get)\nrows = load_dataset(config.name)', False),
        ('config.name = "owner/set"\nprint(config.name.upper())\nrows = load_dataset(config.name)', False),
    ],
)
def test_a_name_that_is_put_into_an_attribute_before_is_known(body: str, *, told: bool) -> None:
    outcome = converted(PUT.format(body=indent(body, "    ")))
    assert any("without its namespace" in message for message in outcome.messages) is told


def test_a_short_name_that_is_put_into_an_attribute_is_told_or_converted() -> None:
    body = 'config.name = "some_set"\nrows = load_dataset(config.name)'
    outcome = converted(PUT.format(body=indent(body, "    ")))
    assert outcome.lines("RM714", Kind.MANUAL) == [7]
    assert not any("without its namespace" in message for message in outcome.messages)


def test_a_text_that_is_made_of_an_argument_is_told() -> None:
    script = "from datasets import load_dataset\nfrom ray.train.huggingface import TransformersTrainer\n\n\n"
    for body in ('load_dataset(f"{name}")', 'whole = f"{name}"\n    load_dataset(whole)'):
        outcome = converted(f'{script}def load(name="imdb"):\n    {body}\n\n\nload()\nTransformersTrainer(load)\n')
        assert "stanfordnlp/imdb" not in outcome.text
        assert outcome.lines("RM714", Kind.MANUAL)
