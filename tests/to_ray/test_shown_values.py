"""What a notebook shows at the ends of its cells, and what becomes of it in a training function."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """\
import math
import matplotlib.pyplot as plt
import pandas as pd
from transformers import AutoModel, Trainer, TrainingArguments
"""
TRAIN = """\
model = AutoModel.from_pretrained("bert-base-uncased")
ds = model.rows()
trainer = Trainer(model, TrainingArguments("out"))
trainer.train()
"""
GONE = "Not shown any more"


def notebook(*cells: str, before: str = "") -> Outcome:
    """Converts cells; the first holds the imports, and one trains before those that are given."""
    parts = [HEAD, *([f"{before}\n"] if before else []), TRAIN, *(f"{cell}\n" for cell in cells)]
    return converted("".join(f"{part}_cell_{number}__\n" for number, part in enumerate(parts)), to_ray=True)


def driver(outcome: Outcome) -> list[str]:
    """What runs behind the training, on the driver."""
    lines = outcome.text.partition(".fit()\n")[2].splitlines()
    return [line for line in lines if "_cell_" not in line]


def told(outcome: Outcome) -> list[tuple[Kind, str]]:
    found = [
        (kind, text) for (_, kind, _), text in zip(outcome.findings, outcome.messages, strict=True) if GONE in text
    ]
    return [(kind, text.partition(": ")[2].partition(". ")[0]) for kind, text in found]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["trainer.evaluate()"], ["result.return_value"]),
        (["trainer.evaluate()['eval_loss']"], ["result.return_value['eval_loss']"]),
        (["m = trainer.evaluate()\nm"], ["m = result.return_value", "m"]),
        (
            ["m = trainer.evaluate()", "math.exp(m['eval_loss'])"],
            ["m = result.return_value", "math.exp(m['eval_loss'])"],
        ),
        (["pd.DataFrame(trainer.state.log_history)"], ["pd.DataFrame(result.return_value)"]),
        (["trainer.predict(ds).metrics"], ["result.return_value"]),
        (["pred = trainer.predict(ds)\npred.metrics"], ["result.return_value"]),
        (["display(trainer.evaluate())"], ["display(result.return_value)"]),
        (
            ["trainer.evaluate()", "trainer.state.log_history"],
            ['display(result.return_value["metrics"])', 'result.return_value["metrics_2"]'],
        ),
        (["trainer.evaluate()", "print(3)"], ["result.return_value", "print(3)"]),
        (["trainer.evaluate()\n_cell_9__\nmodel.eval()\nx = 2\nx"], ["display(result.return_value)", "x = 2", "x"]),
    ],
)
def test_what_the_driver_has_all_for_is_shown_there(cells: list[str], shown: list[str]) -> None:
    outcome = notebook(*cells)
    assert [name.replace("evaluation", "metrics") for name in driver(outcome)] == shown
    assert told(outcome) == []


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        ("trainer.predict(ds)", "`trainer.predict(ds)`"),
        ("pred = trainer.predict(ds)\npred.predictions", "`pred.predictions`"),
        ("model.predict(ds)", "`model.predict(ds)`"),
        ("def topic(x):\n    return model(x)\ntopic(1)", "`topic(1)`"),
        ("plt.plot(trainer.state.log_history)\nplt.show()", "`plt.show()`"),
        ("frame = pd.DataFrame(model.rows())\nframe.plot()", "`frame.plot()`"),
        ("frame = pd.DataFrame(model.rows())\nframe.head()", "`frame.head()`"),
        ("display(model)", "`display(model)`"),
        ("trainer.model", "`trainer.model`"),
    ],
)
def test_what_it_has_not_is_told_once(cell: str, named: str) -> None:
    outcome = notebook(cell, "model.config")
    assert told(outcome) == [(Kind.MANUAL, f"{named}, `model.config`")]


@pytest.mark.parametrize(
    "cell",
    [
        "model.eval()",
        "model.to('cpu')",
        "trainer.save_model('/m')",
        "trainer.push_to_hub()",
        "model.config;",
        "model.config\nx = model.rows()",
        "def show(x):\n    print(model(x))\nshow(1)",
        "print(model.config)",
        "x = trainer.predict(ds)",
        "'a text'",
        "classifier('What a film!')",
    ],
)
def test_what_shows_nothing_or_is_printed_is_no_finding(cell: str) -> None:
    assert told(notebook(cell)) == []


def test_what_comes_before_the_training_is_a_note() -> None:
    outcome = notebook(before="data = AutoModel.from_pretrained('b')\ndata[0]\n_cell_8__\ndata")
    assert told(outcome) == [(Kind.NOTE, "`data[0]`, `data`")]


def test_workers_get_what_only_a_notebook_has() -> None:
    head = "def train_func():\n    "
    assert f"{head}display = print  # a worker has none\n" in notebook("display(model)").text
    assert f"{head}from IPython.display import display\n" in notebook("display(model, raw=True)").text
    assert f"{head}model = " in notebook("model.display(3)").text
    assert f"{head}model = " in notebook("display(3)").text
    shows = "def show(data):\n    display(AutoModel.from_pretrained(data))\nshow(ds)"
    assert "from IPython.display import display\n" in notebook(shows).text


def test_values_in_a_log_are_no_result_of_a_cell() -> None:
    outcome = notebook("import wandb\nwandb.log(trainer.evaluate())")
    assert driver(outcome) == []


def test_a_figure_of_a_script_is_told_too_and_its_bare_expressions_are_not() -> None:
    outcome = converted(f"{HEAD}{TRAIN}plt.plot(model.rows())\nplt.show()\nmodel.config\n", to_ray=True)
    assert told(outcome) == [(Kind.MANUAL, "`plt.show()`")]


ACCELERATED = """\
from accelerate import Accelerator
_cell_1__
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(*make())
model
_cell_2__
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
    print(epoch)
_cell_3__
model.weights
"""


def test_an_accelerate_notebook_is_told_the_same() -> None:
    assert told(converted(ACCELERATED, to_ray=True)) == [(Kind.NOTE, "`model`"), (Kind.MANUAL, "`model.weights`")]


INTERRUPTED = """\
from transformers import AutoModel, Trainer, TrainingArguments

trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
try:
    {tried}
except {caught}:
    print("stopped")
"""


@pytest.mark.parametrize(
    ("tried", "caught", "told"),
    [
        ("trainer.train()", "KeyboardInterrupt", True),
        ("trainer.train()", "(KeyboardInterrupt, EOFError)", True),
        ("trainer.train()", "ValueError", False),
        (
            "trainer.state\nexcept OSError:\n    pass\ntrainer.train()\ntry:\n    trainer.args",
            "KeyboardInterrupt",
            False,
        ),
    ],
)
def test_that_nobody_stops_a_training_and_goes_on_is_told(tried: str, caught: str, told: bool) -> None:
    outcome = converted(INTERRUPTED.format(tried=tried, caught=caught), to_ray=True)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert any("Ctrl-C reaches the driver now" in message for message in outcome.messages) is told


def test_a_figure_of_each_fold_is_not_shown_any_more() -> None:
    script = "import matplotlib.pyplot as plt\n" + INTERRUPTED.partition("try")[0].replace(
        "\n\ntrainer", "\n\nfor n in (1, 2):\n    trainer"
    )
    outcome = converted(f"{script}    trainer.train()\n    plt.show()\n", to_ray=True)
    assert any("Not shown any more" in message and "savefig" in message for message in outcome.messages)
