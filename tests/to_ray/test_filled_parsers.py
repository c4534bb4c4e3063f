"""A parser that other code adds options to, and paths by expanduser() of them: the driver does both (RM801, RM805)."""

from textwrap import indent

import pytest

from tests.rules.scripts import converted

HEAD = """\
import argparse
from os.path import expanduser
from transformers import AutoModel, Trainer, TrainingArguments
from options import add_options


class Net:
    def __init__(self, args):
        self.model = AutoModel.from_pretrained("bert")

    @staticmethod
    def add_options(parser):
        parser.add_argument("--out")


"""
PARSER = "parser = argparse.ArgumentParser()\n"
PARSED = "args = parser.parse_args()\n"
TRAINED = "trainer = Trainer(Net(args).model, TrainingArguments(args.out))\ntrainer.train()\n"


@pytest.mark.parametrize(
    "fill",
    [
        "add_options(parser)\n",
        "add_options(parser=parser)\n",
        "Net.add_options(parser)\n",
        "parser = add_options(parser)\n",
        "parser: argparse.ArgumentParser = Net.add_options(parser)\n",
        "filled = add_options(parser, 'model')\n",
        "parser.add_argument('--size')\nadd_options(parser)\nNet.add_options(parser)\n",
    ],
)
@pytest.mark.parametrize("in_main", [True, False])
def test_options_are_added_before_they_are_parsed(fill: str, in_main: bool) -> None:
    parsed = PARSED.replace("parser", "filled") if fill.startswith("filled") else PARSED
    body = PARSER + fill + parsed
    script = body + TRAINED
    if in_main:
        script = f"def main():\n{indent(script, '    ')}\n\nif __name__ == '__main__':\n    main()\n"
    outcome = converted(HEAD + script, to_ray=True)
    assert (indent(body, "    ") if in_main else body) in outcome.text, outcome.messages
    assert 'config["parser"]' not in outcome.text


def test_what_parses_itself_trains_with_the_command_line_of_the_script() -> None:
    function = "def fit(parser):\n    args = parser.parse_args()\n" + indent(TRAINED, "    ")
    outcome = converted(f"{HEAD}{function}\n\n{PARSER}fit(parser)\n", to_ray=True)
    assert "add_options(parser)\nargs" not in outcome.text
    assert 'sys.argv[1:] = config["argv"]' in outcome.text or "RM802" in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize(
    ("folder", "goes", "constant"),
    [
        ("expanduser(args.out)", True, ""),
        ("os.path.expanduser(os.path.join(args.out, 'a'))", True, ""),
        ("f'{expanduser(args.out)}/final'", True, ""),
        ("expanduser('final')", False, 'os.path.abspath("final")'),
        ("expanduser('~/final')", False, ""),
        ("os.path.abspath(args.out)", False, ""),
    ],
)
def test_a_home_is_put_in_and_no_path_made_absolute_by_expanduser(folder: str, goes: bool, constant: str) -> None:
    options = f"{PARSER}parser.add_argument('--out', default='runs')\n{PARSED}"
    trained = "trainer = Trainer(AutoModel.from_pretrained('bert'), TrainingArguments('/out'))\ntrainer.train()\n"
    script = f"import os\n{HEAD}{options}{trained}trainer.save_model({folder})\n"
    text = converted(script, to_ray=True).text
    assert ("os.chdir(DIRECTORY)" in text) is goes
    assert ("os.path.abspath(" in text) is bool(constant or "abspath" in folder)
    assert constant in text
