"""Functions that click, hydra, fire and typer call stay on the driver; what trains moves to the workers."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert, write
from tests.rules.scripts import converted

CLICK = """\
import click
from transformers import AutoModel, Trainer, TrainingArguments


@click.command(){option}
def main({parameters}):
    trainer = Trainer(AutoModel.from_pretrained({model}), TrainingArguments("out"))
    trainer.train()


if __name__ == "__main__":
    main()
"""
HYDRA = """\
import hydra
from transformers import AutoModel, Trainer, TrainingArguments


@hydra.main({arguments})
def run({parameter}):
    {first}
    trainer = Trainer(AutoModel.from_pretrained(cfg.model), TrainingArguments("out", num_train_epochs=epochs))
    trainer.train()


{call}
"""


@pytest.mark.parametrize(
    ("option", "parameters", "model", "config"),
    [
        ("", "", '"bert"', ""),
        ('\n@click.option("--model")', "model", "model", '{"model": model}'),
        ('\n@click.argument("model")\n@click.option("--n")', "model, n", "model", '{"model": model}'),
        ('\n@click.option("--model")\n@click.option("--n")', "*, model, n", "model + n", '{"model": model, "n": n}'),
    ],
)
def test_options_of_click_go_to_the_workers(option: str, parameters: str, model: str, config: str) -> None:
    after = converted(CLICK.format(option=option, parameters=parameters, model=model), to_ray=True).text
    given = f"train_loop_config={config}" if config else "TorchTrainer(train_func, scaling_config="
    assert given in after.replace("\n        ", " ")
    assert f"@click.command(){option}\ndef main({parameters}):\n    trainer = TorchTrainer(" in after
    compile(after, "after", "exec")


@pytest.mark.parametrize(
    ("shown", "moves"),
    [
        ("click.echo(trainer.state.best_metric)", True),
        ('click.secho(f"best {trainer.state.best_metric}", bold=True)', True),
        ("from click import echo\n    echo(trainer.state.best_metric)", True),
        ("import typer\n    typer.echo(trainer.state.best_metric)", True),
        ('click.echo("done")', False),
    ],
)
def test_what_click_shows_is_no_command_line(shown: str, moves: bool) -> None:
    script = CLICK.format(option="", parameters="", model='"bert"').replace(
        "trainer.train()", f"trainer.train()\n    {shown}"
    )
    after = converted(script, to_ray=True).text
    shown = shown.rpartition("\n")[2].strip()
    assert after.index("def train_func") < after.index(shown)
    assert (after.index(shown) < after.index("@click.command")) == moves
    assert not moves or f"    if trainer.is_world_process_zero():\n        {shown}\n" in after


def test_what_click_asks_for_stays_a_command_line() -> None:
    script = CLICK.format(option="", parameters="", model='"bert"').replace(
        "trainer.train()", "trainer.train()\n    name = click.prompt('save as')\n    trainer.save_model(name)"
    )
    after = converted(script, to_ray=True).text
    assert after.index("@click.command") < after.index("name = click.prompt('save as')") < after.index("TorchTrainer(")


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ('version_base=None, config_path="conf", config_name="train"', "run()"),
        ('config_path=None, version_base="1.3"', 'if __name__ == "__main__":\n    run()'),
        ('"conf", "train", "1.2"', "run()"),
    ],
)
@pytest.mark.parametrize("parameter", ["cfg", "cfg: dict"])
@pytest.mark.parametrize("first", ["epochs = cfg.epochs", "epochs = int(3)"])
def test_the_configuration_of_hydra_goes_to_the_workers_as_a_dict(
    arguments: str, call: str, parameter: str, first: str
) -> None:
    script = HYDRA.format(arguments=arguments, call=call, parameter=parameter, first=first)
    after = converted(script, to_ray=True).text
    assert f"@hydra.main({arguments})\ndef run({parameter}):\n" in after
    assert "OmegaConf.to_container(cfg, resolve=True)" in after
    assert "    cfg = OmegaConf.create(config" in after
    assert "from omegaconf import OmegaConf" in after
    compile(after, "after", "exec")


FIRE = """\
{imports}
from transformers import AutoModel, Trainer, TrainingArguments


def train(model: str = "bert", epochs=3, *rest):
    trainer = Trainer(AutoModel.from_pretrained(model), TrainingArguments("out", num_train_epochs=epochs))
    trainer.train()
    {last}


{call}
"""
GUARDED = 'if __name__ == "__main__":\n    '


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import fire", f"{GUARDED}fire.Fire(train)"),
        ("from fire import Fire as run", f"{GUARDED}run(train)"),
        ("import fire", "fire.Fire(train)"),
        ("import typer", f"{GUARDED}typer.run(train)"),
    ],
)
@pytest.mark.parametrize("last", ["trainer.save_model('/data/best')", "return trainer.evaluate()", "return 0"])
def test_the_function_that_fire_calls_hands_over_what_it_got(imports: str, call: str, last: str) -> None:
    text = converted(FIRE.format(imports=imports, call=call, last=last), to_ray=True).text
    assert 'def train(model: str = "bert", epochs=3, *rest):\n    trainer = TorchTrainer(\n' in text
    assert 'train_loop_config={"epochs": epochs, "model": model},' in text
    assert '    model = config["model"]\n' in text
    assert text.endswith(f"\n{call}\n")
    shows = "ire" in imports and last.startswith("return trainer")  # fire prints what the function returns
    assert ("    return result.return_value\n" in text) is shows


APP = """\
import typer
from transformers import AutoModel, Trainer, TrainingArguments

app = typer.Typer(add_completion=False)


@app.command()
def train(model: str = typer.Argument("bert"), epochs: int = 3):
    trainer = Trainer(AutoModel.from_pretrained(model), TrainingArguments("out", num_train_epochs=epochs))
    trainer.train()

{more}
if __name__ == "__main__":
    app()
"""


def test_the_one_command_of_an_application_of_typer_stays_on_the_driver() -> None:
    text = converted(APP.format(more=""), to_ray=True).text
    head = (
        '@app.command()\ndef train(model: str = typer.Argument("bert"), epochs: int = 3):\n    trainer = TorchTrainer('
    )
    assert head in text and text.index("def train_func(config)") < text.index(head)
    assert 'train_loop_config={"epochs": epochs, "model": model},' in text
    assert text.endswith("    app()\n")


def test_its_other_commands_stay_as_they_are() -> None:
    more = "\n@app.command()\ndef show(model: str):\n    print(AutoModel.from_pretrained(model))\n\n"
    text = converted(APP.format(more=more), to_ray=True).text
    assert "@app.command()\ndef train(" in text and "def train_func(config)" in text
    assert more in text and text.endswith("    app()\n")


PART = APP.replace("\n    app()", "\n    root()").format(
    more='\nroot = typer.Typer()\nroot.add_typer(app, name="train")\n'
)
STARTER = APP.replace("\n    app()", "\n    main()").format(more='\ndef main():\n    """Starts it."""\n    app()\n\n')


@pytest.mark.parametrize("script", [PART, STARTER, STARTER.replace("    app()", "    sys.exit(app())")])
def test_it_may_be_part_of_another_one_or_started_by_a_function_of_its_own(script: str) -> None:
    script = script.replace("import typer", "import sys\n\nimport typer")
    text = converted(script, to_ray=True).text
    assert "@app.command()\ndef train(" in text and "def train_func(config)" in text
    assert text.endswith(script[script.index("trainer.train()") + len("trainer.train()") :].lstrip("\n"))


def test_a_function_may_start_that_of_click() -> None:
    plain = CLICK.format(option="", parameters="", model='"bert"')
    script = plain.replace('if __name__ == "__main__":\n    main()', "def cli():\n    main()\n\n\ncli()")
    text = converted(script, to_ray=True).text
    assert "@click.command()\ndef main(" in text and text.endswith("def cli():\n    main()\n\n\ncli()\n")


AGAIN = """
@app.command()
def tune():
    Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("tuned")).train()
"""


@pytest.mark.parametrize(
    "more",
    [
        "\n@app.callback()\ndef begin():\n    pass\n",
        "\n@app.command()\n@app.command('again')\ndef show():\n    pass\n",
        AGAIN,
        "\ntrain('other')\n",
        "\napp.add_typer(app)\n",
        "\nroot = typer.Typer()\nroot.add_typer(app)\nroot()\n",
        "\ndef begin():\n    print('begin')\n    app()\n\nbegin()\n",
        "\nfor _ in range(2):\n    app()\n",
    ],
)
def test_of_one_that_does_more_the_script_stays(more: str) -> None:
    outcome = converted(APP.format(more=more), to_ray=True)
    assert outcome.text == APP.format(more=more)
    assert any("RM802" in str(finding) for finding in outcome.findings)


SHARED = """\
import typer
from transformers import AutoModel, Trainer, TrainingArguments

app = typer.Typer()


def make(rate):
    return Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out", learning_rate=rate))


class Work:
    def fit(self, rate):
        make(rate).train()


def work(rate):
    Work().fit(rate)


@app.command()
def train(rate: float = 0.1):
    work(rate)


@app.command()
def other(rate: float = 0.2):
    {use}


if __name__ == "__main__":
    app()
"""


@pytest.mark.parametrize(
    ("use", "moves"),
    [("print(make(rate).evaluate())", True), ("work(rate)", False), ("Work().fit(rate)", False)],
)
def test_a_command_that_calls_what_trains_too_would_do_so_on_the_driver(use: str, moves: bool) -> None:
    outcome = converted(SHARED.format(use=use), to_ray=True)
    assert ("def train_func(config)" in outcome.text) is moves
    assert ("RM802", Kind.MANUAL) in [finding[:2] for finding in outcome.findings] or moves


ENDED = """\
import sys
import click
from other import tell
from transformers import AutoModel, Trainer, TrainingArguments


{options}def main():
    model = AutoModel.from_pretrained("bert")
    {first}
    trainer = Trainer(model, TrainingArguments("out"))
    trainer.train()
    metrics = trainer.evaluate()
    {behind}
    print(metrics)
    tell(1)
    click.echo("saved")
    {last}


{call}
print("done")
"""
LEAVES = 'if metrics["eval_loss"] > 1:\n        return 1'


@pytest.mark.parametrize(
    ("first", "behind", "last", "call", "given"),
    [
        ("pass", LEAVES, "return 0", "sys.exit(main())", True),
        ("pass", LEAVES, "return 0", "raise SystemExit(main())", True),
        ("pass", LEAVES, "return 0", "main()", False),
        ("pass", LEAVES.replace("return 1", "return"), "pass", "sys.exit(main())", False),
        ("pass", LEAVES.replace("return 1", "return 0"), "return", "exit(main())", False),
        ("if not model.config:\n        return 2", "pass", "pass", "exit(main())", True),
        ("pass", f"for _ in metrics:\n        {LEAVES}".replace("\n        r", "\n            r"), "", "main()", False),
    ],
)
@pytest.mark.parametrize("options", ["", "@click.command()\n"])
def test_nothing_behind_a_return_in_a_branch_is_left_to_the_driver(
    first: str, behind: str, last: str, call: str, given: bool, options: str
) -> None:
    script = ENDED.format(first=first, behind=behind, last=last, call=call, options=options)
    text = converted(script, to_ray=True).text
    compile(text, "after", "exec")
    workers, driver = text.split("TorchTrainer(train_func", 1)
    for line in ("print(metrics)", "    tell(1)", 'click.echo("saved")'):
        assert line in workers and line not in driver, line
    assert driver.endswith(f'\n{call}\nprint("done")\n')
    assert ("    return result.return_value\n" in driver) is given


def test_behind_a_return_of_the_driver_all_is_as_it_was() -> None:
    first = "def inner():\n        return 3"  # ends another function
    script = ENDED.format(first=first, behind="pass", last="", call="sys.exit(main())", options="")
    driver = converted(script, to_ray=True).text.split("TorchTrainer(train_func", 1)[1]
    assert "metrics = result.return_value\n    print(metrics)" in driver


def test_a_function_whose_decorators_do_more_stays() -> None:
    script = CLICK.format(option="\n@timed", parameters="", model='"bert"')
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert "click.command reads the command line" in outcome.messages[0]


FOLDERS = """\
import hydra
{imports}
from transformers import AutoModel, Trainer, TrainingArguments


@hydra.main(version_base=None, config_path="conf")
def run(cfg):
    trainer = Trainer(AutoModel.from_pretrained(cfg.model), TrainingArguments({folder}))
    trainer.train()
    {last}


if __name__ == "__main__":
    run()
"""


@pytest.mark.parametrize(
    ("imports", "folder", "after"),
    [
        ("from hydra.utils import to_absolute_path", "to_absolute_path(cfg.out)", "to_absolute_path(cfg.out)"),
        ("", "hydra.utils.to_absolute_path('out')", "hydra.utils.to_absolute_path('out')"),
        ("from hydra.utils import get_original_cwd", "get_original_cwd() + '/out'", "DIRECTORY + '/out'"),
        ("from hydra import utils", "f'{utils.get_original_cwd()}/out'", "f'{DIRECTORY}/out'"),
    ],
)
def test_workers_know_the_folder_that_hydra_was_started_in(imports: str, folder: str, after: str) -> None:
    text = converted(FOLDERS.format(imports=imports, folder=folder, last="trainer.save_model()"), to_ray=True).text
    assert "DIRECTORY = os.getcwd()\n" in text and "    os.chdir(DIRECTORY)" in text
    assert f"TrainingArguments({after}, use_cpu=True)" in " ".join(text.split()).replace("( ", "(").replace(", )", ")")
    assert "get_original_cwd" not in text
    assert "    trainer.fit()\n" in text
    compile(text, "after", "exec")


@pytest.mark.parametrize(
    ("imports", "folder", "line"),
    [
        ("from hydra.core.hydra_config import HydraConfig", "HydraConfig.get().runtime.output_dir", 8),
        ("from hydra.utils import get_original_cwd", "str(map(get_original_cwd, []))", 8),
        ("from hydra.utils import to_absolute_path as whole", "list(map(whole, [cfg.out]))[0]", 8),
    ],
)
def test_what_only_the_process_of_hydra_knows_is_named(imports: str, folder: str, line: int) -> None:
    script = FOLDERS.format(imports=imports, folder=folder, last="trainer.save_model()")
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert outcome.lines("RM802", Kind.MANUAL) == [line]
    assert "holds in the process of hydra only" in outcome.messages[0] and "${hydra:" in outcome.messages[0]


STORE = """\
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf
ConfigStore.instance().store(name="config", node=dict)
"""


@pytest.mark.parametrize(("last", "moves"), [("print(cfg)", True), ("print(OmegaConf.to_object(cfg))", False)])
def test_a_structured_configuration_goes_over_as_its_values(last: str, moves: bool) -> None:
    outcome = converted(FOLDERS.format(imports=STORE, folder="'/out'", last=last), to_ray=True)
    assert ("OmegaConf.to_container(cfg, resolve=True)" in outcome.text) is moves
    assert any("workers get a configuration without them" in message for message in outcome.messages) is not moves


HELPER = """\
import hydra, click
from contextlib import suppress
from hydra.core.hydra_config import HydraConfig
def log_folder():
    return folder()
def folder():
    return HydraConfig.get().runtime.output_dir
def given():
    return hydra.utils.to_absolute_path("out")
def asks():
    if HydraConfig.initialized():
        return folder.__name__, HydraConfig.get()
def leaves():
    if not HydraConfig.initialized():
        return "."
    return HydraConfig.get()
def either():
    return HydraConfig.get() if HydraConfig.initialized() else "."
def catches():
    try:
        return HydraConfig.get()
    except (KeyError, ValueError):
        return "."
def goes_on():
    with suppress(ValueError):
        return HydraConfig.get()
def silent():
    return click.get_current_context(silent=True)
class Writer:
    def folder(self):
        return HydraConfig.get()
"""
QUIET = ("given", "asks", "leaves", "either", "catches", "goes_on", "silent", "Writer", "len")


@pytest.mark.parametrize(("name", "told"), [("log_folder", True), ("folder", True), *((name, False) for name in QUIET)])
def test_what_another_file_asks_hydra_is_told_where_workers_call_it(name: str, told: bool, tmp_path: Path) -> None:
    imports = f"from helper import {name}" if name != "len" else "import helper"
    script = FOLDERS.format(imports=imports, folder="'/out'", last=f"print(trainer, {name}(cfg))")
    write(tmp_path, {"helper.py": HELPER, "train.py": script.replace("(cfg))", "())")})
    summary = convert(tmp_path, job=Job(Options(to_ray=True)))
    assert "TorchTrainer(" in (tmp_path / "train.py").read_text()
    found = [finding.message for finding in summary.findings if "holds in the process of hydra" in str(finding)]
    assert [("helper.py:7 calls hydra.core" in message) for message in found] == [True] * told


@pytest.mark.parametrize(
    ("last", "given"),
    [
        ("return trainer.evaluate()['eval_loss']", True),
        ("metrics = trainer.evaluate()\n    return metrics['eval_loss']", True),
        ("if cfg.out:\n        return 1.0\n    else:\n        return trainer.evaluate()['eval_loss']", True),
        ("return None", False),
        ("return", False),
        ("print(trainer.evaluate())", False),
    ],
)
def test_what_the_function_gives_hydra_is_given_by_the_driver(last: str, given: bool) -> None:
    outcome = converted(FOLDERS.format(imports="", folder="'/data/out'", last=last), to_ray=True)
    text = outcome.text
    assert any("which Ray has from 2.56 on" in message for message in outcome.messages) is (given or "print" in last)
    assert ("    result = trainer.fit()\n    return result.return_value\n" in text) is given
    assert text.count("return result") == given
    compile(text, "after", "exec")
