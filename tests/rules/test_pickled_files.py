"""RM756: torch.load of files that hold more than tensors."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

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
