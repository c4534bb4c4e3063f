"""Which statement of a plain script goes where."""

import ast
from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.to_ray.roles import Mixed, Role
from raymigrate.codemods.to_ray.script import script_of
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.to_ray.trainer_calls import training_of
from raymigrate.facts.syntax.module import Module
from tests.rules.scripts import converted

HEAD = """\
import argparse, json, logging, os, random
import evaluate, numpy, pandas, torch, transformers
from datasets import load_dataset
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments, set_seed
"""
TRAIN = """\
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""


def roles(text: str) -> dict[str, Role]:
    """The role of each step behind the imports, by its first line."""
    script = HEAD + dedent(text)
    module = Module(script)
    trains = training_of(module).trains
    script_steps = script_of(module, trains)
    found = Roles(script_steps, trains).of
    return {module.lines[s.lineno - 1].strip(): found[s] for s in script_steps.steps if s.lineno > 4}


def role(line: str, before: str = "", after: str = "") -> Role:
    """The role of a line of a script that trains behind it."""
    return roles(f"{before}{line}\n{TRAIN}{after}")[line.partition("\n")[0]]


@pytest.mark.parametrize(
    "line",
    [
        'NAME = "bert-base-cased"',
        "LABELS = {name: number for number, name in enumerate('ab')}",
        'HOME = os.environ.get("HOME", os.path.expanduser("~"))',
        "logger = logging.getLogger(__name__)",
        "def double(x): return 2 * x",
        "class Row: pass",
        "DTYPE = torch.bfloat16",
    ],
)
def test_what_means_the_same_in_any_process_stays(line: str) -> None:
    assert role(line) is Role.DEFINITION


NAMES = "ID2LABEL = {0: 'a', 1: 'b'}\nNAMES: list = sorted(ID2LABEL.values())\n"


@pytest.mark.parametrize(
    "line",
    [
        "LABEL2ID = {v: k for k, v in ID2LABEL.items()}",
        "LABEL2ID = dict(zip(ID2LABEL.values(), ID2LABEL.keys()))",
        "LABEL2ID = {str(k): v.upper().strip() for k, v in ID2LABEL.items()}",
        "UPPER = [name.upper() for name in NAMES]",
        "FIRST = NAMES[0].lower()",
        "ALL = ' '.join(NAMES).split()",
        "BOTH = (NAMES + ['c']).copy()",
        "FOUND = ID2LABEL.get(0, 'a')",
    ],
)
def test_what_is_made_of_a_literal_stays(line: str) -> None:
    assert role(line, NAMES) is Role.DEFINITION


def test_sums_of_sums_are_asked_about_once() -> None:
    sums = "".join(f"SUM{n + 1} = SUM{n} + SUM{n}\n" for n in range(40))
    assert role("ALL = SUM40.copy()", f"SUM0 = list('ab')\n{sums}") is Role.DEFINITION


@pytest.mark.parametrize(
    ("line", "before"),
    [
        (
            "LABEL2ID = {v: k for k, v in ID2LABEL.items()}",
            "ID2LABEL = AutoModel.from_pretrained('b').config.id2label\n",
        ),
        ("LABELS = names.copy()", "from names import names\n"),
        ("LABELS = [name.upper() for name in read()]", "from names import read\n"),
        ("LAST = NAMES.pop()", NAMES),
        ("LAST = (name for name in NAMES)", NAMES),  # which cannot be sent to a worker
        ("LABELS = LABELS.copy()", ""),
    ],
)
def test_what_is_made_of_something_else_moves(line: str, before: str) -> None:
    name = line.partition(" ")[0]
    assert role(line, before, f"print(trainer, {name})\n") is Role.WORKER


@pytest.mark.parametrize(
    "line",
    [
        'tokenizer = AutoTokenizer.from_pretrained("bert")',
        'tokenizer = transformers.AutoTokenizer.from_pretrained("bert")',
        'news = load_dataset("ag_news")["train"]',
        'with torch.no_grad(): weights = torch.load("weights.pt")',
        'device = "cuda" if torch.cuda.is_available() else "cpu"',
        'if torch.cuda.is_available(): print("GPU")',
        'for name in ("a", "b"): metric = evaluate.load(name)',
        'rank = int(os.environ["LOCAL_RANK"])',
        'world_size = int(os.environ.get("WORLD_SIZE", 1))',
    ],
)
def test_what_makes_models_and_data_moves(line: str) -> None:
    assert role(line) is Role.WORKER


@pytest.mark.parametrize(
    "line",
    [
        "set_seed(3)",
        "random.seed(3)",
        "numpy.random.seed(3)",
        "torch.manual_seed(3)",
        "torch.backends.cudnn.benchmark = True",
        'torch.set_float32_matmul_precision("high")',
        "logging.basicConfig(level=logging.INFO)",
        "transformers.logging.set_verbosity_error()",
        "transformers.utils.logging.set_verbosity_info()",
    ],
)
def test_settings_of_the_process_move(line: str) -> None:
    assert role(line) is Role.SETTING


@pytest.mark.parametrize(
    "line",
    [
        "torch.distributed.init_process_group('nccl')",
        "torch.cuda.set_device(0)",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "0"',
        'os.environ["MASTER_PORT"] = "29500"',
        'os.environ.update({"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})',
        'os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29500")',
    ],
)
def test_tasks_of_the_launcher_go(line: str) -> None:
    assert role(line) is Role.LAUNCHER


@pytest.mark.parametrize(
    "line",
    [
        'os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")',
        'os.environ.update({"CUDA_VISIBLE_DEVICES": "0", "HF_HOME": "/data"})',
        'os.environ.update(CUDA_VISIBLE_DEVICES="0", HF_HOME="/data")',
        'settings.setdefault("CUDA_VISIBLE_DEVICES", "0")',
    ],
)
def test_what_sets_something_else_too_does_not_go(line: str) -> None:
    assert role(line) is not Role.LAUNCHER


def test_the_command_line_stays_with_the_driver() -> None:
    found = roles(
        f"parser = argparse.ArgumentParser()\nparser.add_argument('--n')\nargs = parser.parse_args()\n{TRAIN}"
    )
    assert list(found.values()) == [Role.DRIVER] * 3 + [Role.WORKER] * 2


def test_a_function_that_reads_what_moves_moves_and_what_reads_it_too() -> None:
    found = roles(
        f"""\
        def outer(rows): return encode(rows)
        def encode(rows): return tokenizer(rows)
        def other(rows): return rows
        tokenizer = AutoTokenizer.from_pretrained("bert")
        {TRAIN.replace(chr(10), chr(10) + " " * 8)}"""
    )
    assert [found[line] for line in list(found)[:4]] == [Role.WORKER, Role.WORKER, Role.DEFINITION, Role.WORKER]


def test_a_function_that_makes_a_model_stays_and_its_call_moves() -> None:
    found = roles(f'def build(): return AutoModel.from_pretrained("bert")\nmodel = build()\n{TRAIN}')
    assert list(found.values())[:2] == [Role.DEFINITION, Role.WORKER]


def test_what_only_workers_read_moves_unless_it_is_plain() -> None:
    found = roles(f'frame = pandas.read_csv("a.csv")\nsize = 3\nrows = load_dataset(frame, size)\n{TRAIN}')
    assert list(found.values())[:3] == [Role.WORKER, Role.DEFINITION, Role.WORKER]


def test_a_list_that_the_training_fills_moves() -> None:
    before = "losses = []\nLABELS = ['a']\n"
    found = roles(f"{before}{TRAIN}losses.append(trainer.evaluate())\nprint(losses, LABELS)\n")
    assert (found["losses = []"], found["LABELS = ['a']"]) == (Role.WORKER, Role.DEFINITION)


def test_a_name_that_workers_bind_again_moves_from_the_start() -> None:
    assert role("size = 3", after="size = len(trainer.train_dataset)\n") is Role.WORKER


def test_other_calls_stay_before_the_training_and_move_behind_its_start() -> None:
    assert role('print("start")') is Role.DRIVER
    assert roles(f'{TRAIN}print("end")\n')['print("end")'] is Role.WORKER


def test_the_body_of_main_and_of_the_guard_are_looked_into() -> None:
    guarded = roles('if __name__ == "__main__":\n    n = 3\n    ' + TRAIN.replace("\n", "\n    "))
    assert list(guarded.values()) == [Role.DEFINITION, Role.WORKER, Role.WORKER]
    text = "def main():\n    args = argparse.ArgumentParser().parse_args()\n    n = 3\n    "
    inside = roles(text + TRAIN.replace("\n", "\n    ") + "\nmain()\n")
    assert list(inside.values()) == [Role.DRIVER, Role.WORKER, Role.WORKER, Role.WORKER]


def test_what_is_of_the_command_line_and_of_the_training_is_refused() -> None:
    text = 'parser = argparse.ArgumentParser()\nparser.add_argument("--n")\n'
    with pytest.raises(Mixed):
        roles(f'{text}model = AutoModel.from_pretrained("x")\nargs = parser.parse_args(model.names)\n{TRAIN}')


def test_what_uses_the_saved_model_at_the_end_stays_with_the_driver() -> None:
    after = 'trainer.save_model("m")\nmodel = AutoModel.from_pretrained("m")\nprint(model("a"))\n'
    module = Module(HEAD + TRAIN + after)
    trains = training_of(module).trains
    script = script_of(module, trains)
    found = Roles(script, trains)
    found.release(script.step_of(trains[0]))
    assert [found.of[step] for step in script.steps[-3:]] == [Role.WORKER, Role.DRIVER, Role.DRIVER]


def test_settings_of_an_own_class_stay() -> None:
    found = roles(f"class Settings: epochs = 3\nsettings = Settings()\n{TRAIN}print(settings.epochs)\n")
    assert list(found.values())[:2] == [Role.DEFINITION, Role.DEFINITION]


def test_an_import_in_main_goes_with_what_reads_it() -> None:
    body = f"import math\nargs = argparse.ArgumentParser(DOC).parse_args()\n{TRAIN}print(math.pi)\n"
    text = f"def main():\n    {body[:-1]}".replace("\n", "\n    ").replace("\n        ", "\n    ") + "\nmain()\n"
    assert roles(text)["import math"] is Role.WORKER
    with pytest.raises(Mixed):
        roles(text.replace("DOC", "math.e"))


@pytest.mark.parametrize("call", ["main()", "sys.exit(main())", 'if __name__ == "__main__":\n    sys.exit(main())'])
def test_the_call_of_main_may_stand_in_an_exit(call: str) -> None:
    found = roles(
        f"import sys\ndef main():\n    args = argparse.ArgumentParser().parse_args()\n    {TRAIN[:-1]}".replace(
            "\ntrainer.train", "\n    trainer.train"
        )
        + f"\n{call}\n"
    )
    assert list(found.values())[1:] == [Role.DRIVER, Role.WORKER, Role.WORKER]


def test_a_function_of_seeds_and_backends_runs_on_the_workers() -> None:
    found = roles(
        "def seed(n): random.seed(n)\ndef fast():\n    torch.backends.cuda.matmul.allow_tf32 = True\n"
        f"seed(3)\nfast()\n{TRAIN}"
    )
    assert (found["seed(3)"], found["fast()"]) == (Role.WORKER, Role.WORKER)


def test_the_body_of_main_comes_where_it_is_called() -> None:
    text = f"def main():\n    {TRAIN[:-1]}".replace("\ntrainer.train", "\n    trainer.train")
    module = Module(f'{HEAD}{text}\nfirst = load_dataset("a")\nmain()\nlast = load_dataset("b")\n')
    steps = script_of(module, training_of(module).trains).steps[4:]
    assert [step.lineno for step in steps] == [8, 6, 7, 10]


@pytest.mark.parametrize(
    ("after", "on_driver"),
    [
        ("logs = trainer.state.log_history\nplt.plot(logs)\nplt.savefig('loss.png')", False),
        ("logs = pd.DataFrame(trainer.state.log_history)\nlogs.plot()\nplt.savefig('loss.png')", False),
        ("frame = pd.read_csv('other.csv')\nframe.plot()\nplt.savefig('loss.png')", True),
        ("print(trainer.state.log_history)\nplt.plot([1])\nplt.savefig('loss.png')", True),
    ],
)
def test_a_figure_is_drawn_and_saved_in_one_process(after: str, on_driver: bool) -> None:
    script = """\
import matplotlib.pyplot as plt
import pandas as pd
from transformers import AutoModel, Trainer, TrainingArguments

trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
    text = converted(script + after + "\n", to_ray=True).text
    lines = [line for line in text.splitlines() if "plot(" in line or "savefig(" in line]
    assert len(lines) == 2
    assert {line.startswith(" ") for line in lines} == {not on_driver}


LOADERS = "def load(): return load_dataset('ag_news')\n"


@pytest.mark.parametrize(
    "rebinding",
    [
        "if os.environ.get('MOCK') == '1':\n    from mocks import mocked\n    load = mocked\n",
        "if os.environ.get('MOCK') == '1':\n    from mocks import load\n",
        "if os.getenv('MOCK'):\n    def load(): return load_dataset('csv')\n",
        "if not os.path.isdir('data'):\n    if os.getenv('MOCK'):\n        pass\n    else:\n        load = str\n",
        "try:\n    from mocks import load\nexcept ImportError:\n    pass\n",
        "if os.getenv('MOCK'):\n    load = other\n",
        "if os.getenv('MOCK'):\n    load = {'a': other}['a']\nelse:\n    KIND = 3\n",
        "try:\n    from mocks import load\n    found = True\nexcept ImportError:\n    found = False\n",
    ],
)
def test_a_choice_between_functions_stays_with_them(rebinding: str) -> None:
    other = "def other(): return load_dataset('csv')\n"
    found = roles(f"{other}{LOADERS}{rebinding}rows = load()\n{TRAIN}print(rows)\n")
    assert list(found.values())[:4] == [Role.DEFINITION] * 3 + [Role.WORKER]


@pytest.mark.parametrize("table", ["again = {'a': load}", "again = load", "again: list = [load, str]"])
def test_who_calls_a_function_by_another_name_is_a_worker(table: str) -> None:
    found = roles(f"{LOADERS}{table}\nrows = again['a']()\n{TRAIN}print(rows)\n")
    assert list(found.values())[:3] == [Role.DEFINITION, Role.DEFINITION, Role.WORKER]


@pytest.mark.parametrize(
    "choice",
    [
        "if torch.cuda.is_available():\n    load = str\n",
        "if os.getenv('MOCK'):\n    load = evaluate.load('accuracy')\n",
        "if os.getenv('MOCK'):\n    load = made\n",
        "try:\n    load = AutoModel.from_pretrained('bert')\nexcept OSError:\n    load = None\n",
        "if int(os.environ['RANK']) == 0:\n    load = str\n",
        "for load in (str, int):\n    pass\n",
    ],
)
def test_a_choice_that_rests_on_the_training_moves(choice: str) -> None:
    found = roles(f"made = AutoModel.from_pretrained('bert')\n{LOADERS}{choice}rows = load()\n{TRAIN}print(rows)\n")
    assert set(found.values()) == {Role.WORKER}


def test_a_namespace_that_the_script_fills_itself_is_no_command_line() -> None:
    """It moved nowhere, and a script that made one of what HfArgumentParser gave was refused."""
    found = roles("args = argparse.Namespace(lr=1)\nargs.out = 'out'\n" + TRAIN.replace('"out"', "args.out"))
    assert found["args = argparse.Namespace(lr=1)"] is Role.WORKER
    assert found["args.out = 'out'"] is Role.WORKER


DEVICE = """\
import torch
from transformers import AutoModel, Trainer, TrainingArguments
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
{definition}
model = AutoModel.from_pretrained("bert-base-uncased").to(device)
trainer = Trainer(model, TrainingArguments("out"))
trainer.train()
"""


@pytest.mark.parametrize("star", ["", "from utils import *\n"])
@pytest.mark.parametrize(
    ("definition", "moves"),
    [
        ("def score(text, device=device): return device", True),
        ("def score(text, *, device=device): return device", True),
        ("def score(device: device): return device", True),
        ("def score(device) -> device: return device", True),
        ("score = lambda text, device=device: device", True),
        ("class Scorer:\n    def score(self, device=device): return device", True),
        ("def score(text):\n    def inner(device=device): return device\n    return inner()", True),
        ("def score(device): return device", False),
        ("def score(text, device=None): return device", False),
        ("class Scorer:\n    device = 'cpu'\n    def score(self, device=device): return device", False),
    ],
)
def test_what_has_a_name_that_moves_in_its_head_moves(definition: str, star: str, moves: bool) -> None:
    outcome = converted(star + DEVICE.format(definition=definition), to_ray=True)
    head, _, moved = outcome.text.partition("def train_func")
    assert definition.partition("\n")[0] in (moved if moves else head)


def test_a_class_that_takes_over_a_name_that_moves_is_in_the_way() -> None:
    script = DEVICE.format(definition="class Settings:\n    device = device")
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert outcome.lines("RM802", Kind.MANUAL) == [5]
    assert "does not find it there" in outcome.messages[0]


def test_a_class_whose_body_reads_another_name_moves_with_it() -> None:
    outcome = converted(DEVICE.format(definition="class Settings:\n    where = device"), to_ray=True)
    assert "    class Settings:" in outcome.text


SHARED = [
    'import warnings; warnings.filterwarnings("ignore")\n',
    'import os; os.environ["WANDB_MODE"] = "offline"; set_seed(7)\n',
    "N = 3; torch.manual_seed(N); print(N)  # seed\n",
    'tokenizer = AutoTokenizer.from_pretrained("bert"); K = 5; rows = tokenizer(K)\n',
]


@pytest.mark.parametrize("line", SHARED)
def test_statements_that_share_a_line_get_a_line_each(line: str) -> None:
    alone = line.replace("; ", "\n")
    together, apart = converted(HEAD + line + TRAIN, to_ray=True), converted(HEAD + alone + TRAIN, to_ray=True)
    assert "TorchTrainer(" in together.text
    assert ast.dump(ast.parse(together.text)) == ast.dump(ast.parse(apart.text))


def test_a_training_that_shares_a_line_moves() -> None:
    text = converted(HEAD + TRAIN.replace("\n", "; ", 1) + "print('done')\n", to_ray=True).text
    assert text.endswith("\ntrainer.fit()\nprint('done')\n")
    assert ";" not in text


KEY = "key = transformers.HfArgumentParser(Keys).parse_args_into_dataclasses()[0].key\n"


@pytest.mark.parametrize(
    ("login", "before", "place"),
    [
        ("wandb.login()", "", Role.DRIVER),
        ('huggingface_hub.login(token=os.environ["TOKEN"])', "", Role.DRIVER),
        ("wandb.login(key=key)", KEY, Role.WORKER),
        ("huggingface_hub.login(token=key)", KEY, Role.WORKER),
        ("if key: huggingface_hub.login(token=key)", KEY, Role.WORKER),
        ("if accelerator.is_main_process: wandb.login()", "accelerator = accelerate.Accelerator()\n", Role.WORKER),
        ("if arguments.log: wandb.login()", "arguments = argparse.ArgumentParser().parse_args()\n", Role.DRIVER),
    ],
)
def test_workers_log_in_where_only_they_know_how(login: str, before: str, place: Role) -> None:
    head = "import accelerate, huggingface_hub, wandb\n"
    assert roles(f"{head}{before}{login}\n{TRAIN}")[login] is place


def test_a_step_that_parses_and_logs_in_is_on_both_sides() -> None:
    step = "if trainer.state:\n    wandb.login(key=argparse.ArgumentParser().parse_args().key)\n"
    with pytest.raises(Mixed, match="reads the command line"):
        roles(f"import wandb\n{TRAIN}{step}")


@pytest.mark.parametrize(("login", "told"), [("login()", True), ("login(token=args.hub_token)", False)])
def test_the_login_of_workers_is_not_said_to_be_the_drivers(login: str, told: bool) -> None:
    outcome = converted(
        "from huggingface_hub import login\n"
        "from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments\n"
        f"args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]\n{login}\n"
        'trainer = Trainer(AutoModel.from_pretrained("bert"), args)\ntrainer.train()\n',
        to_ray=True,
    )
    assert "TorchTrainer(" in outcome.text
    assert any("The login holds on the machine of the driver" in message for message in outcome.messages) is told


@pytest.mark.parametrize(("login", "asks"), [("login()", True), ("login(token=trainer.token)", False)])
def test_a_login_of_workers_that_asks_for_a_token_is_told(login: str, asks: bool) -> None:
    outcome = converted(
        "from huggingface_hub import login\nfrom transformers import AutoModel, Trainer, TrainingArguments\n"
        'trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))\n'
        f"if trainer.is_world_process_zero():\n    {login}\ntrainer.train()\n",
        to_ray=True,
    )
    assert "TorchTrainer(" in outcome.text
    assert any("who have no terminal" in message for message in outcome.messages) is asks


@pytest.mark.parametrize("call", ["os.environ.setdefault", "os.putenv"])
def test_which_gpus_are_seen_stays_the_choice_of_the_script(call: str) -> None:
    assert role(f'{call}("CUDA_VISIBLE_DEVICES", "0")') is Role.DRIVER


@pytest.mark.parametrize(
    "line", ["took = time.time() - 1", 'size = os.path.getsize("out")', "end = datetime.datetime.now()"]
)
def test_what_asks_for_the_time_behind_the_training_is_not_asked_before_it(line: str) -> None:
    imports = "import datetime, time\n"
    assert role(line, imports, "print(took)\n") is Role.DEFINITION
    assert roles(f"{imports}{TRAIN}{line}\n")[line] is Role.WORKER


def test_the_time_is_taken_where_a_worker_begins_to_train() -> None:
    script = f"import time\nfirst = time.time()\n{TRAIN}".replace("trainer.train", "start = time.time()\ntrainer.train")
    found = roles(f"{script}print(time.time() - start)\n")
    assert found["first = time.time()"] is Role.DEFINITION
    assert found["start = time.time()"] is found["print(time.time() - start)"] is Role.WORKER


def test_what_is_on_the_disk_is_asked_on_the_driver_before_the_training() -> None:
    found = roles(f'tokenizer = AutoTokenizer.from_pretrained("a")\nthere = os.path.exists("b")\n{TRAIN}')
    assert found['there = os.path.exists("b")'] is Role.DEFINITION


def test_code_that_is_commented_out_goes_with_what_stands_above_it() -> None:
    script = """\
    def main():
        '''Trains.'''
        args = argparse.ArgumentParser().parse_args()
        '''options = vars(args)'''
        model = AutoModel.from_pretrained("bert")
        '''model.eval()'''
        # a second one
        '''model.train()'''
        Trainer(model, TrainingArguments("out")).train()
        '''print(model)'''

    '''helpers'''
    main()
    """
    found = roles(script)
    moves = [line for line, role in found.items() if line.startswith("'''") and role.moves]
    assert moves == ["'''model.eval()'''", "'''model.train()'''", "'''print(model)'''"]


@pytest.mark.parametrize("others", ["", "from datasets import *\n", "import re\n"])
def test_a_seed_that_a_star_import_brings_in_is_set_on_the_workers(others: str) -> None:
    text = f"{others}from transformers import *\n\nset_seed(3)\n"
    outcome = converted(text + TRAIN, to_ray=True)
    assert "def train_func():\n    set_seed(3)\n" in outcome.text


def test_a_name_of_a_module_is_not_taken_from_a_star_import() -> None:
    module = Module("from transformers import *\n\nre.sub('a', 'b', 'c')\nset_seeds(1)\nset_seed(2)\n")
    assert [reference.qualified for reference in module.references] == ["transformers.set_seed"]
