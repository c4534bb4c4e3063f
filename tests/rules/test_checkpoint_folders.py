"""RM602: the folder of a checkpoint in commands and addresses, in shell lines, and of trials whose trainer a function
makes."""

import json
from pathlib import Path
from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from scripts.update_twins import converted as converted_document
from tests.documents.notebooks import notebook, sources
from tests.rules.scripts import Outcome, converted

HEAD = """
import logging
import os
import subprocess

import ray
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel
from job import build, dbutils, train_ds, upload

logger = logging.getLogger()
"""
MADE = 'TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={"train": train_ds})'
FITTED = f"{HEAD}result = {MADE}.fit()\n"
OPENED = f"{FITTED}with result.checkpoint.as_directory() as d:\n    "


@pytest.mark.parametrize(
    "use",
    [
        'dbutils.fs.cp(f"file:{d}", "dbfs:/mnt/final", recurse=True)',
        'os.system(f"gsutil -m cp -r {d} gs://acme/final")',
        'command = f"aws s3 sync {d} s3://acme/final"\n    subprocess.run(command, shell=True, check=True)',
        'command = f"aws s3 sync {d} s3://x"\n    print(command)\n    subprocess.run(command.split())',
        'os.system("aws s3 sync {} s3://acme/final".format(d))',
        'os.system("aws s3 sync {src} s3://acme/final".format(src=d))',
        'os.system("cp -r %s /final" % d)',
        'os.system("cp -r %(d)s /final" % {"d": d})',
        'upload(url=f"file://{d}")',
        'subprocess.check_call(f"cp -r {d} /final".split())',
    ],
)
def test_a_folder_in_a_command_or_an_address_goes_deeper(use: str) -> None:
    outcome = converted(OPENED + use)
    body = outcome.text.partition("as d:\n")[2]
    assert 'os.path.join(d, "checkpoint")' in body
    assert outcome.lines("RM602", Kind.CONVERTED) and not outcome.lines("RM602", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        "print(d)",
        'print("in", d, f"{d}/x", "%s" % d, sep="; ")',
        'logger.info(f"saved in {d}")',
        'message = f"saved in {d}"\n    logger.info(message)\n    print(message)',
        'message = "saved in {}".format(d)\n    logger.info("%s", message)',
        'if not train_ds:\n        raise ValueError(f"nothing in {d}")',
        'assert train_ds, f"nothing in {d}"',
    ],
)
def test_a_folder_that_is_only_shown_stays(use: str) -> None:
    outcome = converted(OPENED + use)
    assert outcome.text.endswith(use)
    assert not outcome.lines("RM602", Kind.CONVERTED) and not outcome.lines("RM602", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ('os.system(f"aws s3 sync {result.checkpoint.path} s3://x")', True),
        ('path = result.checkpoint.path\nos.system(f"aws s3 sync {path} s3://x")', True),
        ('path = result.checkpoint.path\nprint(f"saved in {path}")', False),
    ],
)
def test_the_path_of_a_checkpoint_in_a_command_is_told(use: str, told: bool) -> None:
    assert bool(converted(FITTED + use).lines("RM602", Kind.MANUAL)) is told


def cells_after(*cells: str) -> tuple[list[str], list[tuple[str, Kind]]]:
    """The cells after the first one of a notebook, which trains; and the findings."""
    before = json.dumps(notebook([FITTED, *cells])).encode()
    after, result = converted_document(Path("train.ipynb"), Options(), before)
    return ["".join(lines) for lines in sources(after)[2:]], [(f.code, f.kind) for f in result.findings]


@pytest.mark.parametrize(
    "line",
    ["!aws s3 cp --recursive {d} s3://acme/final", "files = !ls $d", "print(d)\n    !ls {d}", "%cp -r $d /final"],
)
def test_a_shell_line_gets_the_folder_with_the_files(line: str) -> None:
    (cell,), _ = cells_after(f"with result.checkpoint.as_directory() as d:\n    {line}\n")
    head = 'with result.checkpoint.as_directory() as d:\n    d = os.path.join(d, "checkpoint")\n'
    assert cell == f"{head}    {line}\n"


def test_python_behind_a_magic_is_changed_itself() -> None:
    (cell,), _ = cells_after(
        "with result.checkpoint.as_directory() as d:\n    %time model = AutoModel.from_pretrained(d)"
    )
    assert '%time model = AutoModel.from_pretrained(os.path.join(d, "checkpoint"))' in cell


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("path = result.checkpoint.path\n!cp -r {path} /final", True),
        ("path = result.checkpoint.path\nprint(path)\n!pip list", False),
    ],
)
def test_a_path_that_only_a_shell_line_can_read_is_told(cell: str, told: bool) -> None:
    assert (("RM602", Kind.MANUAL) in cells_after(cell)[1]) is told


@pytest.mark.parametrize("quotes", ['"', "'"])
def test_an_f_string_in_a_notebook_is_changed_too(quotes: str) -> None:
    (cell,), findings = cells_after(
        f"with result.checkpoint.as_directory() as d:\n    print(f{quotes}{{os.listdir(d)}}{quotes})"
    )
    other = "'" if quotes == '"' else '"'
    assert f"os.path.join(d, {other}checkpoint{other})" in cell and ("RM602", Kind.CONVERTED) in findings


FUNCTION = f"{HEAD}\n\ndef trainer():\n    return {MADE}\n\n\n"
METHOD = f"{HEAD}\n\nclass Job:\n    def trainer(self):\n        return {MADE}\n\n\n"
RESTORED = "tune.Tuner.restore('/runs', trainable=trainer()) if os.path.exists('/runs') else tune.Tuner(trainer())"
TUNERS = {
    "function": f"{FUNCTION}best = tune.Tuner(trainer()).fit().get_best_result('eval_loss', 'min')\n",
    "keyword": f"{FUNCTION}best = tune.Tuner(trainable=trainer()).fit().get_best_result('eval_loss', 'min')\n",
    "method": f"{METHOD}best = tune.Tuner(Job().trainer()).fit().get_best_result('eval_loss', 'min')\n",
    "restored": f"{FUNCTION}best = ({RESTORED}).fit().get_best_result('eval_loss', 'min')\n",
    "variable": f"{FUNCTION}made = trainer()\nbest = tune.Tuner(made).fit().get_best_result('eval_loss', 'min')\n",
}
DEEPER = 'os.path.join(d, "checkpoint")'
LOADED = "with c.as_directory() as d:\n    model = AutoModel.from_pretrained(d)"
READS = {
    "variable": f"c = best.checkpoint\n{LOADED}",
    "best checkpoint": f"c = best.get_best_checkpoint('eval_loss', 'min')\n{LOADED}",
    "best checkpoints": f"for c, m in best.best_checkpoints:\n{indent(LOADED, '    ')}",
    "direct": "with best.checkpoint.as_directory() as d:\n    model = AutoModel.from_pretrained(d)",
}


def deeper_of_trial(tuner: str, read: str) -> Outcome:
    outcome = converted(TUNERS[tuner] + READS[read])
    assert f"from_pretrained({DEEPER})" in outcome.text
    assert outcome.lines("RM602", Kind.CONVERTED)
    return outcome


@pytest.mark.parametrize("tuner", TUNERS)
def test_a_tuner_of_a_trainer_that_is_made_elsewhere_has_deeper_checkpoints(tuner: str) -> None:
    deeper_of_trial(tuner, "variable")


@pytest.mark.parametrize("read", READS)
def test_the_checkpoint_of_such_a_trial_is_followed_however_it_is_read(read: str) -> None:
    deeper_of_trial("function", read)


@pytest.mark.parametrize("read", READS)
def test_where_a_tuner_may_get_other_trainers_it_is_told(read: str) -> None:
    other = "def trainer():\n    if train_ds:\n        return AccelerateTrainer(build)\n"
    script = TUNERS["function"].replace("def trainer():\n", other).replace("import Tr", "import AccelerateTrainer, Tr")
    outcome = converted(script + READS[read])
    assert DEEPER not in outcome.text and len(outcome.lines("RM602", Kind.MANUAL)) == 1


def test_a_copy_of_the_checkpoint_of_a_trial_is_one_of_its_inner_folder() -> None:
    outcome = converted(TUNERS["method"] + "c = best.checkpoint\nc.to_directory('/final')")
    assert "shutil.copytree(os.path.join(checkpoint_dir, \"checkpoint\"), '/final', dirs_exist_ok=True)" in outcome.text


def test_a_trainable_that_is_no_trainer_has_folders_of_its_own() -> None:
    script = f"{HEAD}from job import trainer\n\nTransformersTrainer\n{TUNERS['function'].removeprefix(FUNCTION)}"
    outcome = converted(script + READS["variable"])
    assert DEEPER not in outcome.text
