"""Workers that read the command line get that of the script, or the script stays: theirs is one of Ray."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.rules.scripts import converted
from tests.test_cli import invoke
from tests.to_ray.test_refusals import HEAD, indented

TRAIN = 'trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out", num_train_epochs={epochs}))\n'
DATACLASS = "from dataclasses import dataclass\n@dataclass\nclass A:\n    epochs: int = 1\n"
FORWARDED = 'sys.argv[1:] = config["argv"]'
GIVEN = '"argv": sys.argv[1:]'
PARSE = "import argparse\ndef parse():\n    return argparse.ArgumentParser().parse_args()\n"
AT_IMPORT = "import argparse\nargs = argparse.ArgumentParser().parse_args()\n"


def script(imports: str, parse: str, *, main: bool = True, epochs: str = "args.epochs") -> str:
    """A script that trains with what it makes of its command line."""
    body = f"{parse}\n{TRAIN.format(epochs=epochs)}trainer.train()\n"
    return f"{imports}\n{HEAD}" + (f"def main():\n{indented(body)}\nmain()\n" if main else body)


@pytest.mark.parametrize("main", [True, False])
@pytest.mark.parametrize(
    ("imports", "parse"),
    [
        (f"{DATACLASS}import transformers\nclass P(transformers.HfArgumentParser):\n    pass", "args = P(A).parse()"),
        (f"{DATACLASS}from trl import TrlParser\nclass P(TrlParser):\n    pass", "args = P(A).parse()"),
        (
            f"{DATACLASS}from alignment import H4ArgumentParser",
            "parser = H4ArgumentParser((A,))\nargs = parser.parse()",
        ),
        ("from llamafactory.hparams import get_train_args", "args = get_train_args()"),
        ("from own import parse", "args = parse()"),
        ("from own import parse_cli", "args = parse_cli(dict)"),
        ("import tyro\nclass A:\n    epochs: int = 1", "args = tyro.cli(A)"),
        ("import simple_parsing as sp\nclass A:\n    pass", "args = sp.parse(A)"),
        ("from omegaconf import OmegaConf", "args = OmegaConf.from_cli()"),
        ("import types, sys\ndef last():\n    return int(sys.argv[-1])", "args = types.SimpleNamespace(epochs=last())"),
    ],
)
def test_what_workers_parse_is_the_command_line_of_the_script(imports: str, parse: str, main: bool) -> None:
    after = converted(script(imports, parse, main=main), to_ray=True).text
    assert FORWARDED in after
    assert GIVEN in after
    compile(after, "after", "exec")


def test_a_function_that_a_library_gives_the_command_line_runs_on_the_workers() -> None:
    text = script("import tyro", "pass", epochs="epochs").replace("def main():", "def main(epochs: int = 1):")
    after = converted(text.replace("\nmain()\n", "\ntyro.cli(main)\n"), to_ray=True).text
    assert "    tyro.cli(main)\n" in after
    assert FORWARDED in after


def test_fields_without_a_default_are_seen_by_a_parser_of_an_unknown_library() -> None:
    text = script(f"{DATACLASS}from alignment import H4ArgumentParser", "args = H4ArgumentParser((A,)).parse()")
    assert "copyreg.pickle(type(MISSING)" in converted(text, to_ray=True).text


@pytest.mark.parametrize("parse", ["args = parser.parse()", "args = parser.parse_args()"])
def test_a_class_made_from_argparse_parses_on_the_driver(parse: str) -> None:
    define = (
        "import argparse\nclass P(argparse.ArgumentParser):\n    def parse(self):\n        return self.parse_args()"
    )
    after = converted(script(define, f"parser = P()\n{parse}"), to_ray=True).text
    assert "train_loop_config=vars(args)" in after
    assert FORWARDED not in after


RUNNER = f"""import argparse
{HEAD}class Runner:
    def __init__(self, args):
        self.args = args

    def fit(self):
        settings = TrainingArguments("out", num_train_epochs=self.args.epochs)
        trainer = Trainer(AutoModel.from_pretrained("bert"), settings)
        trainer.train()
        return self


p = argparse.ArgumentParser()
group = p.add_argument_group("training")
group.add_argument("--epochs", type=int, default=1)
"""


@pytest.mark.parametrize(
    "run",
    [
        "runner = Runner(p.parse_args())\nrunner.fit()\n",
        "Runner(args=p.parse_args()).fit()\n",
        "print(Runner(p.parse_args()).fit())\n",
        "def start(args):\n    return Runner(args).fit()\nfitted = start(p.parse_args())\nprint(fitted)\n",
    ],
)
def test_what_the_call_of_a_class_that_trains_parses_is_parsed_on_the_workers(run: str) -> None:
    after = converted(f"{RUNNER}{run}", to_ray=True).text
    function = after.partition("def train_func(config):")[2].partition("trainer = TorchTrainer(")[0]
    assert function.index(FORWARDED) < function.index("argparse.ArgumentParser()") < function.index("p.parse_args()")
    assert GIVEN in after
    compile(after, "after", "exec")


@pytest.mark.parametrize(
    "run",
    [
        "Runner(p.parse_args()).fit()\nother = p.parse_args()\n",
        "def usage():\n    p.print_usage()\nRunner(p.parse_args()).fit()\n",
        "Runner(p.parse_args(['--epochs', trainer])).fit()\n",
    ],
)
def test_a_parser_that_others_ask_too_stays_in_the_way(run: str) -> None:
    outcome = converted(f"{RUNNER}{run}", to_ray=True)
    assert outcome.text == f"{RUNNER}{run}"
    assert "part of the training too" in outcome.messages[-1]


@pytest.mark.parametrize(
    ("imports", "parse"),
    [
        ("", "args = make()"),
        ("import types\ndef parse_name(name):\n    return name", "args = types.SimpleNamespace(epochs=parse_name(3))"),
        ("from urllib.parse import urlparse", "args = urlparse('http://a')"),
        ("import datetime\nimport numpy as np", "args = np.load('args.npy')"),
        ("import argparse\nfrom own import make", "args: argparse.Namespace = make()"),
        ("from own import make_model", "args = make_model()"),
        ("from own import parse", "args = parse('text')"),
        ("from packaging import version", "args = version.parse('1.0')"),
    ],
)
def test_what_parses_nothing_gets_no_command_line(imports: str, parse: str) -> None:
    assert FORWARDED not in converted(script(imports, parse), to_ray=True).text


def project(folder: Path, train: str, **others: str) -> tuple[str, str]:
    """What becomes of a script that others lie beside, and what is said."""
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "train.py").write_text(train)
    said = invoke("--to-ray", folder)
    return (folder / "train.py").read_text(), said.stdout


@pytest.mark.parametrize(
    ("imports", "parse", "helper"),
    [
        ("from helper import parse", "args = parse()", PARSE),
        ("import helper", "args = helper.parse()", PARSE),
        (
            "from helper import parse as get",
            "args = get()",
            f"def parse():\n    return inner()\n{PARSE}inner = parse\n",
        ),
        ("from helper import Options", "args = Options().parse()", f"class Options:\n{indented(PARSE)}"),
        (
            f"{DATACLASS}from helper import P",
            "args = P(A).parse()",
            "from transformers import HfArgumentParser\nclass P(HfArgumentParser):\n    pass\n",
        ),
        (
            "import helper, types",
            "args = types.SimpleNamespace(epochs=helper.n())",
            "import sys\ndef n():\n    return sys.argv[1]\n",
        ),
        ("", "from helper import args", AT_IMPORT),
    ],
)
def test_parsing_in_another_file_is_followed(tmp_path: Path, imports: str, parse: str, helper: str) -> None:
    after, _ = project(tmp_path, script(imports, parse), helper=helper)
    assert FORWARDED in after


@pytest.mark.parametrize(
    ("imports", "parse", "helper"),
    [
        ("from helper import n", "args = n()", f"{PARSE}def n():\n    return 3\n"),
        (
            "from helper import n",
            "args = n()",
            f"{PARSE}def n():\n    return 3\nif __name__ == '__main__':\n    parse()\n",
        ),
        ("from helper import args", "", AT_IMPORT),  # a Namespace is sent as it is
        (
            "from helper import n",
            "args = n()",
            f"def n():\n    return 3\nargs = {PARSE.split()[1]}.ArgumentParser().parse_args([])\n",
        ),
    ],
)
def test_other_files_that_can_parse_but_do_not_there(tmp_path: Path, imports: str, parse: str, helper: str) -> None:
    after, said = project(tmp_path, script(imports, parse), helper=helper)
    assert "TorchTrainer(" in after
    assert FORWARDED not in after
    assert "RM802" not in said


@pytest.mark.parametrize(
    ("imports", "parse", "line"),
    [
        ("import helper", "args = helper.args", 2),
        ("from helper import n", "args = n()", 2),
        ("from outer import n", "args = n()", 2),
    ],
)
def test_a_file_that_parses_while_workers_import_it_is_in_the_way(
    tmp_path: Path, imports: str, parse: str, line: int
) -> None:
    helper = f"{AT_IMPORT}def n():\n    return args\n"
    text = script(imports, parse)
    after, said = project(tmp_path, text, helper=helper, outer="from helper import n\n")
    assert after == text
    assert f"line {line} of it parses the command line on import" in said
    assert "helper.py for " in said


def test_the_line_of_it_is_that_of_the_new_text(tmp_path: Path) -> None:
    user = "from ray.air.checkpoint import Checkpoint\ndef load(checkpoint):\n    return checkpoint.get_model(1)\n"
    helper = f"{user}{AT_IMPORT}def n(data):\n    return Checkpoint.from_dict(data)\n"
    (tmp_path / "helper.py").write_text(helper)
    (tmp_path / "train.py").write_text(script("from helper import n", "args = n({})"))
    invoke("--to-ray", "--todo", tmp_path)
    texts = (tmp_path / "helper.py").read_text(), (tmp_path / "train.py").read_text()
    line = texts[0].splitlines().index(AT_IMPORT.splitlines()[1]) + 1
    assert f"line {line} of it parses the command line on import" in texts[1]
    assert line != helper.splitlines().index(AT_IMPORT.splitlines()[1]) + 1
    assert "commented" not in invoke("--to-ray", "--todo", tmp_path).stdout
    assert texts == ((tmp_path / "helper.py").read_text(), (tmp_path / "train.py").read_text())


CLICK = "import click\n@click.command()\n@click.option('--epochs')\n"
HYDRA = "import hydra\n@hydra.main(version_base=None)\n"


@pytest.mark.parametrize("decorated", [CLICK, HYDRA])
@pytest.mark.parametrize(
    "call",
    [
        "try:\n    main()\nexcept Exception:\n    raise",
        "if __name__ == '__main__':\n    with open('log') as log:\n        main()",
        "def run():\n    os.chdir('runs')\n    main()\nrun()",
        "code = main()",
    ],
)
def test_a_function_of_click_or_hydra_that_is_called_within_more_is_in_the_way(decorated: str, call: str) -> None:
    text = script("import os", "pass", epochs="1").replace("def main():", f"{decorated}def main(epochs):")
    text = text.replace("\nmain()\n", f"\n{call}\n")
    outcome = converted(text, to_ray=True)
    assert outcome.text == text
    assert [code for code, _, _ in outcome.findings] == ["RM802"]


@pytest.mark.parametrize("decorated", [CLICK, HYDRA])
def test_a_function_of_click_or_hydra_may_be_started_by_one_that_does_nothing_else(decorated: str) -> None:
    text = script("import os", "pass", epochs="1").replace("def main():", f"{decorated}def main(epochs):")
    after = converted(text.replace("\nmain()\n", "\ndef run():\n    main()\nrun()\n"), to_ray=True).text
    assert "TorchTrainer(" in after
    assert after.endswith("\ndef run():\n    main()\nrun()\n")


def test_a_function_of_click_that_does_not_train_is_not_in_the_way() -> None:
    text = script("import click\n@click.command()\ndef show():\n    click.echo('x')", "", epochs="1")
    assert "TorchTrainer(" in converted(text, to_ray=True).text


@pytest.mark.parametrize(
    ("imports", "args"),
    [
        ("from absl import flags\nFLAGS = flags.FLAGS", "args = FLAGS"),
        ("from absl import flags", "args = flags.FLAGS"),
        ("from absl import flags\nEPOCHS = flags.DEFINE_integer('epochs', 1, '')", "args = EPOCHS.value"),
        ("from absl.flags import FLAGS\ndef get():\n    return FLAGS", "args = get()"),
    ],
)
def test_flags_of_absl_are_in_the_way(imports: str, args: str) -> None:
    text = script(imports, args)
    found = convert(text, options=Options(to_ray=True))
    assert found.after is None
    assert "flags of absl" in found.findings[0].message
