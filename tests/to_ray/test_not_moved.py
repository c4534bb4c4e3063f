"""A script that surely trains is not passed over in silence, though nothing of it moves."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.test_cli import invoke

LOOP = """\
import torch

model = torch.nn.Linear(2, 1)
{made}
for epoch in range(3):
    for batch in load():
        {optimizer}.zero_grad()
        loss = model(batch).sum()
        {back}
        {optimizer}.step()
"""
SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"


def told(script: str, **options: bool) -> list[str]:
    found = convert(script, options=Options(to_ray=True, **options)).findings
    return [finding.message for finding in found if finding.code == "RM802"]


@pytest.mark.parametrize(
    ("made", "optimizer", "back"),
    [
        (SGD, "optimizer", "loss.backward()"),
        ("opt = make(model)", "opt", "loss.backward(retain_graph=True)"),
        (SGD.replace("optimizer =", "parts = {};"), "parts['opt']", "scaler.scale(loss).backward()"),
    ],
)
def test_a_native_loop_is_told(made: str, optimizer: str, back: str) -> None:
    [message] = told(LOOP.format(made=made, optimizer=optimizer, back=back))
    assert message.startswith("A native PyTorch loop")


STEP = """
def step(batch):
    loss = model(batch).sum()
    {back}
    {step}
    {clear}


for batch in load():
    step(batch)
"""


@pytest.mark.parametrize(
    ("made", "back", "step", "clear"),
    [
        (SGD, "loss.backward()", "optimizer.step()", "optimizer.zero_grad()"),
        (SGD, "(loss / 2).backward()", "optimizer.step()", "model.zero_grad()"),
        (f"{SGD}\nscaler = torch.cuda.amp.GradScaler()", "scaler.scale(loss).backward()", "scaler.step(optimizer)", ""),
        (
            f"{SGD}\nscaler = torch.amp.GradScaler('cuda')",
            "scaler.scale(loss).backward()",
            "scaler.step(optimizer)",
            "",
        ),
        (
            "from transformers import AdamW as Adam\noptimizer = Adam(model.parameters())",
            "loss.backward()",
            "optimizer.step()",
            "model.zero_grad()",
        ),
        (
            "import transformers\noptimizer = transformers.Adafactor(model.parameters())",
            "loss.backward()",
            "optimizer.step()",
            "model.zero_grad()",
        ),
    ],
)
def test_a_native_loop_whose_step_is_in_a_function_is_told(made: str, back: str, step: str, clear: str) -> None:
    body = STEP.format(back=back, step=step, clear=clear)
    [message] = told(f"import torch\nmodel = torch.nn.Linear(2, 1)\n{made}\n{body}")
    assert message.startswith("A native PyTorch loop")


def test_a_function_that_only_steps_a_schedule_is_no_native_loop() -> None:
    made = f"{SGD}\nschedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)"
    body = STEP.format(back="loss.backward()", step="schedule.step()", clear="pass")
    assert told(f"import torch\nmodel = torch.nn.Linear(2, 1)\n{made}\n{body}") == []


def test_a_trainer_of_the_script_with_a_native_step_is_a_native_loop() -> None:
    script = """\
import torch
from transformers import AutoModel


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())

    def step(self, batch):
        self.model(batch).loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, rows):
        for batch in rows:
            self.step(batch)


Trainer(AutoModel.from_pretrained("bert")).train(load())
"""
    [message] = told(script)
    assert message.startswith("A native PyTorch loop")


@pytest.mark.parametrize(
    "script",
    [
        LOOP.format(made=SGD, optimizer="optimizer", back="pass"),
        LOOP.format(made=SGD, optimizer="optimizer", back="accelerator.backward(loss)"),
        LOOP.format(made="", optimizer="optimizer", back="loss.backward()").replace(
            "import torch", "import own as torch"
        ),
        LOOP.format(made=SGD, optimizer="optimizer", back="loss.backward()") + "import ray\n",
        "import torch\nloss = torch.ones(1, requires_grad=True)\nloss.backward()\n",
    ],
)
def test_what_is_no_native_loop_is_not(script: str) -> None:
    assert told(script) == []


def test_with_both_options_the_first_step_says_why_a_loop_stays() -> None:
    script = LOOP.format(made=SGD, optimizer="optimizer", back="loss.backward()")
    found = convert(script, options=Options(to_ray=True, to_accelerate=True)).findings
    assert {finding.code for finding in found} == {"RM851"}


TRAINER = """\
from distill import {imported}
from transformers import TrainingArguments
{define}
arguments = TrainingArguments("out")
trainer = {name}(model, {given})
trainer.train()
"""


@pytest.mark.parametrize(
    ("imported", "define", "name", "given"),
    [
        ("DistillationTrainer", "", "DistillationTrainer", "args=arguments"),
        ("Distiller", "", "Distiller", "arguments"),
        ("DistillationTrainer", "", "DistillationTrainer", "settings"),
        ("Base", "class Own(Base):\n    pass\n", "Own", "args=arguments"),
    ],
)
def test_a_trainer_of_a_file_that_is_not_there_is_told(imported: str, define: str, name: str, given: str) -> None:
    [message] = told(TRAINER.format(imported=imported, define=define, name=name, given=given))
    assert message.startswith(f"{imported} comes from distill, which was not found below the paths")


OF_PACKAGE = """\
from {package} import {name}, {arguments}
trainer = {name}(model=load(), {given})
trainer.train()
"""


@pytest.mark.parametrize(
    ("package", "name", "arguments", "given"),
    [
        ("sentence_transformers", "SentenceTransformerTrainer", "SentenceTransformerTrainingArguments", "args=make()"),
        ("sentence_transformers.cross_encoder", "CrossEncoderTrainer", "losses", "loss=None"),
        ("setfit", "Trainer", "TrainingArguments", "args=TrainingArguments('out')"),
        ("setfit", "SetFitTrainer", "SetFitModel", "train_dataset=rows"),
        ("optimum.habana", "GaudiTrainer", "GaudiTrainingArguments", "args=GaudiTrainingArguments()"),
        ("somewhere", "Trainer", "OwnTrainingArguments", "args=OwnTrainingArguments()"),
    ],
)
def test_a_trainer_of_a_package_that_is_made_from_transformers_is_told(
    package: str, name: str, arguments: str, given: str, tmp_path: Path
) -> None:
    script = OF_PACKAGE.format(package=package, name=name, arguments=arguments, given=given)
    if package != "somewhere":  # which no script names that is looked for
        (tmp_path / "a.py").write_text(script)
        assert f"{name} comes from {package}, which was not found" in invoke("--to-ray", "--check", tmp_path).stdout
    [message] = told(script)
    assert message.startswith(f"{name} comes from {package}, which was not found below the paths")


@pytest.mark.parametrize(
    ("package", "given"),
    [
        ("paddlenlp.trainer", "args=TrainingArguments('out')"),
        ("lightning", "max_epochs=1"),
        ("flair", "corpus=rows"),
    ],
)
def test_those_of_other_frameworks_are_not(package: str, given: str) -> None:
    assert told(OF_PACKAGE.format(package=package, name="Trainer", arguments="TrainingArguments", given=given)) == []


@pytest.mark.parametrize(
    "script",
    [
        TRAINER.format(imported="Model", define="", name="Model", given="settings"),
        TRAINER.format(imported="Own", define="class Own:\n    pass\n", name="Own", given="args=arguments"),
        "from own import make\nmodel = make()\nmodel.train()\n",
    ],
)
def test_other_objects_with_a_method_train_are_not(script: str) -> None:
    assert told(script) == []


COPY = "class Trainer:\n    def __init__(self, model, args):\n        pass\n    def train(self):\n        pass\n"
DERIVED = "class Trainer(T):\n    pass\n"
OWN = """\
from {home} import {name}
from transformers import AutoModel, TrainingArguments
trainer = {name}(AutoModel.from_pretrained("b"), {given})
trainer.train()
"""


def told_beside(folder: Path, script: str, **others: str) -> str:
    """What is said of a script beside which other files lie."""
    for name, text in {"script": script, **others}.items():
        (folder / f"{name}.py").write_text(text)
    return " ".join(invoke("--to-ray", "--check", folder).stdout.split())


@pytest.mark.parametrize(
    ("home", "name", "given", "said"),
    [
        ("trainer", "Trainer", "None", "Trainer (trainer.py) is a Trainer of this project, not that of transformers"),
        (
            "own",
            "Seq2SeqTrainer",
            "None",
            "Seq2SeqTrainer (own.py) has its train() from Trainer of trainer.py, a Trainer of this project",
        ),
        (
            "own",
            "Teacher",
            "TrainingArguments('out')",
            "Teacher (own.py) has its train() from Trainer of trainer.py, a Trainer of this project",
        ),
        (
            "own",
            "Again",
            "args=TrainingArguments('out')",
            "Again (own.py) has its train() from Trainer of trainer.py, a Trainer of this project",
        ),
    ],
)
def test_a_trainer_that_the_project_writes_itself_is_told(
    home: str, name: str, given: str, said: str, tmp_path: Path
) -> None:
    own = "from trainer import Trainer\nclass Seq2SeqTrainer(Trainer):\n    pass\nclass Teacher(Trainer):\n    pass\n"
    own += "class Again(Teacher, object):\n    pass\n"
    out = told_beside(tmp_path, OWN.format(home=home, name=name, given=given), trainer=COPY, own=own)
    assert said in out.replace(f"{tmp_path}/", "")
    assert "make it from transformers.Trainer with what differs" in out


@pytest.mark.parametrize(
    ("script", "trainer"),
    [
        (OWN.format(home="trainer", name="Trainer", given="None"), f"from transformers import Trainer as T\n{DERIVED}"),
        (OWN.format(home="trainer", name="Trainer", given="None"), COPY.replace("def train", "def fit")),
        (OWN.format(home="trainer", name="Trainer", given="None").replace("transformers", "other"), COPY),
        (OWN.format(home="trainer", name="Trainer", given="None").replace(".train()", ".fit()"), COPY),
        (OWN.format(home="trainer", name="Model", given="None"), COPY.replace("class Trainer", "class Model")),
        (
            OWN.format(home="trainer", name="Trainer", given="None"),
            COPY.replace("class Trainer", "import keras\nclass Trainer(keras.Model)"),
        ),
    ],
)
def test_other_classes_of_the_project_are_not(script: str, trainer: str, tmp_path: Path) -> None:
    assert "of this project" not in told_beside(tmp_path, script, trainer=trainer)


GIVEN = """
{imports}


def make(model, rows):
    {made}


def fit(model, {parameter}):
    {name}.train()
    return model
"""
OF_LIBRARY = "from transformers import Trainer, TrainingArguments"


MADE = 'return Trainer(model, TrainingArguments("out"))'


def given(imports: str = OF_LIBRARY, made: str = MADE, **names: str) -> str:
    names.setdefault("parameter", names["name"])
    return GIVEN.format(imports=imports, made=made, **names)


@pytest.mark.parametrize(
    "script",
    [
        given(name="trainer"),
        given(name="hf_trainer", parameter="hf_trainer=None"),
        given(name="trainer", parameter='trainer: "Trainer"'),
        given(name="job", parameter="job: Trainer", made="pass"),
        given("import transformers as tf", 'return tf.Trainer(model, tf.TrainingArguments("o"))', name="sft_trainer"),
    ],
)
def test_a_trainer_that_a_function_is_given_is_told(script: str) -> None:
    [message] = told(script)
    assert message.endswith("is a parameter, and no call in this file gives it a Trainer: nothing here moves.")


@pytest.mark.parametrize(
    "script",
    [
        given(name="model_", made="return Trainer(model, 1)"),  # torch's train() of a module
        given("from ray.rllib import Algorithm", "return Algorithm()", name="trainer"),
        given("from detectron2.engine import DefaultTrainer", "return DefaultTrainer(model)", name="trainer"),
        given(OF_LIBRARY + "\nfrom mine import Other", name="trainer", parameter="trainer: Other"),
    ],
)
def test_what_else_a_function_is_given_is_not(script: str) -> None:
    assert not [message for message in told(script) if "is a parameter" in message]


HANDED = """
from transformers import Trainer, TrainingArguments
trainer = Trainer(model, TrainingArguments("out"), train_dataset=rows)
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "asyncio.run(asyncio.to_thread(trainer.train))",
        "async def main():\n    await loop.run_in_executor(None, trainer.train)",
        "threading.Thread(target=trainer.train).start()",
        "run = trainer.train\nrun(resume_from_checkpoint=True)",
        "functools.partial(trainer.train, True)()",
    ],
)
def test_a_train_that_something_else_calls_is_told(use: str) -> None:
    [message] = told(HANDED.format(use=use))
    assert message == "trainer.train is handed on here, not called: nothing of the script moves."


@pytest.mark.parametrize("use", ["trainer.evaluate()", "trainer.train = mine", "run = model.train\nrun()"])
def test_a_trainer_that_trains_nowhere_is_not(use: str) -> None:
    assert not told(HANDED.format(use=use))


@pytest.mark.parametrize("option", ["--to-ray", "--to-accelerate"])
def test_nothing_to_move_is_said_in_these_words(option: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n\nmodel = torch.nn.Linear(2, 1)\n")
    assert "nothing to move, and nothing legacy found (1 file scanned)" in invoke(option, path).stderr
    path.write_text("print(1)\n")
    assert "nothing to move, and nothing legacy found (1 file scanned)" in invoke(option, path).stderr
    assert "nothing to move" not in invoke(path).stderr


BY_PARTIAL = """\
import functools
from functools import partial
from accelerate import Accelerator
from transformers import Trainer, TrainingArguments
from own import Thing, batches, model, optimizer


class Mine(Trainer):
    pass


def main():
    {made}
    {used}


main()
"""
TRAINS = "trainer.train()"


@pytest.mark.parametrize(
    ("made", "used", "is_told"),
    [
        ("trainer = functools.partial(Trainer, model=model)(args=TrainingArguments('o'))", TRAINS, True),
        ("make = partial(Mine, model=model)\n    trainer = make(train_dataset=batches)", TRAINS, True),
        ("make = partial(partial(Trainer, model=model), args=1)\n    trainer = make()", TRAINS, True),
        ("partial(Trainer, model)()", "functools.partial(Trainer, model=model)().train()", True),
        (
            "accelerator = partial(Accelerator, cpu=True)()",
            "for batch in batches:\n        accelerator.backward(model(batch))",
            True,
        ),
        ("trainer = partial(Thing, model=model)()", TRAINS, False),
        ("trainer = partial(print, Trainer)()", TRAINS, False),
        ("make = partial(Trainer, model=model)", "make(args=1).predict()", False),
    ],
)
def test_a_class_that_goes_through_partial_is_told(made: str, used: str, is_told: bool) -> None:
    messages = told(BY_PARTIAL.format(made=made, used=used))
    assert ["partial()" in message for message in messages] == [True] * is_told
