"""Branches that do nothing but train: a run that goes on does so before them, once (RM801)."""

import pytest

from tests.to_ray.test_plain_trainer import MAKE, after

RESUMED = 'trainer.train(resume_from_checkpoint=os.path.join(checkpoint_dir, "checkpoint"))'
AGAIN = "if os.path.isdir('a'):\n    trainer.train(resume_from_checkpoint='a')\n"
LOADS = "def load():\n    return model.load_adapter('a')\n\n\n" + AGAIN.replace("os.path.isdir('a')", "load()")
OTHERWISE = "else:\n    trainer.train()\n"


@pytest.mark.parametrize("target", ["", "result = ", "a = b = "])
def test_a_checkpoint_is_asked_for_before_the_branches(target: str) -> None:
    text = after(
        f"{MAKE}if os.path.isdir('a'):\n    {target}trainer.train(resume_from_checkpoint='a')\n"
        f"elif os.path.isdir('b'):\n    {target}trainer.train(resume_from_checkpoint='b')\n"
        f"else:\n    {target}trainer.train()\n"
    )
    indent, [start] = "    ", [line for line in text.splitlines() if line.strip() == "if checkpoint:"]
    indent = start[: -len("if checkpoint:")]
    expected = [
        "if checkpoint:",
        "    with checkpoint.as_directory() as checkpoint_dir:",
        f"        {target}{RESUMED}",
        "elif os.path.isdir(A):",
        f"    {target}trainer.train(resume_from_checkpoint=A)",
        "elif os.path.isdir(B):",
        f"    {target}trainer.train(resume_from_checkpoint=B)",
        "else:",
        f"    {target}trainer.train()",
    ]
    assert "".join(f"{indent}{line}\n" for line in expected) in text


@pytest.mark.parametrize(
    "branch",
    [
        f"{AGAIN}    print('again')\n{OTHERWISE}",
        f"{AGAIN}    # again\n{OTHERWISE}",
        f"{AGAIN.replace('trainer.', 'a = trainer.')}{OTHERWISE}",
        "if last := find('a'):\n    trainer.train(resume_from_checkpoint=last)\nelse:\n    trainer.train()\n",
        f"{AGAIN}{OTHERWISE.replace('else', 'elif 5 in sys.argv')}",
        f"{LOADS}{OTHERWISE}",
    ],
)
def test_branches_that_do_more_keep_it_each(branch: str) -> None:
    text = after(f"import sys\n{MAKE}{branch}")
    assert text.count("if checkpoint:") == text.count(RESUMED) == 2
