"""Scripts that train several times: one run of the workers, in which nothing goes on from a checkpoint of Ray."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import argparse, functools, json, os, random
import numpy as np
from transformers import AutoModel, Trainer, TrainingArguments, set_seed
import job

"""
MAKE = 'trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))\n'
TRAIN = f"{MAKE}trainer.train()\n"
NOTE = "The script trains several times, now within one run of the workers"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


RUN = f"def run(lr=0):\n{indented(TRAIN)}    return trainer.evaluate()\n\n\n"
CLASS = f"class Tuner:\n    def fit(self):\n{indented(indented(TRAIN))}\n\n"


OWN = CLASS.replace("trainer", "self.trainer")


@pytest.mark.parametrize(
    "script",
    [
        f"{OWN}for n in range(2):\n    Tuner().fit()\n",
        f"{OWN}tuner = Tuner()\nfor n in range(2):\n    tuner.fit()\n",
        f"for fold in range(3):\n{indented(TRAIN)}",
        f"n = 0\nwhile n < 3:\n{indented(TRAIN)}    n += 1\n",
        f"{RUN}for lr in (1, 2):\n    run(lr)\n",
        f"{RUN}scores = [run(lr) for lr in (1, 2)]\nprint(scores)\n",
        f"{RUN}scores = list(map(run, (1, 2)))\nprint(scores)\n",
        f"{RUN}run(1)\nrun(2)\n",
        f"{RUN}def main():\n    for lr in (1, 2):\n        run(lr)\n\n\nif __name__ == '__main__':\n    main()\n",
        f"{RUN}def both():\n    run(1)\n\n\nfor n in range(2):\n    both()\n",
        f"{CLASS}for n in range(2):\n    Tuner().fit()\n",
        f"{TRAIN}{TRAIN}",
        f"{TRAIN}second = Trainer(AutoModel.from_pretrained('b'), TrainingArguments('two'))\nsecond.train()\n",
        "for fold in range(3):\n    Trainer(AutoModel.from_pretrained('b'), TrainingArguments('two')).train()\n",
        f"set_seed(1)\nfor n in range(3):\n    lr = random.random()\n{indented(TRAIN)}",
        f"rng = random.Random(1)\nfor n in range(3):\n    lr = rng.random()\n{indented(TRAIN)}",
        f"try:\n    for n in range(3):\n{indented(indented(TRAIN))}except RuntimeError:\n    print('failed')\n",
        f"for n in range(3):\n    try:\n{indented(indented(TRAIN))}    except OSError:\n        raise\n",
        f"{TRAIN}try:\n{indented(TRAIN)}except RuntimeError:\n    print('failed')\n",
        f"{MAKE}for n in range(2):\n    again = trainer\n    trainer = again\ntrainer.train()\n{TRAIN}",
        f"{OWN}{indented(indented(TRAIN)).replace('trainer', 'self.trainer')}\n\nTuner().fit()\n",
    ],
)
def test_several_trainings_are_one_run_that_starts_anew(script: str) -> None:
    outcome = converted(HEAD + script, to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert outcome.text.count("TorchTrainer(") == 1
    assert ".add_callback(ReportCallback())" in outcome.text
    assert "get_checkpoint" not in outcome.text
    assert 'f"checkpoint-{state.global_step}"' in outcome.text  # one training may find those of another
    assert sum(NOTE in message for message in outcome.messages) == 1


@pytest.mark.parametrize(
    "script",
    [
        TRAIN,
        f"{MAKE}if job.resume:\n    trainer.train(resume_from_checkpoint=job.path)\nelse:\n    trainer.train()\n",
        f"{RUN}run(1)\n",
        f"{RUN}for lr in (1, 2):\n    print(lr)\nrun(1)\n",
        f"for n in range(2):\n    print(n)\n{TRAIN}",
        f"{CLASS}from sklearn.svm import SVC\nSVC().fit([1])\nTuner().fit()\n",
    ],
)
def test_one_training_goes_on_from_a_checkpoint(script: str) -> None:
    outcome = converted(HEAD + script, to_ray=True, workers=2)
    assert "ray.train.get_checkpoint()" in outcome.text, outcome.messages
    assert not any(NOTE in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (f"{TRAIN}trainer.train()\n", "One Trainer trains twice (lines 7, 8)"),
        (f"{OWN}        self.trainer.train()\n\n\nTuner().fit()\n", "One Trainer trains twice"),
        (f"{MAKE}for n in range(3):\n    trainer.train()\n", "may be the same each time (`trainer`)"),
        (
            f"def run(trainer):\n    trainer.train()\n\n\n{MAKE}for n in range(3):\n    run(trainer)\n",
            "may be the same each time (`trainer`)",
        ),
        (
            f"class Tuner:\n    def make(self):\n{indented(indented(MAKE.replace('trainer', 'self.trainer')))}"
            "    def fit(self):\n        self.trainer.train()\n\n\ntuner = Tuner()\ntuner.make()\n"
            "for n in range(2):\n    tuner.fit()\n",
            "may be the same each time (`self.trainer`)",
        ),
        (
            OWN.replace("        self.trainer =", "        if not self.trainer:\n            self.trainer =", 1)
            + "tuner = Tuner()\nfor n in range(2):\n    tuner.fit()\n",
            "may be the same each time (`self.trainer`)",
        ),
        (
            f"for n in range(3):\n    try:\n{indented(indented(TRAIN))}        break\n    except RuntimeError:\n"
            "        pass\n",
            "one worker may fail alone",
        ),
        (
            f"{MAKE}for n in range(3):\n    again = trainer\n    again.train()\n",
            "may be the same each time (`again`)",
        ),
        (f"{TRAIN}second = trainer\nsecond.train()\n", "One Trainer trains twice (lines 7, 9)"),
        (f"try:\n{indented(TRAIN)}except RuntimeError:\n{indented(TRAIN)}", "one worker may fail alone"),
        (
            f"{RUN}def tried(lr):\n    try:\n        run(lr)\n    except RuntimeError:\n        print(lr)\n\n\n"
            "for lr in (1, 2):\n    tried(lr)\n",
            "one worker may fail alone",
        ),
        (
            f"import contextlib\nfor n in range(3):\n    with contextlib.suppress(RuntimeError):\n"
            f"{indented(indented(TRAIN))}",
            "one worker may fail alone",
        ),
        (
            f"np.random.seed(1)\nrng = np.random.default_rng()\nfor n in range(3):\n    lr = rng.uniform(1, 2)\n"
            f"{indented(TRAIN)}",
            "np.random.default_rng is given no seed",
        ),
        (
            "def one():\n    model = AutoModel.from_pretrained('a')\n"
            "    Trainer(model, TrainingArguments('one')).train()\n\n\n"
            "def two():\n    model = AutoModel.from_pretrained('a')\n"
            f"    Trainer(model, TrainingArguments('two')).train()\n\n\n{TRAIN}one()\ntwo()\n",
            "goes on with models or data of the training",
        ),
        (
            f"for n in range(3):\n    lr = 10 ** random.uniform(-5, -3)\n{indented(TRAIN)}",
            "random.uniform draws without",
        ),
        (f"for n in range(3):\n    lr = np.random.choice([1, 2])\n{indented(TRAIN)}", "np.random.choice draws without"),
    ],
)
def test_what_cannot_be_one_run_is_left(script: str, reason: str) -> None:
    outcome = converted(HEAD + script, to_ray=True, workers=2)
    assert outcome.text == HEAD + script
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM802", Kind.MANUAL)]
    assert reason in outcome.messages[0]


LOOP = "for n in range(3):\n" + indented(f"{{before}}\n{TRAIN}score = trainer.evaluate()\n{{behind}}\n")


def test_what_a_loop_writes_behind_its_training_the_first_worker_writes() -> None:
    behind = "with open('best.json', 'w') as f:\n        json.dump(score, f)"
    text = converted(HEAD + LOOP.format(before="", behind=behind), to_ray=True, workers=2).text
    assert "if trainer.is_world_process_zero():\n            with open(" in text


def test_what_a_loop_writes_before_its_training_is_told() -> None:
    script = HEAD + LOOP.format(before="job.rows(n).to_csv('rows.csv')", behind="")
    assert any("before it trains, the same" in message for message in converted(script, to_ray=True).messages)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("base = AutoModel.from_pretrained('best')", "trainer.save_model('best')"),
        ("", "trainer.save_model('best')\n    base = AutoModel.from_pretrained('best')"),
    ],
)
def test_workers_wait_for_what_a_loop_saves_and_loads(before: str, behind: str) -> None:
    text = converted(HEAD + LOOP.format(before=before, behind=behind), to_ray=True, workers=2).text
    assert "ray.train.collective.barrier()" in text.partition("base =")[0]


TWO = "tok = AutoTokenizer.from_pretrained('a')\n{train}{between}\nmodel = AutoModel.from_pretrained('one')\n{train}"


def test_what_is_saved_for_the_next_training_the_first_worker_saves() -> None:
    script = HEAD.replace("AutoModel", "AutoModel, AutoTokenizer")
    script += TWO.format(train=TRAIN, between="tok.save_pretrained('one')")
    outcome = converted(script, to_ray=True, workers=2)
    assert "get_world_rank() == 0:\n        tok.save_pretrained(" in outcome.text
    assert "ray.train.collective.barrier()" in outcome.text.partition("tok.save_pretrained(")[2]
    assert not any("at the same time" in message for message in outcome.messages)


def test_that_nothing_is_saved_is_said_where_no_training_saves() -> None:
    unsaved = TRAIN.replace('TrainingArguments("out")', 'TrainingArguments("out", save_strategy="no")')
    twice = f"{unsaved}{TRAIN}"
    assert not any("Nothing is saved" in message for message in converted(HEAD + twice, to_ray=True).messages)
    once = f"for n in range(2):\n{indented(unsaved)}"
    assert any("Nothing is saved" in message for message in converted(HEAD + once, to_ray=True).messages)


def test_no_worker_waits_on_the_driver() -> None:
    save = 'trainer.model.save_pretrained("best")\n'
    script = f"for n in range(2):\n{indented(TRAIN + save)}print(AutoModel.from_pretrained('best'))\n"
    outcome = converted(HEAD + script, to_ray=True, workers=2)
    assert outcome.text.endswith(".fit()\nprint(AutoModel.from_pretrained('best'))\n")
    assert "ray.train.collective" not in outcome.text


WAITS = "Each worker asks this for itself, at another moment"
MADE = (
    f"def run(n):\n    if os.path.exists(str(n)):\n        return\n{indented(TRAIN)}\n\nfor n in (1, 2):\n    run(n)\n"
)


@pytest.mark.parametrize(
    ("script", "is_told"),
    [
        (f"import time\nstart = time.time()\nwhile time.time() - start < 9:\n{indented(TRAIN)}", True),
        (f"for n in range(2):\n    if os.path.exists(f'out/{{n}}'):\n        continue\n{indented(TRAIN)}", True),
        (f"for n in range(2):\n    done = os.path.exists(str(n))\n    if not done:\n{indented(indented(TRAIN))}", True),
        (MADE, True),
        (f"for n in range(2):\n    if n in job.done:\n        continue\n{indented(TRAIN)}", False),
        (
            f"for n in range(2):\n    for m in job.all:\n        if m.exists():\n            break\n{indented(TRAIN)}",
            False,
        ),
        (f"if os.path.exists('a'):\n    for n in range(2):\n{indented(indented(TRAIN))}", False),
    ],
)
def test_conditions_that_each_worker_asks_for_itself_are_told(script: str, is_told: bool) -> None:
    outcome = converted(HEAD + script, to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text
    assert any(WAITS in message for message in outcome.messages) is is_told
    assert not any(WAITS in message for message in converted(HEAD + script, to_ray=True, workers=1).messages)


def test_a_function_called_again_waits_for_what_it_saved() -> None:
    body = TRAIN.replace('"bert"', "start") + "trainer.save_model(end)\n"
    script = f"def stage(start, end):\n{indented(body)}\n\nstage('bert', 'one')\nstage('one', 'two')\n"
    text = converted(HEAD + script, to_ray=True, workers=2).text
    assert text.index("ray.train.collective.barrier()") < text.index("AutoModel.from_pretrained(start)")
