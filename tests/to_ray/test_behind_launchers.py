"""RM826: what stands behind notebook_launcher runs once behind fit(), or it is told that each worker runs it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import torch
from accelerate import Accelerator, {launcher} as launch
from torch import nn
from torch.utils.data import DataLoader
model = nn.Linear(4, 2)
history = []
def make():
    return nn.Linear(4, 2)
def train(epochs):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters())
    net, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows()))
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
    history.append(1)
    accelerator.save(accelerator.unwrap_model(net).state_dict(), "model.pt")
"""
LAUNCH = "launch(train, (2,), num_processes=2)"
SAVED = 'fresh = make()\nfresh.load_state_dict(torch.load("model.pt"))\nprint(fresh(torch.randn(1, 4)))\n'
READS = "with torch.no_grad():\n    out = model(torch.randn(2, 4))\nprint(out)\n"


def run(behind: str, launch: str = LAUNCH, launcher: str = "notebook_launcher") -> tuple[str, list[str]]:
    """The script that comes of a launch and what stands behind it, and what is told of that."""
    outcome = converted(f"{HEAD.format(launcher=launcher)}{launch}\n{behind}", to_ray=True)
    assert "TorchTrainer(" in outcome.text
    told = [
        message
        for (code, kind, _), message in zip(outcome.findings, outcome.messages, strict=True)
        if (code, kind) == ("RM826", Kind.MANUAL)
    ]
    return outcome.text, told


def test_what_reads_nothing_of_the_workers_runs_behind_fit() -> None:
    code, told = run(SAVED)
    assert not told
    assert code.index("trainer.fit()") < code.index("fresh = make()") < code.index("print(fresh(")


def test_what_is_told_comes_before_what_the_driver_runs() -> None:
    code, told = run(READS + SAVED)
    assert len(told) == 1
    assert code.index("    out = model(") < code.index("trainer.fit()") < code.index("fresh = make()")


@pytest.mark.parametrize(
    ("behind", "shown"),
    [
        (READS, "`with torch.no_grad(): out = model("),
        ("print(history)\n", "`print(history)`: after"),
        ("def use():\n    return model.eval()\nuse()\n", "`use()`: after"),
        ("import json\nalias = model\nalias.eval()\n", "`alias = model`, `alias.eval()`: after"),
    ],
)
@pytest.mark.parametrize("launcher", ["notebook_launcher", "debug_launcher"])
def test_what_each_worker_runs_is_told(behind: str, shown: str, launcher: str) -> None:
    _, told = run(behind, launcher=launcher)
    assert [message.startswith(shown) for message in told] == [True]
    assert "each worker runs it" in told[0]
    assert "copies of the notebook's objects" in told[0]


@pytest.mark.parametrize("launch", ["launch(train, (2,), num_processes=1)", "launch(train, (2,))"])
def test_one_worker_runs_it_as_the_notebook_did(launch: str) -> None:
    assert run(READS, launch)[1] == []


def test_a_launch_in_main() -> None:
    launch = (
        f"def main():\n    launch(train, (2,), num_processes=2)\n    {SAVED.replace(chr(10), chr(10) + '    ')}\nmain()"
    )
    code, told = run("", launch)
    assert not told
    assert code.index("trainer.fit()") < code.index("fresh = make()")


def test_nothing_behind_the_launcher() -> None:
    assert run("")[1] == []
    assert run("def use():\n    return model.eval()\n")[1] == []


FRAMES = """\
import numpy as np
import pandas as pd
from torch.utils.data import Dataset
{above}
class Rows(Dataset):
    def __init__(self, frame):
        {init}
def train():
    accelerator = Accelerator()
    net, loader = accelerator.prepare(make(), DataLoader(Rows(valid)))
    for batch in loader:
        accelerator.backward(net(batch).mean())
launch(train, num_processes={processes})
"""
READ = 'df = pd.read_csv("train.csv")\nvalid = df[df.fold == 0].reset_index()'
SHOWN = 'valid["pred"] = np.load("preds.npy")\nvalid.to_csv("oof.csv")\nprint(df.head())\n'


def stays(above: str, behind: str = SHOWN, processes: int = 2, init: str = "self.frame = frame") -> list[bool]:
    """Whether what makes data frames stays above the training function, and what shows them is told or behind it."""
    code, told = run(behind, FRAMES.format(above=above, init=init, processes=processes))
    is_above = code.index("valid = df[") < code.index("def train_func")
    return [is_above, bool(told), code.rindex("print(") > code.index(".fit()")]


@pytest.mark.parametrize(
    "above",
    [
        READ,
        f'{READ}\nvalid["label"] = valid["target"].map({{"a": 0}}).astype(int)\nvalid.drop(columns="x", inplace=True)',
        f"{READ}\nfor number, column in enumerate(df.columns):\n    df.loc[:, column] = number",
        f"{READ}\nnet = make()\nvalid['size'] = valid.text.apply(lambda text: len(text))",
        f"SEED = 1\n{READ}\nvalid = valid.sample(frac=1, random_state=SEED)\ntable = net = make()",
        f"from sklearn.model_selection import train_test_split\n{READ}\n"
        "df, valid = train_test_split(df, random_state=1)",
        'df = spark.table("x").toPandas()\nvalid = df[df.fold == 0]\ndisplay(df)\nnet = make()\nvalid["x"] = 0',
        f"{READ}\nimport seaborn\nseaborn.countplot(valid)\nvalid.head()",
    ],
)
def test_frames_that_the_notebook_reads_again_stay_there(above: str) -> None:
    assert stays(above) == [True, False, True]


@pytest.mark.parametrize(
    ("above", "changes"),
    [
        (READ, {"processes": 1}),
        (READ, {"behind": "print(1)\n"}),
        (READ, {"behind": f"valid = valid.copy()\n{SHOWN}"}),
        (f"{READ}\nvalid['size'] = valid.text.map(make())", {}),
        (f"{READ}\nfirst = DataLoader(Rows(valid))\nvalid = df[df.fold == 1].copy()", {}),
        (f"{READ}\ndef now():\n    return Rows(valid)\nfirst = DataLoader(now())\nvalid['x'] = 1", {}),
        (f"{READ}\nvalid = valid.sample(frac=1)", {}),
        (f"{READ}\nvalid = (row for row in valid.values)", {}),
        (READ.replace(")", ", chunksize=9)", 1), {}),
        (f"{READ}\nrows = []\nrows.append(make())\nvalid['size'] = len(rows)", {}),
        (f"def clean(frame):\n    frame['x'] = 1\n{READ}\nnet = make()\nclean(valid)", {}),
        (f"from own import clean\n{READ}\nnet = make()\nclean(valid)", {}),
        (f"{READ}\nkept = Rows(valid)", {"init": "frame['x'] = 1"}),
    ],
)
def test_frames_that_the_workers_have_a_hand_in_are_theirs(above: str, changes: dict[str, object]) -> None:
    assert not stays(above, **changes)[0]  # type: ignore[arg-type]
