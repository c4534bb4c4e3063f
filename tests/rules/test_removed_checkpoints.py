"""RM311: the folder of a checkpoint that one worker removes while another one may still copy it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
import shutil
import tempfile
import uuid

import torch
from accelerate import Accelerator
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    for epoch in range(3):
{body}


AccelerateTrainer(loop, scaling_config=ScalingConfig(num_workers={workers}, use_gpu=True)).fit()
"""
SAVE = "accelerator.save_state(folder)"
BY_MAIN = "if accelerator.is_main_process:\n    shutil.rmtree(folder)"
REPORT = 'session.report({"epoch": epoch}, checkpoint=Checkpoint.from_directory(folder))'
BY_RANK = """checkpoint = None
if session.get_world_rank() == 0:
    torch.save(model.state_dict(), "out/model.pt")
    checkpoint = Checkpoint.from_directory("out")
session.report({"epoch": epoch}, checkpoint=checkpoint)
"""
EVERY_SECOND = f"""folder = "out"
if epoch % 2:
    if session.get_world_rank() == 0:
        shutil.rmtree(folder)
    {SAVE}
    {REPORT}
"""


CLEAN = "def clean(done, errors=True):\n    shutil.rmtree(done, ignore_errors=errors)"
WAITING = "def clean(done):\n    accelerator.wait_for_everyone()\n    shutil.rmtree(done, ignore_errors=True)"
WITH_MAIN = "def clean(done):\n    if accelerator.is_main_process:\n        shutil.rmtree(done)"


def found(body: str, workers: str = "2") -> list[int]:
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    return converted(SCRIPT.format(body=indented, workers=workers)).lines("RM311", Kind.MANUAL)


@pytest.mark.parametrize(
    "body",
    [
        f'folder = f"ckpt_{{epoch}}"\n{SAVE}\n{REPORT}\nshutil.rmtree(folder, ignore_errors=True)',
        f'folder = os.path.join("out", str(epoch))\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)',
        f'folder = "out"\nshutil.rmtree(folder, ignore_errors=True)\n{SAVE}\n{REPORT}',
        f'folder = "out"\n{SAVE}\n{REPORT}\nshutil.rmtree(path=folder)',
        f'folder = "out"\n{SAVE}\n{REPORT}\nshutil.move(src=folder, dst="done")',
        # they wait for the folder to be gone, not for the others to have copied it
        f'folder = "out"\nshutil.rmtree(folder, ignore_errors=True)\naccelerator.wait_for_everyone()\n{SAVE}\n{REPORT}',
        f"{BY_RANK}shutil.rmtree('out')",
        # in a function of the file
        f'{CLEAN}\nfolder = f"ckpt_{{epoch}}"\n{SAVE}\n{REPORT}\nclean(folder)',
        f'{CLEAN}\nfolder = "out"\n{SAVE}\n{REPORT}\nclean(errors=True, done=str(folder))',
        f'{WITH_MAIN}\nfolder = "out"\n{SAVE}\n{REPORT}\nclean(folder)',
        "class Files:\n    def clean(self, done):\n        shutil.rmtree(done, ignore_errors=True)\n"
        f'folder = "out"\n{SAVE}\n{REPORT}\nFiles().clean(folder)',
        f'{CLEAN}\ndef end(left):\n    clean(left)\nfolder = "out"\n{SAVE}\n{REPORT}\nend(folder)',
        f'clean = lambda done: shutil.rmtree(done)\nfolder = "out"\n{SAVE}\n{REPORT}\nclean(folder)',
        # all hand it in, so rank 0 may be faster than the others
        f'folder = "out"\n{SAVE}\n{REPORT}\n{BY_MAIN}',
        f"{EVERY_SECOND}    torch.save(model.state_dict(), 'last.pt')",
        # the second one to come to it finds nothing
        f"{BY_RANK}accelerator.wait_for_everyone()\nshutil.rmtree('out')",
    ],
)
def test_a_folder_that_a_faster_worker_removes_is_told_once(body: str) -> None:
    assert len(found(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        f"folder = tempfile.mkdtemp()\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)",
        f'folder = "/tmp/out"\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)',
        f'folder = f"out-{{uuid.uuid4()}}"\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)',
        f'folder = f"out-{{session.get_world_rank()}}"\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)',
        f"{BY_RANK}if accelerator.is_main_process:\n    shutil.rmtree('out')",
        f'folder = "out"\n{SAVE}\n{REPORT}\naccelerator.wait_for_everyone()\n{BY_MAIN}',
        f"{BY_RANK}torch.distributed.barrier()\nif session.get_world_rank() == 0:\n    shutil.rmtree('out')",
        f'folder = "out"\n{SAVE}\n{REPORT}\nshutil.rmtree("cache")',
        # at the beginning of the next round
        f'folder = "out"\n{BY_MAIN}\naccelerator.wait_for_everyone()\n{SAVE}\n{REPORT}\ntorch.distributed.barrier()',
        f'folder = "out"\ntorch.distributed.barrier()\n{BY_MAIN}\n{SAVE}\n{REPORT}',
        f"{EVERY_SECOND}torch.distributed.barrier()",
        f'folder = "out"\n{SAVE}\n{REPORT}',
        f'{CLEAN}\nfolder = "out"\n{SAVE}\n{REPORT}\nclean("cache")',
        f'{CLEAN}\nfolder = "/tmp/out"\n{SAVE}\n{REPORT}\nclean(folder)',
        f'{CLEAN}\ndef end(left, kept):\n    clean(left)\nfolder = "out"\n{SAVE}\n{REPORT}\nend("cache", folder)',
        f"{CLEAN}\nfolder = tempfile.mkdtemp()\n{SAVE}\n{REPORT}\nclean(folder)",
        f"{WITH_MAIN}\n{BY_RANK}clean('out')",
        f'{CLEAN}\nfolder = "out"\n{SAVE}\n{REPORT}\naccelerator.wait_for_everyone()\nclean(folder)',
        f'{WAITING}\nfolder = "out"\n{SAVE}\n{REPORT}\nclean(folder)',
    ],
)
def test_a_folder_of_its_own_or_that_the_reporting_worker_removes_is_not(body: str) -> None:
    assert not found(body)


def test_one_worker_has_nobody_to_wait_for() -> None:
    body = f'folder = "out"\n{SAVE}\n{REPORT}\nshutil.rmtree(folder)'
    assert found(body) and not found(body, workers="1")


def test_each_trial_of_a_function_has_a_folder_of_its_own() -> None:
    body = f'folder = "out"\n        {SAVE}\n        {REPORT}\n        shutil.rmtree(folder)'
    script = SCRIPT.partition("AccelerateTrainer(loop")[0].format(body=f"        {body}")
    assert not converted(f"{script}from ray import tune\ntune.Tuner(loop).fit()\n").lines("RM311", Kind.MANUAL)
