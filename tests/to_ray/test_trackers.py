"""What becomes of the runs of trackers that a plain script starts: the first worker alone keeps one."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.codemods.to_ray.trackers import is_for_one_process
from raymigrate.facts.syntax.module import Module
from tests.rules.scripts import Outcome, converted
from tests.to_ray.test_plain_trainer import HEAD, MAKE, TRAIN

FIRST = "ray.train.get_context().get_world_rank() == 0"
WITHOUT = 'if ray.train.get_context().get_world_rank() > 0:\n        wandb.init(mode="disabled")\n'


def moved(before: str = "", behind: str = "", head: str = "import wandb\n", train: str = TRAIN) -> Outcome:
    outcome = converted(f"{HEAD}{head}{before}{train}{behind}", to_ray=True)
    assert "trainer = TorchTrainer(" in outcome.text, outcome.messages
    return outcome


@pytest.mark.parametrize(
    ("start", "started"),
    [
        ('wandb.init(project="p")\n', f'wandb.init(project="p", mode=None if {FIRST} else "disabled")'),
        ('run = wandb.init("p")\n', f'run = wandb.init("p", mode=None if {FIRST} else "disabled")'),
        ('wandb.init(mode="offline")\n', f'wandb.init(mode="offline" if {FIRST} else "disabled")'),
        (
            'wandb.init(mode="online" if os.getcwd() else "offline")\n',
            f'mode=("online" if os.getcwd() else "offline") if {FIRST} else "disabled"',
        ),
        ('wandb.init(**{"project": "p"})\n', f'mode=None if {FIRST} else "disabled"'),
        ("wandb.init(**dict(os.environ))\n", f'(dict(os.environ) if {FIRST} else {{**dict(os.environ), "mode": "disa'),
        ("if os.getcwd():\n    wandb.init()\n", f'wandb.init(mode=None if {FIRST} else "disabled")'),
        ("def start(**settings):\n    wandb.init(**settings)\n\n\nstart(name='a')\n", f"(settings if {FIRST} else {{"),
    ],
)
def test_a_run_of_wandb_is_disabled_on_all_workers_but_the_first(start: str, started: str) -> None:
    outcome = moved(start, "wandb.config.update({'a': 1})\nwandb.log({'a': 1})\nwandb.finish()\n")
    assert started in outcome.text
    assert "now all but the first's are disabled" in " ".join(outcome.messages)
    assert "    wandb.config.update({'a': 1})\n    wandb.log({'a': 1})\n    wandb.finish()\n" in outcome.text
    assert "is_world_process_zero" not in outcome.text


def test_a_run_around_the_training_is_disabled_too() -> None:
    train = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    text = moved("with wandb.init() as run:\n", train=train).text
    assert f'with wandb.init(mode=None if {FIRST} else "disabled") as run:\n' in text


def test_what_is_read_of_the_run_moves_with_it() -> None:
    text = moved("wandb.init()\nconfig = wandb.config\n", train=TRAIN.replace('"out"', "config.out")).text
    assert "\n    config = wandb.config\n" in text


@pytest.mark.parametrize(
    "use",
    [
        "def score(p):\n    wandb.log({'rows': 1})\n    return {}\n\n\n",
        "class Own(WandbCallback):\n    def on_log(self, *args, **kwargs):\n        self._wandb.log({'a': 1})\n\n\n",
        "def score(p):\n    wandb.config.rows = 1\n    return {}\n\n\n",
        "if trainer.is_world_process_zero():\n    wandb.init()\nwandb.run.summary['a'] = 1\n",
    ],
)
def test_workers_without_a_run_of_wandb_get_one_that_is_disabled(use: str) -> None:
    head = "import wandb\nfrom transformers.integrations import WandbCallback\n"
    outcome = moved(head=head, train=f"{MAKE}{use}trainer.train()\n")
    assert f"def train_func():\n    {WITHOUT}" in outcome.text
    assert any("Only the first worker has a run of wandb" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        "wandb.login()\n",
        "wandb.finish()\n",
        "if wandb.run is not None:\n    wandb.log({'a': 1})\n",
        "if trainer.is_world_process_zero():\n    wandb.log({'a': 1})\n",
        "print(wandb.Table(columns=['a']))\n",
        "os.environ['WANDB_PROJECT'] = 'a'\n",
    ],
)
def test_what_needs_no_run_of_wandb_starts_none(use: str) -> None:
    outcome = moved(behind=use)
    assert "wandb.init" not in outcome.text
    assert not any("wandb" in message for message in outcome.messages if "RM807" in message)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("folder = wandb.use_artifact('a:latest').download()\n", "use_artifact() has nothing to give"),
        ("folder = run.use_model('a')\n", "use_model() has nothing to give"),
        ("folder = f'out/{wandb.run.id}'\n", "`wandb.run.id` differs between the processes"),
        ("run_name = run.name\n", "`run.name` differs between the processes"),  # of which a folder may be made
        ("folder = run.dir\n", "`run.dir` differs between the processes"),
        ("wandb.agent('sweep', print)\n", "asks the sweep too"),
    ],
)
def test_what_a_disabled_run_has_not_is_told(use: str, words: str) -> None:
    assert any(words in message for message in moved(f"run = wandb.init()\n{use}").messages)


@pytest.mark.parametrize(
    "use",
    [
        "print(wandb.run.name)\n",
        "wandb.log({'a': wandb.run.id})\n",
        "wandb.use_artifact('a:latest')\n",
        "run.name = 'a'\n",
        "other = TrainingArguments('out', run_name=run.name)\n",
        "other = TrainingArguments('out', run_name=f'{wandb.run.name}-a')\n",
        "other = TrainingArguments('out')\nother.run_name = run.name\n",
        "class Run:\n    id = 1\n\n\nother = Run()\nprint(other.id)\n",
    ],
)
def test_what_a_disabled_run_does_without_is_not_told(use: str) -> None:
    messages = moved(f"run = wandb.init()\n{use}").messages
    assert not any("another one" in message or "nothing to give" in message for message in messages)


def test_a_function_of_the_module_that_a_disabled_run_does_not_put_there_is_taken_from_the_run() -> None:
    text = moved("wandb.init()\n", "wandb.log_model('out', name='a')\nwandb.log_artifact('out')\n").text
    assert "wandb.run.log_model('out', name='a')" in text
    assert "wandb.log_artifact('out')" in text


@pytest.mark.parametrize(("mode", "told"), [("", True), ('mode="disabled"', False)])
def test_a_run_of_wandb_that_another_file_starts_is_told(tmp_path: Path, mode: str, told: bool) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "tracking.py").write_text(f"import wandb\n\n\ndef start():\n    wandb.init({mode})\n")
    script = f"{HEAD}from tracking import start\nfrom transformers import set_seed\nset_seed(1)\nstart()\n{TRAIN}"
    (tmp_path / "train.py").write_text(script)
    shown = CliRunner().invoke(main, ["--to-ray", "--isolated", str(tmp_path)]).output
    text = (tmp_path / "train.py").read_text()
    assert "trainer = TorchTrainer(" in text
    assert ("RM807 manual: wandb.init() in " in shown) is told
    assert ("\n    start()\n" in text) is told


MAIN = "def is_main():\n    return {}\n"
RANK = "def rank_of():\n    return torch.distributed.get_rank()\n"


@pytest.mark.parametrize(
    ("head", "test", "told"),
    [
        (MAIN.format("torch.distributed.get_rank() == 0"), "is_main()", False),
        (
            MAIN.format("not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0"),
            "is_main()",
            False,
        ),
        (RANK + MAIN.format("rank_of() == 0"), "is_main()", False),
        (MAIN.format('int(os.environ.get("RANK", 0)) == 0'), "is_main()", False),
        ("first = torch.distributed.get_rank() == 0\n", "first", False),
        (MAIN.format("len(sys.argv) == 2"), "is_main()", True),
        (MAIN.format("best(torch.distributed.get_rank())"), "is_main()", True),
        ("score = best(torch.distributed.get_rank())\n", "score > 1", True),
        ("", "is_main()", True),
    ],
)
def test_functions_and_names_that_ask_for_the_rank(head: str, test: str, told: bool) -> None:
    use = "SummaryWriter().add_scalar('a', trainer.state.epoch)"
    text = f"import os, sys, torch\nfrom torch.utils.tensorboard import SummaryWriter\n{head}"
    outcome = moved(head=text, train=f"{MAKE}trainer.train()\nif {test}:\n    {use}\n")
    assert any("each starts a run of its own" in message for message in outcome.messages) is told


# Which `should_save` asks for the process, before a statement that only the first one may run.
SAVES = {
    "trainer.args.should_save": True,
    "args.should_save": True,
    "args.should_save and args.do_train": True,
    "control.should_save": False,
    "should_save(force=True)": False,
    "jobs.should_save(3)": False,
    "should_save": False,
    "kept.should_save": False,
}


@pytest.mark.parametrize(("test", "is_guard"), SAVES.items(), ids=SAVES)
def test_only_the_training_arguments_know_whether_this_process_saves(test: str, is_guard: bool) -> None:
    text = "import jobs\nclass Kept: pass\nkept = Kept()\nkept.should_save = jobs.due\nshould_save = jobs.due\n"
    module = Module(f"{text}if {test}:\n    print('saved')\n")
    assert is_for_one_process(module, module.of_type(ast.Call)[-1]) is is_guard


@pytest.mark.parametrize(
    ("imports", "start"),
    [
        ("from clearml import Task", 'Task.init(project_name="p", task_name="t")'),
        ("import clearml", 'clearml.Task.init(project_name="p")'),
        ("from aim import Run", 'Run(experiment="e")'),
        ("from dvclive import Live", "Live()"),
    ],
)
def test_other_trackers_are_told(imports: str, start: str) -> None:
    use = f"run = {start}\n{{}}run.note(trainer.state.epoch)\n"
    outcome = moved(head=f"{imports}\n", train=f"{MAKE}trainer.train()\n{use.format('')}")
    assert any("each starts a run of its own" in message for message in outcome.messages)
    guarded = f"if trainer.is_world_process_zero():\n    {use.format('    ')}"
    outcome = moved(head=f"{imports}\n", train=f"{MAKE}trainer.train()\n{guarded}")
    assert not any("each starts a run of its own" in message for message in outcome.messages)
