"""RM756: torch.load of files that hold more than tensors."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

SCRIPT = """
import os
from pathlib import Path
import torch
from ray.air import session
from other import folder, job

print(session.get_checkpoint())
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "args = torch.load(os.path.join(folder, 'training_args.bin'))",
        "args = torch.load(f'{folder}/training_args.bin')",
        "args = torch.load(Path(folder) / 'training_args.bin')",
        "args = torch.load(folder + '/training_args.bin', **{'map_location': 'cpu'})",
        "where = dict(map_location='cpu')\nargs = torch.load(folder + '/training_args.bin', **where)",
        "where = {}\nwhere['map_location'] = 'cpu'\nargs = torch.load(folder + '/training_args.bin', **where)",
        "NAME = 'training_args.bin'\nargs = torch.load(os.path.join(folder, NAME))",
        "state = torch.load(folder + '/rng_state_0.pth')",
        "model = torch.load(folder)\nmodel.eval()",
        "model = torch.load(folder)\nout = model(job.batch)",
        "model = torch.load(folder).to('cuda')\nwith torch.no_grad():\n    out = model(job.batch)",
        "model = torch.load(folder, map_location='cpu')\nmodel = model.cuda()\nmodel(**job.batch)",
        "class A:\n    def __init__(self):\n        self.net = torch.load(folder)\n\n"
        "    def __call__(self, batch):\n        return self.net(batch)",
        "torch.load(folder)(job.batch)",
        "model = torch.load(folder) if folder else job.model\nmodel(job.batch)",
        "torch.load(folder).to('cpu').eval()",
        "def run():\n    model = torch.load(folder, map_location='cpu')\n    return model.state_dict()",
    ],
)
def test_a_pickled_object_is_loaded_as_it_was(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert outcome.text.count("weights_only=False") == 1
    assert outcome.lines("RM756", Kind.CONVERTED)


@pytest.mark.parametrize(
    "use",
    [
        "state = torch.load(os.path.join(folder, 'optimizer.pt'))",
        "state = torch.load(os.path.join(folder, 'training_args.bin'), weights_only=True)",
        "state = torch.load(os.path.join(folder, 'training_args.bin'), **job.options)",
        "state = torch.load(folder + '/training_args.bin', **{'weights_only': False})",
        "job.model.load_state_dict(torch.load(folder))\njob.model.eval()",
        "model = job.Net()\nmodel.load_state_dict(torch.load(folder))\nmodel(job.batch)",
        "state = torch.load(folder)\njob.model.load_state_dict(state['model'])\nprint(state.get('a'), job.model(1))",
        "tensor = torch.load(folder).to('cpu')\njob.model(tensor)",
        "args = job.load(os.path.join(folder, 'training_args.bin'))",
    ],
)
def test_other_files_are_loaded_as_they_are(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert use in outcome.text and not outcome.lines("RM756", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("given", "is_told"),
    [("**job.options", True), ("**{**job.options}", True), ("**{'weights_only': False}", False), ("**{}", False)],
)
def test_what_may_say_it_is_told(given: str, is_told: bool) -> None:
    outcome = converted(SCRIPT.format(use=f"args = torch.load(folder + '/training_args.bin', {given})"))
    assert bool(outcome.lines("RM756", Kind.MANUAL)) is is_told


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        ("np.concatenate(job.rows)", True),
        ("np.mean(job.rows)", True),
        ("job.tensor.cpu().numpy()", True),
        ("evaluated()", True),
        ("np.ones(3).mean()", True),
        ("[np.mean(job.rows)]", True),
        ("[np.mean(job.rows), 0.5].index(0.5)", False),
        ("np.array2string(np.ones(3)).strip()", False),
        ("{'f1': 0.5, 'all': evaluated().max(axis=0)}", True),
        ("np.ones(3).mean().item()", False),
        ("[float(np.mean(job.rows)), 0.5]", False),
        ("float(np.mean(job.rows))", False),
        ("np.concatenate(job.rows).tolist()", False),
        ("np.ndim(job.rows)", False),
        ("job.score", False),
    ],
)
def test_what_a_script_saves_of_numpy_is_loaded_again(value: str, is_refused: bool) -> None:
    define = "import numpy as np\n\ndef evaluated():\n    return np.vstack(job.rows)\n\n"
    save = f"score = {value}\ntorch.save({{'model': job.model.state_dict(), 'score': score}}, f'{{folder}}/best.pt')\n"
    load = "print(torch.load(f'{folder}/best.pt', 'cpu')['score'])"
    outcome = converted(SCRIPT.format(use=f"{define}{save}{load}"))
    assert ("weights_only=False" in outcome.text) is is_refused
    whole = "torch.save({'model': job.model.state_dict(), 'score': score}"
    named = save.replace(whole, "state = dict(score=score)\ntorch.save(state")
    assert ("weights_only=False" in converted(SCRIPT.format(use=f"{define}{named}{load}")).text) is is_refused
    assert "weights_only" not in converted(SCRIPT.format(use=f"{define}{save}torch.load(folder)['score']")).text


OWN = """\
from dataclasses import dataclass
from typing import TypedDict

@dataclass
class Row:
    text: str

class Plain(TypedDict):
    text: str

def read(lines):
    rows = []
    for line in lines:
        rows.append(Row(line))
    return rows

one = Row('a')
"""


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        ("Row('a')", True),
        ("[Row(line) for line in job.lines]", True),
        ("read(job.lines)", True),
        ("{'rows': read(job.lines), 'epoch': 1}", True),
        ("{line: Row(line) for line in job.lines}", True),
        ("{'rows': [one, one]}", True),
        ("Plain(text='a')", False),
        ("[row.text for row in read(job.lines)]", False),
        ("job.rows", False),
        ("len(read(job.lines))", False),
    ],
)
def test_what_a_script_saves_of_its_own_classes_is_loaded_again(value: str, is_refused: bool) -> None:
    use = f"rows = {value}\ntorch.save(rows, folder)\nprint(torch.load(folder, map_location='cpu'))"
    outcome = converted(SCRIPT.format(use=OWN + use))
    assert ("weights_only=False" in outcome.text) is is_refused
    assert bool(outcome.lines("RM756", Kind.CONVERTED)) is is_refused


FUNCTIONS = """\
def keep(path):
    torch.save(Row('a'), path)

def rows_in(path):
    return torch.load(f=path)

keep("rows.pt")
"""


@pytest.mark.parametrize(("loaded", "is_own"), [("rows.pt", True), ("downloaded.pt", False)])
def test_a_parameter_of_the_same_name_is_no_path_of_another_function(loaded: str, is_own: bool) -> None:
    text = converted(SCRIPT.format(use=f"{OWN}{FUNCTIONS}print(rows_in('{loaded}'))")).text
    assert ("torch.load(f=path, weights_only=False)" in text) is is_own


def test_a_loop_that_gets_an_accelerator_loads_its_arrays_too() -> None:
    behind = "import numpy as np\ntorch.save({'rows': np.ones(3)}, 'a.pt')\nprint(torch.load('a.pt')['rows'])\n"
    assert "torch.load('a.pt', weights_only=False)" in accelerated(LOOP, behind).text
    assert "weights_only" not in converted(f"{HEAD}{LOOP}{behind}").text


def test_a_dict_that_holds_itself_is_followed_once() -> None:
    code = "import numpy as np\nheld = {}\n" + "".join(f"held['{key}'] = held\n" for key in "abcd")
    code += "torch.save({'held': held, 'rows': [held, held]}, 'a.pt')\nprint(torch.load('a.pt'))\n"
    assert code in converted(SCRIPT.replace("{use}", code)).text


def test_an_array_that_a_loop_copies_is_one() -> None:
    code = "import numpy as np\nrows = np.ones(3)\nfor number in range(3):\n    rows = rows.copy()\n"
    code += "torch.save(dict(rows=rows), 'a.pt')\nprint(torch.load('a.pt'))\n"
    assert "torch.load('a.pt', weights_only=False)" in converted(SCRIPT.replace("{use}", code)).text
